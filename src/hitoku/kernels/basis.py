"""A basis of sparse columns that grows one column at a time, modulo a prime.

Columns are CSC arrays with residues modulo ``2**61 - c``. Basis column j has a pivot row; ``lower`` holds its
reduced entries without the pivot, which is one, and ``upper`` how it was reduced. Both are stored by columns
and linked by rows: (start of each column; row, next entry in the row, and column of each entry; entries; head
of each row). A basis is (pivot row of each basis column and basis column of each row, lower, upper, inverse
pivots); the scratch space is (values by row, marks by row, a heap, basis columns found, their coefficients,
remaining rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled
from hitoku.kernels.residues import _mix, inverse, multiply

Integers = NDArray[np.int64]
Residues = NDArray[np.uint64]
Mask = NDArray[np.bool_]

_61 = np.uint64(61)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Numba would compile a count that starts at a literal 0 twice: for that literal, and for other integers.
_NONE = np.int64(0)


@compiled
def less(a: Any, b: Any, prime: Any) -> Any:
    """Return the difference of two residues."""
    return a - b if a >= b else a + prime - b


@compiled
def more(a: Any, b: Any, prime: Any) -> Any:
    """Return the sum of two residues."""
    return a + b - prime if a + b >= prime else a + b


@compiled
def push(heap: Integers, size: int, item: int) -> int:
    """Push a number onto a min-heap; return the new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= item:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = item
    return size + 1


@compiled
def pop(heap: Integers, size: int) -> int:
    """Pop the smallest number: it is moved behind the heap; return the new size."""
    smallest, item = heap[0], heap[size - 1]
    size -= 1
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= item:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = item
    heap[size] = smallest
    return size


@compiled
def longer(array: Any, length: int) -> Any:
    """Copy an array into a longer one."""
    grown = np.empty(length, dtype=array.dtype)
    for i in range(len(array)):
        grown[i] = array[i]
    return grown


@compiled
def append_column(
    store: Any, j: int, indices: Integers, values: Residues, n: int, factor: Any, c: Any
) -> Any:
    """Append column j, link its entries into their rows, and return the store, enlarged if it was full."""
    ptr, keys, entries, head = store
    filled = ptr[j]
    if filled + n > len(entries):
        wanted = 2 * (filled + n)
        wider = np.empty((3, wanted), dtype=np.int64)
        for part in range(3):
            for k in range(filled):
                wider[part, k] = keys[part, k]
        keys, entries = wider, longer(entries, wanted)
    for k in range(n):
        row = indices[k]
        keys[0, filled] = row
        keys[1, filled] = head[row]
        keys[2, filled] = j
        head[row] = filled
        entries[filled] = multiply(values[k], factor, c)
        filled += 1
    ptr[j + 1] = filled
    return ptr, keys, entries, head


@compiled
def reduce_column(element: int, columns: Any, rows: Any, lower: Any, space: Any, c: Any) -> Any:
    """Reduce a column by the basis.

    Returns the number of basis columns that took part (``found``, ascending, with ``coefs``) and the number
    of remaining rows without a pivot (``rest``, with their values in ``work``, which the caller clears).
    """
    prime = (_ONE << _61) - c
    indptr, indices, data = columns
    pivot_of, basis_at = rows
    ptr, keys, entries, _ = lower
    work, mark, heap, found, coefs, rest = space
    size, n_rest, n_found = _NONE, _NONE, _NONE
    for k in range(indptr[element], indptr[element + 1]):
        row = indices[k]
        work[row] = data[k]
        mark[row] = True
        if basis_at[row] >= 0:
            size = push(heap, size, basis_at[row])
        else:
            rest[n_rest] = row
            n_rest += 1
    while size > 0:
        size = pop(heap, size)
        j = heap[size]
        row = pivot_of[j]
        factor = work[row]
        work[row] = _ZERO
        mark[row] = False
        if factor == _ZERO:
            continue
        found[n_found] = j
        coefs[n_found] = factor
        n_found += 1
        for k in range(ptr[j], ptr[j + 1]):
            row = keys[0, k]
            work[row] = less(work[row], multiply(factor, entries[k], c), prime)
            if not mark[row]:
                mark[row] = True
                if basis_at[row] >= 0:
                    size = push(heap, size, basis_at[row])
                else:
                    rest[n_rest] = row
                    n_rest += 1
    left = 0
    for k in range(n_rest):
        row = rest[k]
        mark[row] = False
        if work[row] != _ZERO:
            rest[left] = row
            left += 1
    return n_found, left


@compiled
def express_column(n_found: int, upper: Any, inverses: Residues, sums: Any, space: Any, c: Any) -> Any:
    """Turn a reduced dependent column into its combination of basis columns, in ``found``, descending."""
    prime = (_ONE << _61) - c
    ptr, keys, entries, _ = upper
    _, _, heap, found, coefs, _ = space
    total, mark = sums
    size, n = _NONE, _NONE
    for k in range(n_found):
        total[found[k]] = coefs[k]
        mark[found[k]] = True
        size = push(heap, size, -found[k])
    while size > 0:
        size = pop(heap, size)
        j = -heap[size]
        mark[j] = False
        value = total[j]
        total[j] = _ZERO
        if value == _ZERO:
            continue
        value = multiply(value, inverses[j], c)
        found[n] = j
        coefs[n] = value
        n += 1
        for k in range(ptr[j], ptr[j + 1]):
            i = keys[0, k]
            total[i] = less(total[i], multiply(value, entries[k], c), prime)
            if not mark[i]:
                mark[i] = True
                size = push(heap, size, -i)
    return n


@compiled
def propagate_changes(
    vectors: Residues,
    size: int,
    pivot_of: Integers,
    lower: Any,
    changes: Residues,
    mark: Mask,
    space: Any,
    c: Any,
) -> None:
    """Update two vectors times L after changes at the basis columns in the heap (as minus j)."""
    prime = (_ONE << _61) - c
    _, keys, entries, head = lower
    heap = space[2]
    while size > 0:
        size = pop(heap, size)
        j = -heap[size]
        mark[j] = False
        one, two = changes[j, 0], changes[j, 1]
        if one == _ZERO and two == _ZERO:
            continue
        changes[j, 0] = _ZERO
        changes[j, 1] = _ZERO
        row = pivot_of[j]
        vectors[row, 0] = more(vectors[row, 0], one, prime)
        vectors[row, 1] = more(vectors[row, 1], two, prime)
        k = head[row]
        while k >= 0:
            i = keys[2, k]
            if one != _ZERO:
                changes[i, 0] = less(changes[i, 0], multiply(one, entries[k], c), prime)
            if two != _ZERO:
                changes[i, 1] = less(changes[i, 1], multiply(two, entries[k], c), prime)
            if not mark[i]:
                mark[i] = True
                size = push(heap, size, -i)
            k = keys[1, k]


@compiled
def update_products(
    size: int,
    weights: Residues,
    upper: Any,
    inverses: Residues,
    sums: Any,
    changes: Residues,
    space: Any,
    c: Any,
) -> Any:
    """Update ``weights @ U`` after changes in the heap, and queue the changes of the second vector."""
    prime = (_ONE << _61) - c
    _, keys, entries, head = upper
    _, _, heap, found, coefs, _ = space
    total, mark = sums
    n = _NONE
    while size > 0:
        size = pop(heap, size)
        j = heap[size]
        mark[j] = False
        change = multiply(total[j], inverses[j], c)
        total[j] = _ZERO
        if change == _ZERO:
            continue
        weights[j, 0] = more(weights[j, 0], change, prime)
        found[n] = j
        coefs[n] = change
        n += 1
        k = head[j]
        while k >= 0:
            i = keys[2, k]
            total[i] = less(total[i], multiply(change, entries[k], c), prime)
            if not mark[i]:
                mark[i] = True
                size = push(heap, size, i)
            k = keys[1, k]
    for k in range(n):
        changes[found[k], 1] = coefs[k]
        mark[found[k]] = True
        size = push(heap, size, -found[k])
    return size


@compiled
def pivot(n_rest: int, rest: Integers, crowd: Integers, spread: Integers) -> int:
    """Choose the row with fewest entries in L, then in the relations; return its index in ``rest``."""
    best = 0
    for k in range(1, n_rest):
        row, leader = rest[k], rest[best]
        if crowd[row] < crowd[leader] or (crowd[row] == crowd[leader] and spread[row] < spread[leader]):
            best = k
    return best


@compiled
def extend_basis(j: int, n_found: int, n_rest: int, basis: Any, counts: Any, space: Any, c: Any) -> Any:
    """Append the column that was just reduced to the basis, as number j."""
    rows, lower, upper, inverses = basis
    pivot_of, basis_at = rows
    crowd, spread = counts
    work, _, _, found, coefs, rest = space
    upper = append_column(upper, j, found, coefs, n_found, _ONE, c)
    best = pivot(n_rest, rest, crowd, spread)
    row = rest[best]
    rest[best] = rest[n_rest - 1]
    inverses[j] = inverse(work[row], c)
    work[row] = _ZERO
    for k in range(n_rest - 1):
        coefs[k] = work[rest[k]]
        work[rest[k]] = _ZERO
        crowd[rest[k]] += 1
    lower = append_column(lower, j, rest, coefs, n_rest - 1, inverses[j], c)
    pivot_of[j] = row
    basis_at[row] = j
    return rows, lower, upper, inverses


@compiled
def dot(element: int, columns: Any, vectors: Residues, which: int, c: Any) -> Any:
    """Return the product of a column and one of the vectors over the rows."""
    prime = (_ONE << _61) - c
    indptr, indices, data = columns
    total = _ZERO
    for k in range(indptr[element], indptr[element + 1]):
        value = vectors[indices[k], which]
        if value != _ZERO:
            total = more(total, multiply(data[k], value, c), prime)
    return total


@compiled
def subtract_column(store: Any, j: int, vectors: Residues, which: int, start: Any, c: Any) -> Any:
    """Return ``start`` minus the product of a stored column and one of the vectors."""
    prime = (_ONE << _61) - c
    ptr, keys, entries, _ = store
    for k in range(ptr[j], ptr[j + 1]):
        value = vectors[keys[0, k], which]
        if value != _ZERO:
            start = less(start, multiply(entries[k], value, c), prime)
    return start


@compiled
def solve_with_basis(n: int, basis: Any, vector: Residues, c: Any) -> Residues:
    """Express a vector in the span of the basis by the basis; the vector is overwritten."""
    prime = (_ONE << _61) - c
    (pivot_of, _), (l_ptr, l_keys, l_entries, _), (u_ptr, u_keys, u_entries, _), inverses = basis
    out = np.zeros(n, dtype=np.uint64)
    for j in range(n):
        factor = vector[pivot_of[j]]
        out[j] = factor
        if factor != _ZERO:
            for k in range(l_ptr[j], l_ptr[j + 1]):
                row = l_keys[0, k]
                vector[row] = less(vector[row], multiply(factor, l_entries[k], c), prime)
    for j in range(n - 1, -1, -1):
        if out[j] != _ZERO:
            out[j] = multiply(out[j], inverses[j], c)
            for k in range(u_ptr[j], u_ptr[j + 1]):
                i = u_keys[0, k]
                out[i] = less(out[i], multiply(out[j], u_entries[k], c), prime)
    return out


def empty_basis(n_rows: int, limit: int, n_entries: int) -> Any:
    """Return an empty basis for at most ``limit`` columns, and scratch space."""
    rows = (np.empty(limit, dtype=np.int64), np.full(n_rows, -1, dtype=np.int64))
    lower = (
        np.zeros(limit + 1, dtype=np.int64),
        np.empty((3, n_entries), dtype=np.int64),
        np.empty(n_entries, dtype=np.uint64),
        np.full(n_rows, -1, dtype=np.int64),
    )
    upper = (
        np.zeros(limit + 1, dtype=np.int64),
        np.empty((3, n_entries), dtype=np.int64),
        np.empty(n_entries, dtype=np.uint64),
        np.full(limit, -1, dtype=np.int64),
    )
    space = (
        np.zeros(n_rows, dtype=np.uint64),
        np.zeros(n_rows, dtype=np.bool_),
        np.empty(n_rows + 1, dtype=np.int64),
        np.empty(n_rows + 1, dtype=np.int64),
        np.empty(n_rows + 1, dtype=np.uint64),
        np.empty(n_rows + 1, dtype=np.int64),
    )
    return (rows, lower, upper, np.zeros(limit, dtype=np.uint64)), space


@compiled
def fixed_basis(
    columns: Any, spread: Integers, fixed: Integers, basis: Any, space: Any, c: Any, seed: Any
) -> Any:
    """Build a basis of the columns that are always hidden.

    Returns its size, the basis, the number of every element in the basis (-1: not in it), the number of
    entries of L in each row, and whether each basis column takes part in a dependency.
    """
    prime = (_ONE << _61) - c
    indptr, indices, data = columns
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    crowd = np.zeros(len(spread), dtype=np.int64)
    pool = np.zeros(len(spread), dtype=np.uint64)
    n = _NONE
    for place in range(len(fixed)):
        element = fixed[place]
        n_found, n_rest = reduce_column(element, columns, basis[0], basis[1], space, c)
        if n_rest > 0:
            basis = extend_basis(n, n_found, n_rest, basis, (crowd, spread), space, c)
            number[element] = n
            n += 1
        else:
            weight = _mix(np.uint64(element + 1) ^ (seed << np.uint64(32))) % prime
            for k in range(indptr[element], indptr[element + 1]):
                pool[indices[k]] = more(pool[indices[k]], multiply(weight, data[k], c), prime)
    return n, basis, number, crowd, solve_with_basis(n, basis, pool, c)
