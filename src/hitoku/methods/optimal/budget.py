"""When a search stops early: a shared count of the work done, and the limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


class Stopped(Exception):  # noqa: N818 - a limit is no failure
    """A limit was hit, or somebody interrupted."""


# A trace holds at most so many points; when it is full, every second one is forgotten.
MOST_POINTS = 512


@dataclass(slots=True)
class Trace:
    """Bound and cost of the best pattern over the work done, noted where one of them changed.

    Examples
    --------
    >>> trace = Trace()
    >>> for work, bound, cost in [(1, 2.0, 9.0), (5, 1.0, 9.0), (8, 1.0, 7.0)]:
    ...     trace.note(work, bound, cost)
    >>> trace.points
    [(1, 2.0, 9.0), (8, 2.0, 7.0)]
    """

    points: list[tuple[int, float, float]] = field(default_factory=list)

    def note(self, work: int, bound: float, cost: float) -> None:
        """Add a point; a bound once proven stays, a pattern once known too."""
        if self.points:
            _, known, best = self.points[-1]
            bound, cost = max(bound, known), min(cost, best)
            if (bound, cost) == (known, best):
                return
            if len(self.points) >= MOST_POINTS:
                del self.points[1:-1:2]
        self.points.append((work, bound, cost))


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
