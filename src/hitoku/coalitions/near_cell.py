"""One cell against one coalition: deviations that move it far enough, or a bound.

The least deviation is found with few relations and cells. If there is none, the relations that were used
bound the cell, and a program over these alone gives its range; a program over the entire table is solved only
if that range is wide enough.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.coalitions.cell_witnesses import CoalitionRange
from hitoku.feasibility import NEARBY_CELLS, DeviationSearch, push_engine
from hitoku.model import Floats, Integers
from hitoku.solver.work import CountedWork

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
