"""What a solver answers: a status of ours, a value recomputed in original units, a point, a basis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

# Where a column or row stands in a basis. An int8 each: a certificate keeps many of them.
LOWER, BASIC, UPPER, FREE = range(-1, 3)


class SolverStatus(StrEnum):
    """How a solve ended; no solver constant leaves this package."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Basis:
    """Which columns and rows are basic, and at which bound the others stand."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]
    """``BASIC`` (0), ``LOWER`` (-1), ``UPPER`` (1), or ``FREE`` (2) for a nonbasic column at zero."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The end of one solve."""

    status: SolverStatus
    """Only ``OPTIMAL`` is an answer; ``LIMIT`` says that a limit of the caller's was hit."""
    value: float = float("nan")
    """``cost @ x`` in original units; minus or plus infinity when unbounded, NaN without a point."""
    x: NDArray[np.float64] | None = None
    """The point; None when there is none that meets the rows and bounds."""
    basis: Basis | None = None
    duals: NDArray[np.float64] | None = None
    reduced: NDArray[np.float64] | None = None
    """Of an optimal linear program: the basis, a dual per row, and ``cost - relations.T @ duals``."""
    bound: float = float("nan")
    """What no point can beat; the value itself when proven."""
    gap: float = float("nan")
    """``abs(value - bound)`` as a share of the value."""
    conditions: float = float("nan")
    """Of a convex program: by how much its optimality conditions are missed, as a share of what moves."""

    @property
    def optimal(self) -> bool:
        return self.status is SolverStatus.OPTIMAL

    def __repr__(self) -> str:
        # The value of a cell may be confidential: a repr shows the status alone.
        return f"Solution({self.status})"
