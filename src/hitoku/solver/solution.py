"""Solutions: status, value recomputed in original units, point, and basis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

# Status of a column or row in a basis, as int8: a certificate stores many of them.
LOWER, BASIC, UPPER, FREE = range(-1, 3)


class SolverStatus(StrEnum):
    """Status of a solve; constants of HiGHS are not used outside this package."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Basis:
    """Basic columns and rows, and the bounds of all others."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]
    """``BASIC`` (0), ``LOWER`` (-1), ``UPPER`` (1), or ``FREE`` (2) for a nonbasic column at zero."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Result of a solve."""

    status: SolverStatus
    """``LIMIT`` if a limit of the caller was reached before the optimum."""
    value: float = float("nan")
    """``cost @ x`` in original units; minus or plus infinity when unbounded, NaN without a point."""
    x: NDArray[np.float64] | None = None
    """The point; None if no feasible point was found."""
    basis: Basis | None = None
    duals: NDArray[np.float64] | None = None
    reduced: NDArray[np.float64] | None = None
    """For an optimal linear program: the basis, a dual per row, and ``cost - relations.T @ duals``."""
    bound: float = float("nan")
    """Lower bound on the objective; equal to the value if it is proven optimal."""
    gap: float = float("nan")
    """``abs(value - bound)`` as a share of the value."""
    conditions: float = float("nan")
    """For a convex program: violation of the optimality conditions, as a share of the movement."""

    @property
    def optimal(self) -> bool:
        return self.status is SolverStatus.OPTIMAL

    def __repr__(self) -> str:
        # Values of cells may be confidential: a repr shows the status only.
        return f"Solution({self.status})"
