"""Enumerate all tables of counts that fit a two-way release: same margins, same published values.

Suppressed cells are filled row by row. The value of a cell is at least what the later cells of its row or
column cannot take, and at most what remains in both, so that few branches are dead ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@compiled
def ends(
    cells: Integers, columns: int, place: int, row_left: Integers, column_left: Integers
) -> tuple[int, int]:
    """Return the least and largest value of a suppressed cell, given those before it."""
    i, j = cells[place] // columns, cells[place] % columns
    rest_of_row, rest_of_column = 0, 0
    for later in range(place + 1, len(cells)):
        row, column = cells[later] // columns, cells[later] % columns
        if row == i:
            rest_of_row += column_left[column]
        elif column == j:
            rest_of_column += row_left[row]
    low = max(0, row_left[i] - rest_of_row, column_left[j] - rest_of_column)
    return low, min(row_left[i], column_left[j])


@compiled
def fill(columns: int, values: Integers, withheld: Mask, limit: int, found: Integers) -> int:
    """Write tables into ``found`` until it is full, and count them up to ``limit``."""
    cells = np.flatnonzero(withheld)
    m, rows = len(cells), len(values) // columns
    x = values.copy()
    row_left, column_left = np.zeros(rows, dtype=np.int64), np.zeros(columns, dtype=np.int64)
    for k in cells:
        row_left[k // columns] += values[k]
        column_left[k % columns] += values[k]
    last = np.zeros(m, dtype=np.int64)
    n, place, deeper = 0, 0, True
    while place >= 0:
        if place == m:
            if row_left.sum() == 0 and column_left.sum() == 0:
                if n < len(found):
                    found[n] = x
                n += 1
                if n >= limit:
                    return n
            place, deeper = place - 1, False
            continue
        k = cells[place]
        if deeper:
            low, last[place] = ends(cells, columns, place, row_left, column_left)
            x[k] = low
        else:
            low = x[k] + 1
            row_left[k // columns] += x[k]
            column_left[k % columns] += x[k]
            x[k] = low
        if low > last[place]:
            place, deeper = place - 1, False
            continue
        row_left[k // columns] -= low
        column_left[k % columns] -= low
        place, deeper = place + 1, True
    return n


def count(columns: int, values: Integers, withheld: Mask, limit: int) -> int:
    """Count the tables that fit, up to ``limit``.

    Examples
    --------
    Ten tables fit the suppressed corner of Table 1 in the paper on the matching attack.

    >>> corner = np.array([14, 9, 9, 0])
    >>> count(2, corner, np.ones(4, dtype=bool), limit=100)
    10
    """
    return int(fill(columns, values, withheld, limit, np.empty((0, len(values)), dtype=np.int64)))


def list_tables(columns: int, values: Integers, withheld: Mask, limit: int) -> Integers:
    """Return the first ``limit`` tables that fit, tables by inner cells, in lexicographic order.

    Parameters
    ----------
    columns
        Cell ``i * columns + j`` stands in row i and column j.
    values
        Inner cells of one table that fits; their sums are the margins.
    withheld
        Cells that may differ from it.
    limit
        Maximum number of tables. One more than needed shows whether there are more.

    Examples
    --------
    >>> list_tables(2, np.array([1, 2, 0, 1]), np.ones(4, dtype=bool), limit=100)
    array([[0, 3, 1, 0],
           [1, 2, 0, 1]])
    """
    found = np.empty((count(columns, values, withheld, limit), len(values)), dtype=np.int64)
    fill(columns, values, withheld, limit, found)
    return found


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    list_tables(2, np.ones(4, dtype=np.int64), np.ones(4, dtype=np.bool_), 10)
