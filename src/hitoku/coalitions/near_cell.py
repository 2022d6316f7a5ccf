"""One cell in the eyes of one coalition: changes that move it far enough, or relations that do not let it.

The least change comes from few relations and cells. Where there is none, the relations that were looked at
bound the cell, and a program over these alone says how far it can go; the whole table is asked only where
that is not short.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.coalitions.cell_witnesses import CoalitionRange
from hitoku.feasibility import NEARBY_CELLS, DeviationSearch, push_engine
from hitoku.model import Floats, Integers
from hitoku.solver.work import CountedWork

# Cells that move, by place among the withheld ones, and how far.
Change = tuple[Integers, Floats]


class CellSearch:
    """One cell of which it is not known whether it moves far enough.

    Parameters
    ----------
    reach, one
        How far cells must move for a coalition, and which of them this is.
    place
        Its place among the withheld cells.
    weight
        What moves of withheld cells cost.
    work
        Counts the numbers that flows and programs look at.
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

    def deviations(self, ways: DeviationSearch) -> Iterator[Change]:
        """Look for changes until the cell goes far enough, or cannot; ``ways`` say how far cells may move."""
        yield from self._both_ways(ways)
        if self._lacks:
            yield from self._each_way(ways)
        if self._lacks and self._may_go(ways, np.unique(np.concatenate(self._rows))):
            for change in self._farthest(ways, np.arange(ways.by_row.shape[0])):
                self._note(*change)
                yield change

    def _note(self, cells: Integers, steps: Floats) -> None:
        self._reach.note(np.array([self._one]), steps[cells == self._place])

    def _try(self, changes: DeviationSearch, way: float, least: float) -> Change | None:
        found = changes.least(self._place, way, least, most_cells=NEARBY_CELLS[-1], weight=self._weight)
        self._rows.append(found.rows)
        # Simplex takes about as many steps as there are relations, each of which looks at all cells.
        self._work.add(found.work * max(1, len(found.rows)))
        return (found.cells, found.steps) if len(found.cells) else None

    def _both_ways(self, ways: DeviationSearch) -> Iterator[Change]:
        """Look for one change that serves both directions."""
        reach, one, even = self._reach, self._one, np.minimum(-ways.low, ways.high)
        level = max(reach.lower[one], reach.upper[one], reach.width[one] / 2) + 2 * reach.least[one]
        change = self._try(ways.within(-even, even), level, 1.0) if even[self._place] >= level else None
        if change is not None:
            for both in (change, (change[0], -change[1])):
                self._note(*both)
                yield both

    def _each_way(self, ways: DeviationSearch) -> Iterator[Change]:
        """Look for a change up, as far as it helps, and for one down that makes up for the rest."""
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
        """Tell whether some relations alone would let the cell go as far as it must."""
        moved = [steps[cells == self._place].sum() for cells, steps in self._farthest(ways, rows)]
        return not self._reach.lacks(self._one, -min(moved), max(moved))

    def _farthest(self, ways: DeviationSearch, rows: Integers) -> Iterator[Change]:
        """Push the cell down and up with some relations kept; no farther than will do."""
        relations = ways.by_row[rows]
        cells = np.union1d(self._place, relations.indices)
        own = int(np.searchsorted(cells, self._place))
        enough = self._reach.enough[self._one]
        down, up = -ways.low[cells], ways.high[cells]
        down[own], up[own] = min(down[own], enough), min(up[own], enough)
        engine = push_engine(relations[:, cells], down, up, self._work)
        for rising in (False, True):
            yield cells, engine.far(own, up=rising, cap=enough)[1]
