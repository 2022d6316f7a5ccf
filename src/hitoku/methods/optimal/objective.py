"""The objective of the branch and cut, the tie-break between patterns of equal cost, and the result.

Every cell gets a small integer from a hash of its codes. Among all cheapest patterns the one with the least
sum is chosen, and among those the lexicographically smallest: at the first cell, in the order of the table,
where two patterns differ, the one that publishes it. So the answer depends on codes, not on values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from hitoku.methods.optimal.cuts import Cuts
from hitoku.model import Floats, Integers, Labels, Mask

# Upper bound of the numbers. Larger ones would exceed a solver's tolerance.
NUMBERS = 1000


def number(codes: Iterable[str]) -> int:
    """Return the number of one cell from its codes.

    Examples
    --------
    >>> number(("R03", "B"))
    758
    """
    text = "\x1f".join(codes).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") % NUMBERS


def numbers(labels: Labels, cells: Integers) -> Integers:
    """Return the numbers of some cells."""
    columns = [
        [codes[place] for place in labels.column(variable)[cells].tolist()]
        for variable, codes in enumerate(labels.codes)
    ]
    return np.array([number(codes) for codes in zip(*columns, strict=True)], dtype=np.int64)


def smaller(one: Mask, other: Mask) -> bool:
    """Return whether one pattern comes before another of the same cost and sum.

    Examples
    --------
    >>> smaller(np.array([0, 1, 1], dtype=bool), np.array([1, 0, 0], dtype=bool))
    True
    """
    differ = np.flatnonzero(one != other)
    return bool(len(differ) and not one[differ[0]])


# Real costs that differ by less than this share are equal.
REAL = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Function to be minimised, and an optional limit on a second cost."""

    cost: Floats  # One number per cell of the instance.
    step: float  # Two patterns cost the same or differ by at least this; zero for real costs.
    ties: bool = False  # Search every pattern of the least cost and keep the lexicographically smallest.
    # other, most: A second cost, and its limit; None for no limit.
    other: Floats | None = None
    most: float = 0.0

    def value(self, pattern: Mask) -> float:
        return float(self.cost[pattern].sum())

    def allows(self, pattern: Mask) -> bool:
        """Return whether a pattern satisfies the limit on the second cost."""
        return self.other is None or float(self.other[pattern].sum()) <= self.most

    def hopeless(self, bound: float, best: float) -> bool:
        """Return whether a node with this dual bound can be pruned; ``best``: value of the incumbent."""
        return bound > self.enough(best)

    def enough(self, best: float) -> float:
        """Return the dual bound above which a node can be pruned."""
        return best + 0.5 * self.step if self.ties else best - self.gain(best)

    def gain(self, best: float) -> float:
        """Return the minimum gain of a better pattern."""
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
    """Incumbent, dual bound and cuts at the end of a search."""

    # pattern, value: best pattern and its cost.
    pattern: Mask
    value: float
    bound: float  # The dual bound: no safe pattern costs less.
    finished: bool  # Whether the search was completed.
    possible: Mask  # Cells that patterns of the same cost may suppress.
    rows: Cuts  # Cuts: valid for all safe patterns.
    canonical: bool = False  # Whether the pattern is the one that the tie-break selects.
