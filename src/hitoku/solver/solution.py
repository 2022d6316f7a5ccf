"""Solutions (status, value recomputed in original units, point, basis), and the limits of a search.

Limits are counted work, which is the same on every computer, and seconds.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
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


# Work of some minutes: the default limit of attacks.
MINUTES = 3e10
# Work of about ten seconds: the limit of one step of many.
SECONDS = MINUTES / 10
# Simplex steps that setting up a solve counts for, even if the first point is optimal.
SET_UP = 10
# Simplex steps that a node of a search tree or an interior point step counts for: each factorises afresh.
STEPS_PER_FACTORISATION = 100


@dataclass(slots=True)
class CountedWork:
    """Work of a search so far, and its limit, counted in numbers read.

    A simplex step reads all entries of its program, a flow the arcs that it visits.

    Examples
    --------
    >>> work = CountedWork(limit=10)
    >>> work.add(7)
    >>> work.left, work.over
    (3, False)
    """

    limit: float = math.inf
    """No further step is started once this much is done; infinite for no limit."""
    done: float = 0
    """Work so far."""

    def add(self, amount: float) -> None:
        """Add work that was done."""
        self.done += amount

    @property
    def left(self) -> float:
        """Remaining work, at least zero."""
        return max(0, self.limit - self.done)

    @property
    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.done >= self.limit


@dataclass(frozen=True, slots=True)
class Deadline:
    """Limit of seconds and work for an attack; without a limit of seconds the clock is never read."""

    time_limit_s: float | None = None
    work: CountedWork = field(default_factory=CountedWork)
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, time_limit_s: float | None = None, work_limit: float | None = None) -> Deadline:
        """Return a limit of seconds and of work; None for no limit."""
        return cls(time_limit_s, CountedWork(math.inf if work_limit is None else work_limit))

    @property
    def left(self) -> float | None:
        """Remaining seconds, at least zero; None without a limit."""
        if self.time_limit_s is None:
            return None
        return max(0.0, self.time_limit_s - (time.monotonic() - self.started))

    @property
    def over(self) -> bool:
        """Whether one of the limits is reached."""
        return self.work.over or (self.time_limit_s is not None and self.left == 0.0)
