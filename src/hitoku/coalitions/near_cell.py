"""One cell against one coalition: deviations that move it far enough, or a bound.

The least deviation is found with few relations and cells. If there is none, the relations that were used
bound the cell, and a program over these alone gives its range; a program over the entire table is solved only
if that range is wide enough.

Knowledge of coalitions without any release is their own contributions and what follows from them. It is
stored only for cells about which they know more than others, which are few in a large table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.attacks import Share, pool_contributions
from hitoku.coalitions.cell_witnesses import CellRange, CoalitionRange
from hitoku.errors import ParameterError
from hitoku.feasibility import NEARBY_CELLS, DeviationSearch, Incidence, Propagation, push_engine
from hitoku.model import SOLVED, Floats, Integers, Release, Table, slack
from hitoku.solver.solution import CountedWork

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
            for cell, amount, known in pool_contributions([share]):
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
        for cell, amount, known in pool_contributions(shares):
            if known:
                yield cell, 0.0, 0.0
            elif self._release.lower[cell] >= 0:
                yield cell, float(max(self._truth[cell] - amount, 0.0)), np.inf

    def of(self, shares: Shares) -> KnownBounds:
        """Return the bounds that a coalition knows."""
        lower, upper = self._slate
        own = []
        for cell, amount, known in pool_contributions(shares):
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


# Cells that move, by index among the suppressed ones, and distances.
Deviation = tuple[Integers, Floats]


class CellSearch:
    """Search for deviations of one cell that is not known to move far enough.

    Parameters
    ----------
    reach, one
        Required ranges of cells for a coalition, and the index of this cell among them.
    place
        Index of the cell among the suppressed ones.
    weight
        Cost of moving each suppressed cell.
    work
        Counts the work of flows and programs.
    """

    def __init__(
        self, reach: CoalitionRange, one: int, place: int, weight: Floats, work: CountedWork
    ) -> None:
        self._reach, self._one, self._place, self._weight = reach, one, place, weight
        self._work = work
        self._rows: list[Integers] = []

    @property
    def _lacks(self) -> bool:
        reach, one = self._reach, self._one
        return reach.lacks(one, float(reach.down[one]), float(reach.up[one]))

    def deviations(self, ways: DeviationSearch) -> Iterator[Deviation]:
        """Yield deviations until the cell moves far enough, or cannot; ``ways`` has relations and slacks."""
        yield from self._both_ways(ways)
        if self._lacks:
            yield from self._each_way(ways)
        if self._lacks and self._may_go(ways, np.unique(np.concatenate(self._rows))):
            for change in self._farthest(ways, np.arange(ways.by_row.shape[0])):
                self._note(*change)
                yield change

    def _note(self, cells: Integers, steps: Floats) -> None:
        self._reach.note(np.array([self._one]), steps[cells == self._place])

    def _try(self, changes: DeviationSearch, way: float, least: float) -> Deviation | None:
        found = changes.least(self._place, way, least, most_cells=NEARBY_CELLS[-1], weight=self._weight)
        self._rows.append(found.rows)
        # The simplex method takes about as many steps as there are relations, and each reads all cells.
        self._work.add(found.work * max(1, len(found.rows)))
        return (found.cells, found.steps) if len(found.cells) else None

    def _both_ways(self, ways: DeviationSearch) -> Iterator[Deviation]:
        """Search for one deviation that is feasible in both directions."""
        reach, one, even = self._reach, self._one, np.minimum(-ways.low, ways.high)
        level = max(reach.lower[one], reach.upper[one], reach.width[one] / 2) + 2 * reach.least[one]
        change = self._try(ways.within(-even, even), level, 1.0) if even[self._place] >= level else None
        if change is not None:
            for both in (change, (change[0], -change[1])):
                self._note(*both)
                yield both

    def _each_way(self, ways: DeviationSearch) -> Iterator[Deviation]:
        """Search for a deviation up, as far as that helps, and for one down that covers the rest."""
        reach, one = self._reach, self._one
        for up in (True, False):
            least, other = (reach.upper, reach.down) if up else (reach.lower, reach.up)
            way = max(least[one], reach.width[one] - other[one]) + 2 * reach.least[one]
            if self._lacks:
                share = max(least[one] - reach.slack[one], 0.0) / way
                change = self._try(ways, way if up else -way, share)
                if change is not None:
                    self._note(*change)
                    yield change

    def _may_go(self, ways: DeviationSearch, rows: Integers) -> bool:
        """Return whether some relations alone would allow the cell its required range."""
        moved = [steps[cells == self._place].sum() for cells, steps in self._farthest(ways, rows)]
        return not self._reach.lacks(self._one, -min(moved), max(moved))

    def _farthest(self, ways: DeviationSearch, rows: Integers) -> Iterator[Deviation]:
        """Push the cell down and up subject to some relations, no farther than required."""
        relations = ways.by_row[rows]
        cells = np.union1d(self._place, relations.indices)
        own = int(np.searchsorted(cells, self._place))
        enough = self._reach.enough[self._one]
        down, up = -ways.low[cells], ways.high[cells]
        down[own], up[own] = min(down[own], enough), min(up[own], enough)
        engine = push_engine(relations[:, cells], down, up, self._work)
        for rising in (False, True):
            yield cells, engine.far(own, up=rising, cap=enough)[1]
