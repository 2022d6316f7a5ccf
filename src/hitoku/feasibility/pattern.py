"""A suppression pattern that changes cell by cell, with counts per relation and connected groups."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from hitoku.feasibility.incidence import Incidence, parts_of
from hitoku.model import Integers, Mask


class Pattern:
    """Suppressed cells, changed one at a time.

    A cell whose bounds leave a single value is known even if it is suppressed. Counts and groups omit such
    cells: only *loose* cells, suppressed and movable, protect others.

    Parameters
    ----------
    matrix
        Relations by cells.
    movable
        Cells whose bounds leave more than one value.
    withheld
        The initial pattern.

    Attributes
    ----------
    withheld
        Cells that are suppressed now.
    loose
        Movable cells among them.
    count
        Loose cells in each relation.
    """

    def __init__(self, matrix: sparse.csr_array, movable: Mask, withheld: Mask) -> None:
        self.matrix, self.movable = matrix, movable
        self.relations = Incidence.of(matrix)
        self.withheld = np.array(withheld, dtype=bool)
        self.loose = self.withheld & self.movable
        self.count = self.tally(self.loose)

    def tally(self, cells: Mask) -> Integers:
        """Count the cells of a mask in each relation."""
        begins, indices, _ = self.relations.by_row
        total = np.concatenate([[0], np.cumsum(cells[indices])])
        return np.asarray(total[begins[1:]] - total[begins[:-1]])

    @cached_property
    def group(self) -> Integers:
        """Label per relation, equal for relations that loose cells connect.

        Publishing a cell does not change labels, so that groups may be larger than the components.
        """
        return parts_of(self.matrix[:, np.flatnonzero(self.loose)]).row

    def withhold(self, cell: int) -> None:
        """Suppress a further cell."""
        self.withheld[cell] = True
        if not self.movable[cell] or self.loose[cell]:
            return
        self.loose[cell] = True
        rows = self.relations_of(cell)
        self.count[rows] += 1
        for other in self.group[rows[1:]]:
            self.group[self.group == other] = self.group[rows[0]]

    def publish(self, cell: int) -> None:
        """Publish a suppressed cell again."""
        self.withheld[cell] = False
        if self.loose[cell]:
            self.loose[cell] = False
            self.count[self.relations_of(cell)] -= 1

    def given_away(self, cell: int, never: Mask) -> set[int] | None:
        """Return the loose cells that publishing a cell determines, relation by relation.

        None if one of them is in ``never``.
        """
        begins, indices, _ = self.relations.by_row
        known, waiting = {cell}, [cell]
        left: dict[int, int] = {}
        while waiting:
            for row in self.relations_of(waiting.pop()).tolist():
                left[row] = left.get(row, int(self.count[row])) - 1
                if left[row] != 1:
                    continue
                for other in indices[begins[row] : begins[row + 1]].tolist():
                    if self.loose[other] and other not in known:
                        if never[other]:
                            return None
                        known.add(other)
                        waiting.append(other)
        return known - {cell}

    def relations_of(self, cell: int) -> Integers:
        """Return the relations of a cell."""
        begins, rows, _ = self.relations.by_cell
        return rows[begins[cell] : begins[cell + 1]]

    def group_of(self, cell: int) -> int:
        """Return the label of a cell's group; -1 for a cell without a relation."""
        rows = self.relations_of(cell)
        return int(self.group[rows[0]]) if len(rows) else -1

    def rows(self, group: int) -> Integers:
        """Return the relations of a group that have a loose cell."""
        return np.flatnonzero((self.group == group) & (self.count > 0))

    def members(self, group: int) -> Integers:
        """Return the loose cells of a group, in cell order."""
        inside = np.zeros(len(self.loose), dtype=bool)
        inside[self.relations.cells_of(self.rows(group))] = True
        return np.flatnonzero(inside & self.loose)
