"""When a search stops early: a shared count of the work done, and the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Stopped(Exception):  # noqa: N818 - a limit is no failure
    """A limit was hit, or somebody interrupted."""


@dataclass(slots=True)
class Budget:
    """What all parts of one search share: the work done, and the limits.

    Parameters
    ----------
    used
        Tells which share of the limits is used up, given the work done; zero where there is none.
    report
        Called with the bound and the cost of the best pattern.
    gap
        Stop when no pattern can be cheaper by a larger share than this.
    work
        Attacker's problems and relaxations solved so far.
    """

    used: Callable[[int], float] = lambda _work: 0.0
    report: Callable[[float, float], None] = lambda _bound, _best: None
    gap: float = 0.0
    work: int = 0
    interrupted: bool = False

    def spend(self, work: int = 1) -> None:
        """Count work about to be done; raise when it is time to stop."""
        if self.interrupted or self.spent() >= 1:
            raise Stopped
        self.work += work

    def spent(self) -> float:
        """Return the share of the limits that is used up."""
        return self.used(self.work)
