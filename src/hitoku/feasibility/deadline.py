"""A limit of time and of counted work that several steps share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from hitoku.solver.work import CountedWork


@dataclass(frozen=True, slots=True)
class Deadline:
    """Seconds and work for a whole attack; without seconds no clock is ever read."""

    time_limit_s: float | None = None
    work: CountedWork = field(default_factory=CountedWork)
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        """Seconds left, not below zero."""
        if self.time_limit_s is None:
            return None
        return max(0.0, self.time_limit_s - (time.monotonic() - self.started))

    @property
    def over(self) -> bool:
        """Whether one of the limits is reached."""
        return self.work.over or (self.time_limit_s is not None and self.left == 0.0)
