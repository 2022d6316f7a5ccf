"""Knowledge of coalitions without any release: their own contributions, and what follows from them.

Stored only for cells about which they know more than others, which are few in a large table.
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
    """Bounds that a coalition knows without any release; equal if it knows the value."""

    public: tuple[Floats, Floats]
    """Lower and upper bounds of all cells that every attacker knows."""
    cells: Integers
    """Sorted cells about which the coalition knows more."""
    lower: Floats
    upper: Floats
    """Bounds of these cells."""

    def __repr__(self) -> str:
        return f"KnownBounds(more about {len(self.cells)} of {len(self.public[0])} cells)"

    def of_all(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of all cells."""
        lower, upper = self.public[0].copy(), self.public[1].copy()
        lower[self.cells], upper[self.cells] = self.lower, self.upper
        return lower, upper

    def of(self, cells: Integers) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of some cells."""
        lower, upper = self.public[0][cells], self.public[1][cells]
        if len(self.cells):
            place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
            more = self.cells[place] == cells
            lower[more], upper[more] = self.lower[place[more]], self.upper[place[more]]
        return lower, upper


class Knowledge:
    """Knowledge about a table without any release.

    Parameters
    ----------
    table
        The true table; cells that are zero and must be published are known to every attacker.
    release
        The release, whose bounds are known to every attacker.
    """

    def __init__(self, table: Table, release: Release) -> None:
        self._truth, self._release = table.value, release
        self._slack = slack(table.value)
        # Bounds that differ by at most this are a single value.
        self.dust = slack(table.value, SOLVED)
        self._chains = Propagation(Incidence.of(release.relations), self._slack)
        lower, upper = release.lower.copy(), release.upper.copy()
        # Structural zeros: published as zero in any case.
        fixed = np.zeros(table.n_cells, dtype=np.bool_) if table.fixed is None else table.fixed
        zeros = fixed & (table.value == 0)
        lower[zeros] = upper[zeros] = 0.0
        self._chains.tighten(lower, upper)
        self.public = np.minimum(lower, self._truth), np.maximum(upper, self._truth)
        # Scratch space: the bounds of one coalition at a time.
        self._slate = self.public[0].copy(), self.public[1].copy()

    def refuse_strangers(self, shares: Shares) -> None:
        """Raise ParameterError if a contribution contradicts the true table."""
        for number, share in enumerate(shares):
            for cell, amount, known in pooled([share]):
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
        """Yield the cells to which a coalition contributed, with their slacks down and up."""
        for cell, amount, known in pooled(shares):
            if known:
                yield cell, 0.0, 0.0
            elif self._release.lower[cell] >= 0:
                yield cell, float(max(self._truth[cell] - amount, 0.0)), np.inf

    def of(self, shares: Shares) -> KnownBounds:
        """Return the bounds that a coalition knows."""
        lower, upper = self._slate
        own = []
        for cell, amount, known in pooled(shares):
            own.append(cell)
            if known:
                lower[cell] = upper[cell] = self._truth[cell]
            elif lower[cell] >= 0:
                lower[cell] = max(lower[cell], min(amount, self._truth[cell]))
        # Contributions to parts also bound their totals, and so on.
        news = np.array(own, dtype=np.int64)
        cells = np.union1d(news, self._chains.tighten(lower, upper, news))
        truth = self._truth[cells]
        known_bounds = KnownBounds(
            self.public, cells, np.minimum(lower[cells], truth), np.maximum(upper[cells], truth)
        )
        lower[cells], upper[cells] = (side[cells] for side in self.public)
        return known_bounds
