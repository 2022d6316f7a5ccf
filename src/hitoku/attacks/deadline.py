"""A time limit that several steps share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Deadline:
    """Seconds for a whole attack; None for as long as it takes, and then no clock is ever read."""

    time_limit_s: float | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        """Seconds left, not below zero."""
        if self.time_limit_s is None:
            return None
        return max(0.0, self.time_limit_s - (time.monotonic() - self.started))

    @property
    def over(self) -> bool:
        return self.time_limit_s is not None and self.left == 0.0
