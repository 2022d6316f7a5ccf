"""The objective of the branch and cut, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from hitoku.methods.optimal.cuts import Cuts
from hitoku.model import Floats, Mask

# Real costs that differ by a smaller share than this are equal.
REAL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """What is minimised, and what must not be exceeded.

    Parameters
    ----------
    cost
        One number per cell of the instance.
    step
        Two patterns cost the same or differ by at least this; zero for real costs.
    ties
        Look for every pattern of the least cost and keep the lexicographically smallest.
    other, most
        A second cost, and how much of it a pattern may have; None for no such limit.
    """

    cost: Floats
    step: float
    ties: bool = False
    other: Floats | None = None
    most: float = 0.0

    def value(self, pattern: Mask) -> float:
        return float(self.cost[pattern].sum())

    def allows(self, pattern: Mask) -> bool:
        """Tell whether a pattern keeps to the second cost."""
        return self.other is None or float(self.other[pattern].sum()) <= self.most

    def hopeless(self, bound: float, best: float) -> bool:
        """Tell whether a node with this dual bound can be pruned; ``best`` is the value of the incumbent."""
        return bound > self.enough(best)

    def enough(self, best: float) -> float:
        """Return the dual bound above which a node can be pruned."""
        return best + 0.5 * self.step if self.ties else best - self.gain(best)

    def gain(self, best: float) -> float:
        """Return what a better pattern gains at least."""
        return self.step * (1 - 1e-6) if self.step else REAL * best

    def within(self, best: float) -> float:
        """Return by how much a pattern may cost more and still count as equal."""
        return max(0.5 * self.step, REAL * best)

    def over(self, cells: Mask) -> Objective:
        """Return the same objective over some of the cells."""
        other = None if self.other is None else self.other[cells]
        return Objective(self.cost[cells], self.step, self.ties, other, self.most)


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The incumbent, the dual bound, and the cuts when a search ended.

    Parameters
    ----------
    pattern, value
        The best pattern and what it costs.
    bound
        The dual bound: no safe pattern costs less.
    finished
        The search ran to its end.
    possible
        Cells that patterns of the same cost may withhold.
    rows
        Cuts: valid for all safe patterns.
    canonical
        The pattern is the one that the tie-break picks.
    """

    pattern: Mask
    value: float
    bound: float
    finished: bool
    possible: Mask
    rows: Cuts
    canonical: bool = False
