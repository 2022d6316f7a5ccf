"""A pattern that grows: which cells are withheld, how many in each relation, and what hangs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hitoku.model.arrays import Integers, Mask
from hitoku.model.table import Table


class Pattern:
    """Withheld cells of a table, changed one at a time.

    A cell whose bounds leave it a single value is known whether it is withheld or not. Counts and groups
    leave such cells out: only *loose* cells, withheld and free to move, blur anything.

    Attributes
    ----------
    withheld
        Cells withheld now.
    loose
        Those of them that an outsider's bounds do not pin down.
    count
        Loose cells in each relation.
    group
        A label per relation: relations that loose cells tie together, directly or by way of others, share
        it. Publishing a cell leaves groups as they are; they may then be larger than they need be.
    """

    def __init__(self, table: Table, withheld: Mask) -> None:
        self.relations = table.relations
        by_cell: Any = table.relations.tocsc()
        self._cell_ends, self._cell_rows = by_cell.indptr, by_cell.indices
        self.coefficients = by_cell.data
        self.movable = table.upper > table.lower
        self.withheld = np.array(withheld, dtype=bool)
        self.loose = self.withheld & self.movable
        self.count = self.tally(self.loose)
        self.regroup()

    def regroup(self) -> None:
        """Label the relations anew: what was published may have torn groups apart."""
        self.group = self._groups()

    def tally(self, cells: Mask) -> Integers:
        """Count the cells of a mask in each relation."""
        marks = cells[self.relations.indices].astype(np.int64)
        total = np.concatenate([[0], np.cumsum(marks)])
        ends = self.relations.indptr
        return np.asarray(total[ends[1:]] - total[ends[:-1]])

    def _groups(self) -> Integers:
        n_rows, n_cells = self.relations.shape
        tied = self.loose[self.relations.indices]
        rows = np.repeat(np.arange(n_rows), np.diff(self.relations.indptr))[tied]
        cells = self.relations.indices[tied] + n_rows
        size = n_rows + n_cells
        graph = sparse.coo_array((np.ones(len(rows)), (rows, cells)), shape=(size, size))
        labels = csgraph.connected_components(graph, directed=False)[1]
        return np.array(labels[:n_rows], dtype=np.int64)

    def withhold(self, cell: int) -> None:
        """Withhold one more cell."""
        self.withheld[cell] = True
        if not self.movable[cell] or self.loose[cell]:
            return
        self.loose[cell] = True
        rows = self.relations_of(cell)
        self.count[rows] += 1
        for other in self.group[rows[1:]]:
            self.group[self.group == other] = self.group[rows[0]]

    def publish(self, cell: int) -> None:
        """Publish a withheld cell again."""
        self.withheld[cell] = False
        if self.loose[cell]:
            self.loose[cell] = False
            self.count[self.relations_of(cell)] -= 1

    def given_away(self, cell: int) -> set[int]:
        """Loose cells that follow, relation by relation, once a cell is published."""
        known, waiting = {cell}, [cell]
        left: dict[int, int] = {}
        while waiting:
            for row in self.relations_of(waiting.pop()).tolist():
                left[row] = left.get(row, int(self.count[row])) - 1
                if left[row] == 1:
                    cells = self.cells_of(np.array([row]))
                    new = {int(c) for c in cells[self.loose[cells]]} - known
                    known |= new
                    waiting += new
        return known - {cell}

    def relations_of(self, cell: int) -> Integers:
        """Relations that a cell takes part in."""
        rows: Integers = self._cell_rows[self._cell_ends[cell] : self._cell_ends[cell + 1]]
        return rows

    def cells_of(self, relations: Integers) -> Integers:
        """Cells of some relations, one relation after the other."""
        places = _joined(self.relations.indptr, relations)
        cells: Integers = self.relations.indices[places]
        return cells

    def entries_of(self, cells: Integers) -> tuple[Integers, Integers]:
        """Where some cells stand: positions among the entries by cell, and the relation of each."""
        places = _joined(self._cell_ends, cells)
        return places, self._cell_rows[places]

    def group_of(self, cell: int) -> int:
        """Label of the group that a cell belongs to; -1 for a cell in no relation."""
        rows = self.relations_of(cell)
        return int(self.group[rows[0]]) if len(rows) else -1

    def members(self, group: int) -> Integers:
        """Loose cells of a group, in cell order."""
        cells = self.cells_of(np.flatnonzero((self.group == group) & (self.count > 0)))
        inside = np.zeros(len(self.loose), dtype=bool)
        inside[cells] = True
        return np.flatnonzero(inside & self.loose)

    def degree(self, cells: Integers) -> Integers:
        """Count the relations of each cell."""
        return np.asarray(self._cell_ends[cells + 1] - self._cell_ends[cells], dtype=np.int64)


def _joined(ends: Any, chosen: Integers) -> Integers:
    """Positions of several slices of a compressed array, one slice after the other."""
    lengths = ends[chosen + 1] - ends[chosen]
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(lengths.sum()) + np.repeat(ends[chosen] - before, lengths), dtype=np.int64)
