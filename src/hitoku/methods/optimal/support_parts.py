"""What hangs together among the cells that a pattern withholds, and which of it is a network.

Large tables are attacked through few withheld cells at a time. A cell that is alone in a relation cannot
move; without such cells the rest often falls apart, and parts in which every cell stands between two
relations need no linear program. Multipliers found for the rest are carried on to the cells left out, so that
those do not count in the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hitoku.model.arrays import Floats, Integers, Mask

Peeling = tuple[Integers, Integers, Floats]
NOTHING_PEELED: Peeling = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Peeled:
    """Cells that cannot move, turn by turn, each with the relation it is alone in; and the cells left."""

    turns: list[tuple[Integers, Integers]]
    left: Mask

    def order(self, columns: sparse.csc_array) -> Peeling:
        """Return cells, relations and entries in the order in which multipliers take these cells out.

        Setting the multiplier of the relation that a cell is alone in makes the cell not count. The last
        cells come first: theirs are the relations that the ones peeled before them share.
        """
        none = np.zeros(0, dtype=np.int64)
        cells, relations = (np.concatenate([none, *(turn[k] for turn in self.turns[::-1])]) for k in (0, 1))
        entries = (
            np.asarray(columns[relations, cells], dtype=np.float64).ravel() if len(cells) else np.zeros(0)
        )
        return cells, relations, entries


def peel(columns: sparse.csc_array, alive: Mask) -> Peeled:
    """Take out cells that are alone in a relation, again and again.

    Examples
    --------
    >>> rows = sparse.csc_array(np.array([[1, 1, -1, 0, 0], [0, 1, 0, 1, -1], [0, 0, 0, 1, 1]]))
    >>> peeled = peel(rows, np.array([False, True, False, True, True]))
    >>> [(cells.tolist(), relations.tolist()) for cells, relations in peeled.turns]
    [([1], [0])]
    >>> peeled.left.astype(int).tolist()
    [0, 0, 0, 1, 1]
    """
    cells = np.flatnonzero(alive)
    cell = np.repeat(cells, np.diff(columns.indptr)[cells])
    row = columns.indices[alive[np.repeat(np.arange(len(alive)), np.diff(columns.indptr))]]
    left = alive.copy()
    turns: list[tuple[Integers, Integers]] = []
    while True:
        count = np.bincount(row, minlength=columns.shape[0])
        alone = count[row] == 1
        if not alone.any():
            return Peeled(turns, left)
        stuck, first = np.unique(cell[alone], return_index=True)
        turns.append((stuck, row[alone][first].astype(np.int64)))
        left[stuck] = False
        there = left[cell]
        cell, row = cell[there], row[there]


def network_cells(columns: sparse.csc_array, alive: Mask) -> Mask:
    """Return the cells of parts in which every cell stands between two relations, or one and the outside.

    Examples
    --------
    The first two relations share their cells; the last cell is in three.

    >>> rows = sparse.csc_array(np.array([[1, 1, 0, 0, 0], [-1, -1, 0, 0, 0], [0, 0, 1, 1, 0],
    ...                                   [0, 0, 1, 0, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]))
    >>> network_cells(rows, np.ones(5, dtype=bool)).astype(int).tolist()
    [1, 1, 0, 0, 0]
    """
    cells = np.flatnonzero(alive)
    part = sparse.csc_array(columns[:, cells])
    n_rows, n = part.shape
    count = np.diff(part.indptr)
    cell = np.repeat(np.arange(n), count)
    graph = sparse.csr_array((np.ones(part.nnz), (part.indices, n_rows + cell)), shape=2 * (n_rows + n,))
    label = csgraph.connected_components(graph, directed=False)[1]
    plain = (count > 0) & (count <= 2)
    plain[cell[np.abs(part.data) != 1]] = False
    fits = _good(label, label[n_rows:][~plain])
    # Relations are signed along the parts that are left; a part whose signs clash is no network either.
    two = np.flatnonzero(fits[label[n_rows:]] & (count == 2))
    one, other = part.indptr[two], part.indptr[two] + 1
    same = part.data[one] * part.data[other] > 0
    # Every relation is there twice, with either sign; a clash joins the two.
    a, b = part.indices[one], part.indices[other]
    ends = np.concatenate([a, a + n_rows]), np.concatenate([b + n_rows * same, b + n_rows * ~same])
    signed = sparse.csr_array((np.ones(2 * len(two)), ends), shape=(2 * n_rows, 2 * n_rows))
    sign = csgraph.connected_components(signed, directed=False)[1]
    clash = np.flatnonzero(sign[:n_rows] == sign[n_rows:])
    fits &= _good(label, label[clash])
    found = np.zeros(len(alive), dtype=bool)
    found[cells[fits[label[n_rows:]]]] = True
    return found


def _good(label: Integers, bad: Integers) -> Mask:
    good = np.ones(int(label.max(initial=-1)) + 1, dtype=bool)
    good[bad] = False
    return good
