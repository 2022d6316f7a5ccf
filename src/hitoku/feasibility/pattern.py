"""A suppression pattern that changes cell by cell, with counts per relation and connected groups.

Relations among cells as arrays, by row and by cell: singletons, components and networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model import Floats, Integers, Mask

# CSR arrays, or CSC arrays by column: start of each line, indices, coefficients.
Lines = tuple[Integers, Integers, Floats]


def _as_lines(matrix: Any) -> Lines:
    """Return the arrays of a CSR or CSC matrix in the types that kernels take."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int64, copy=False),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )


def entries_of(begins: Integers, lines: Integers) -> tuple[Integers, Integers]:
    """Return the indices of the entries of some lines, and the start of each line among them."""
    lengths = begins[lines + 1] - begins[lines]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(ends[-1]) + np.repeat(begins[lines] - ends[:-1], lengths), ends


@dataclass(frozen=True, eq=False)
class Incidence:
    """Relations by row and by cell, without bounds: all measures of a table share one."""

    by_row: Lines
    by_cell: Lines
    """The same matrix by rows and by columns."""

    @classmethod
    def of(cls, matrix: Any) -> Incidence:
        """Convert a sparse matrix of relations by cells, in any format.

        Formats are converted here only: kernels check neither formats nor indices, so CSC arrays passed as
        CSR arrays would be read out of bounds.
        """
        return cls(_as_lines(matrix.tocsr()), _as_lines(matrix.tocsc()))

    @property
    def n_rows(self) -> int:
        return len(self.by_row[0]) - 1

    @property
    def n_cells(self) -> int:
        return len(self.by_cell[0]) - 1

    def rows_of(self, cells: Integers) -> Integers:
        """Return the relations of some cells, cell by cell."""
        return self.by_cell[1][entries_of(self.by_cell[0], cells)[0]]

    def cells_of(self, rows: Integers) -> Integers:
        """Return the cells of some relations, relation by relation."""
        return self.by_row[1][entries_of(self.by_row[0], rows)[0]]

    @cached_property
    def degree(self) -> Integers:
        """Number of relations of each cell."""
        return np.diff(self.by_cell[0])

    def stuck(self, alive: Mask) -> tuple[Integers, Integers]:
        """Drop singletons of relations until none is left, where only ``alive`` cells may move.

        Returns the dropped cells in that order, and the relation in which each was the last cell.

        Examples
        --------
        The first relation has a single cell that may move, so it cannot; then the others cannot either.

        >>> from scipy import sparse
        >>> rows = sparse.csr_array([[1, 1, -1, 0, 0, 0], [0, 1, 0, 1, -1, 0], [0, 0, 0, 1, 1, 1]])
        >>> cells, relations = Incidence.of(rows).stuck(np.array([0, 1, 0, 1, 0, 1], dtype=bool))
        >>> cells.tolist(), relations.tolist()
        ([1, 3, 5], [0, 1, 2])
        """
        from hitoku.kernels.propagate import peel  # noqa: PLC0415 - numba loads when it is needed

        relation = np.full(self.n_cells, -1, dtype=np.int64)
        known = ~alive
        before = int(np.count_nonzero(known))
        order = peel(
            self.by_row, self.by_cell, np.zeros(self.n_rows), np.zeros(self.n_cells), known, relation
        )
        return order[before:], relation[order[before:]]

    def movable(self, alive: Mask) -> Mask:
        """Return the cells that have a relation and remain after singletons are dropped."""
        left = alive & (self.degree > 0)
        left[self.stuck(alive)[0]] = False
        return left

    @property
    def parts(self) -> Components:
        """Connected components, with the signs of networks."""
        from hitoku.kernels.propagate import signed_parts  # noqa: PLC0415 - numba loads when it is needed

        return Components(*signed_parts(self.n_rows, self.by_cell))


@dataclass(frozen=True, eq=False)
class Components:
    """Connected components of relations and cells, and which of them are networks."""

    n: int
    """Number of components."""
    row: Integers
    cell: Integers
    """Component of each relation and cell; a cell without a relation is a component of its own."""
    network: Mask
    """Components in which every cell joins two relations, or one relation and the outside."""
    sign: Floats
    """Sign per relation: multiplied by it, every cell of a network has one entry +1 and one entry -1, or a
    single one."""


def parts_of(matrix: Any) -> Components:
    """Return the components of a sparse matrix of relations by cells."""
    return Incidence.of(matrix).parts


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
        Initial pattern.

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
