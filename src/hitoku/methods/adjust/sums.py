"""Which cells of a table follow from which others, by whole coefficients.

Inner cells and their sums are not enough: where two hierarchies share a total, inner cells are tied as well,
and so they are where a sum is kept. Some of them then follow from the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model import Floats, Integers, Mask

# Beyond this many numbers the ties among inner cells are not worked out.
MOST_TIES = 40_000_000
# Coefficients stay far below this, or rounding errors add up to more than they are worth.
MOST_FOLD = 1000


@dataclass(frozen=True, slots=True)
class Sums:
    """How to fill a table from some of its cells.

    Parameters
    ----------
    free
        Cells that may be chosen.
    tied, ties
        Inner cells that follow from chosen ones, and the matrix that gives them.
    rounds
        For each round a matrix that gives some sums from cells known before, and those sums.
    """

    free: Mask
    tied: Integers
    ties: Any
    rounds: tuple[tuple[Any, Integers], ...]

    @classmethod
    def of(cls, relations: Any, kept: Mask) -> Sums | None:
        """Read them from the relations.

        None where a relation is not "parts minus sum", sums run in circles, or inner cells are tied by more
        than whole coefficients.

        Parameters
        ----------
        relations
            The relations.
        kept
            Cells that do not move.
        """
        rounds = _rounds(relations)
        if rounds is None:
            return None
        n = relations.shape[1]
        inner = np.ones(n, dtype=bool)
        for _, cells in rounds:
            inner[cells] = False
        leaves = np.flatnonzero(inner & ~kept)
        chosen = sparse.csr_array((np.ones(len(leaves)), (leaves, np.arange(len(leaves)))), (n, len(leaves)))
        filled = _filled(chosen, rounds)
        tied = sparse.csr_array(sparse.vstack([relations @ filled, filled[np.flatnonzero(kept & ~inner)]]))
        tied.eliminate_zeros()
        tied = tied[np.flatnonzero(np.diff(tied.indptr))]
        if tied.shape[0] * tied.shape[1] > MOST_TIES:
            return None
        solved = _solved(np.unique(tied.toarray().astype(np.int32), axis=0))
        if solved is None:
            return None
        pivots, ties = solved
        free = inner & ~kept
        free[leaves[pivots]] = False
        matrix = sparse.csr_array((len(pivots), n))
        if len(pivots):
            coefficients = sparse.coo_array(ties)
            rows, columns = coefficients.coords
            matrix = sparse.csr_array((coefficients.data, (rows, leaves[columns])), (len(pivots), n))
        return cls(free, leaves[pivots], matrix, rounds)

    def add_up(self, steps: Floats) -> Floats:
        """Take what may be chosen, and fill the rest."""
        added = np.where(self.free, steps, 0.0)
        added[self.tied] = self.ties @ added
        for matrix, cells in self.rounds:
            added[cells] = matrix @ added
        return added


def _rounds(relations: Any) -> tuple[tuple[Any, Integers], ...] | None:
    """Order the sums so that each follows from cells known before."""
    n_rows, n = relations.shape
    row_of = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    negative = relations.data < 0
    one_sum = np.all(np.bincount(row_of[negative], minlength=n_rows) == 1)
    if not one_sum or not np.all(np.abs(relations.data) == 1):
        return None
    total = np.empty(n_rows, dtype=np.int64)
    total[row_of[negative]] = relations.indices[negative]
    known = np.ones(n, dtype=bool)
    known[total] = False
    parts = sparse.csr_array(
        (np.where(negative, 0.0, relations.data), relations.indices, relations.indptr), relations.shape
    )
    rounds = []
    while not known.all():
        ready = (parts @ (~known).astype(np.float64) == 0) & ~known[total]
        cells, rows = np.unique(total[ready], return_index=True)
        if len(cells) == 0:
            return None
        rounds.append((sparse.csr_array(parts[np.flatnonzero(ready)[rows]]), cells))
        known[cells] = True
    return tuple(rounds)


def _filled(chosen: Any, rounds: tuple[tuple[Any, Integers], ...]) -> Any:
    """Express every cell by the chosen ones."""
    filled = chosen
    n = chosen.shape[0]
    for matrix, cells in rounds:
        place = sparse.csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), (n, len(cells)))
        filled = sparse.csr_array(filled + place @ (matrix @ filled))
    return filled


def _solved(rows: Any) -> tuple[Integers, Any] | None:
    """Solve whole equations for some columns, by elimination with plus and minus one; None where none fits.

    Examples
    --------
    >>> pivots, ties = _solved(np.array([[1, 1, -1, 0], [0, 1, 1, -1]]))
    >>> pivots, ties.tolist()
    (array([0, 3]), [[0, -1, 1, 0], [0, 1, 1, 0]])
    """
    filled = rows != 0
    in_row, in_column = filled.sum(axis=1), filled.sum(axis=0)
    open_rows = in_row > 0
    order: list[int] = []
    pivots: list[int] = []
    while open_rows.any():
        row = int(np.argmin(np.where(open_rows, in_row, rows.shape[1] + 1)))
        ones = np.flatnonzero(np.abs(rows[row]) == 1)
        if len(ones) == 0:
            return None
        # Of the columns that can be solved for, one that few other equations need.
        column = int(ones[np.argmin(in_column[ones])])
        rows[row] *= rows[row, column]
        others = np.flatnonzero(rows[:, column])
        others = others[others != row]
        before = rows[others] != 0
        rows[others] -= rows[others, column][:, None] * rows[row]
        after = rows[others] != 0
        if np.abs(rows[others]).max(initial=0) > MOST_FOLD:
            return None
        in_row[others] = after.sum(axis=1)
        in_column += after.sum(axis=0) - before.sum(axis=0)
        open_rows[others] &= in_row[others] > 0
        open_rows[row] = False
        order.append(row)
        pivots.append(column)
    ties = -rows[order]
    ties[np.arange(len(pivots)), pivots] = 0
    return np.array(pivots, dtype=np.int64), ties
