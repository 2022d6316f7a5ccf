"""Reduction of a sparse column by columns in echelon form, modulo a prime."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.basis import less, pop, push
from hitoku.kernels.compiled import compiled
from hitoku.kernels.residues import multiply

Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]

_61 = np.uint64(61)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NONE = np.int64(0)


@compiled
def reduce_column(
    rows: Integers, values: Residues, leading: Integers, stored: Any, space: Any, everywhere: bool, c: Any
) -> Any:
    """Eliminate stored columns from a column, up to its leading row or everywhere.

    Parameters
    ----------
    rows, values
        Column to reduce.
    leading
        Stored column led by each row, -1 if there is none. Leading entries are one.
    stored
        Start of each stored column, and rows and values of all.
    space
        Scratch space, left clean: values by row, marks by row, and a heap for all rows.
    everywhere
        Continue after the first row that no stored column leads.
    c
        Choice of prime.

    Returns
    -------
    Remaining rows and values; ascending with ``everywhere``, otherwise the leading row first.
    """
    start = stored[0]
    work, mark, heap = space
    size = _NONE
    for k in range(len(rows)):
        work[rows[k]] = values[k]
        mark[rows[k]] = True
        size = push(heap, size, rows[k])
    out = np.empty(len(work) if everywhere else 0, dtype=np.int64)
    n = _NONE
    while size > 0:
        row = heap[0]
        factor, pivot = work[row], leading[row]
        if factor != _ZERO and pivot < 0:
            if not everywhere:
                break
            out[n] = row
            n += 1
        size = pop(heap, size)
        mark[row] = False
        if pivot >= 0:
            size = _without(row, factor, start[pivot], start[pivot + 1], stored, space, size, c)
    if everywhere:
        return _gather(out[:n], space)
    # The heap holds the leading row first, then all other remaining rows, including zeros.
    return _gather(heap[:size].copy(), space)


@compiled
def _without(row: int, factor: Any, first: int, last: int, stored: Any, space: Any, size: int, c: Any) -> Any:
    """Subtract a multiple of the stored column that the row leads; return the size of the heap."""
    prime = (_ONE << _61) - c
    _, all_rows, all_values = stored
    work, mark, heap = space
    work[row] = _ZERO
    if factor == _ZERO:
        return size
    for k in range(first, last):
        other = all_rows[k]
        if other == row:
            continue
        work[other] = less(work[other], multiply(factor, all_values[k], c), prime)
        if not mark[other]:
            mark[other] = True
            size = push(heap, size, other)
    return size


@compiled
def _gather(rows: Integers, space: Any) -> Any:
    """Collect the nonzero values of some rows, and clear them."""
    work, mark, _ = space
    left_rows = np.empty(len(rows), dtype=np.int64)
    left_values = np.empty(len(rows), dtype=np.uint64)
    n = _NONE
    for row in rows:
        mark[row] = False
        if work[row] != _ZERO:
            left_rows[n] = row
            left_values[n] = work[row]
            work[row] = _ZERO
            n += 1
    return left_rows[:n], left_values[:n]


@compiled
def subtract_multiple(
    rows: Integers,
    values: Residues,
    other: Integers,
    other_values: Residues,
    factor: Any,
    work: Residues,
    c: Any,
) -> Any:
    """Subtract a multiple of one column from another; ``work`` is left clean."""
    prime = (_ONE << _61) - c
    for k in range(len(rows)):
        work[rows[k]] = values[k]
    n = len(rows) + len(other)
    out = np.empty(n, dtype=np.int64)
    for k in range(len(rows)):
        out[k] = rows[k]
    for k in range(len(other)):
        work[other[k]] = less(work[other[k]], multiply(factor, other_values[k], c), prime)
        out[len(rows) + k] = other[k]
    left_rows = np.empty(n, dtype=np.int64)
    left_values = np.empty(n, dtype=np.uint64)
    n_left = _NONE
    for k in range(n):
        if work[out[k]] != _ZERO:  # a row in both columns is listed twice; it is cleared the first time
            left_rows[n_left] = out[k]
            left_values[n_left] = work[out[k]]
            work[out[k]] = _ZERO
            n_left += 1
    return left_rows[:n_left], left_values[:n_left]
