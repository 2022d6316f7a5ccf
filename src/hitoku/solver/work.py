"""Limits of a search: counted work, which is the same on every computer, and seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

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
