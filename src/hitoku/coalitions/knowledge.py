"""What coalitions know without any release: their own amounts, and what follows from them.

Kept where it is more than everybody knows: a contributor knows something about few cells of a large table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.attacks import Share, pooled
from hitoku.coalitions.cell_witnesses import CellRange
from hitoku.errors import ParameterError
from hitoku.feasibility import Incidence, Propagation
from hitoku.model import SOLVED, Floats, Integers, Release, Table, slack

Shares = Sequence[Mapping[int, Share]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KnownBounds:
    """Bounds that somebody knows without any release; equal where they know the value."""

    everybody: tuple[Floats, Floats]
    """Lower and upper bounds of all cells that everybody knows."""
    cells: Integers
    """Where somebody knows more, sorted."""
    lower: Floats
    upper: Floats
    """Their bounds there."""

    def __repr__(self) -> str:
        return f"KnownBounds(more about {len(self.cells)} of {len(self.everybody[0])} cells)"

    def of_all(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of all cells."""
        lower, upper = self.everybody[0].copy(), self.everybody[1].copy()
        lower[self.cells], upper[self.cells] = self.lower, self.upper
        return lower, upper

    def of(self, cells: Integers) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of some cells."""
        lower, upper = self.everybody[0][cells], self.everybody[1][cells]
        if len(self.cells):
            place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
            more = self.cells[place] == cells
            lower[more], upper[more] = self.lower[place[more]], self.upper[place[more]]
        return lower, upper


class Knowledge:
    """What can be known about a table without any release.

    Parameters
    ----------
    table
        The true values; cells that are zero and may not be withheld are known to everybody.
    release
        Its bounds are known to everybody.
    """

    def __init__(self, table: Table, release: Release) -> None:
        self._truth, self._release = table.value, release
        self._slack = slack(table.value)
        # Bounds no farther apart than this are one value.
        self.dust = slack(table.value, SOLVED)
        self._chains = Propagation(Incidence.of(release.relations), self._slack)
        lower, upper = release.lower.copy(), release.upper.copy()
        # Structural zeros: published as zero whatever is withheld.
        fixed = np.zeros(table.n_cells, dtype=np.bool_) if table.fixed is None else table.fixed
        zeros = fixed & (table.value == 0)
        lower[zeros] = upper[zeros] = 0.0
        self._chains.tighten(lower, upper)
        self.everybody = np.minimum(lower, self._truth), np.maximum(upper, self._truth)
        # One coalition's bounds at a time are worked out here, and wiped out again.
        self._slate = self.everybody[0].copy(), self.everybody[1].copy()

    def refuse_strangers(self, shares: Shares) -> None:
        """Raise when some contribution contradicts the true table."""
        for number, own in enumerate(shares):
            for cell, amount, known in pooled([own]):
                off = amount - self._truth[cell]
                bounded = self._release.lower[cell] >= 0
                if (known and abs(off) > self._slack[cell]) or (bounded and off > self._slack[cell]):
                    raise ParameterError(
                        "contribution_does_not_fit_table",
                        "a contribution does not fit the table",
                        where="contributor number {number}, cell {cell}",
                        fix="check cells and amounts, and that sole contributors are alone",
                        number=number + 1,
                        cell=self._release.describe(cell),
                    )

    def sight(self, shares: Shares) -> Iterator[CellRange]:
        """Return how far cells can go down and up for a coalition that contributed to them."""
        for cell, amount, known in pooled(shares):
            if known:
                yield cell, 0.0, 0.0
            elif self._release.lower[cell] >= 0:
                yield cell, float(max(self._truth[cell] - amount, 0.0)), np.inf

    def of(self, shares: Shares) -> KnownBounds:
        """Return what a coalition knows."""
        lower, upper = self._slate
        told = []
        for cell, amount, known in pooled(shares):
            told.append(cell)
            if known:
                lower[cell] = upper[cell] = self._truth[cell]
            elif lower[cell] >= 0:
                lower[cell] = max(lower[cell], min(amount, self._truth[cell]))
        # Who has so much in the parts has at least as much in their total, and so on.
        news = np.array(told, dtype=np.int64)
        cells = np.union1d(news, self._chains.tighten(lower, upper, news))
        truth = self._truth[cells]
        known_bounds = KnownBounds(
            self.everybody, cells, np.minimum(lower[cells], truth), np.maximum(upper[cells], truth)
        )
        lower[cells], upper[cells] = (side[cells] for side in self.everybody)
        return known_bounds
