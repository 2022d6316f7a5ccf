"""Records in an order that follows from their content, and sums in that order.

A sum of doubles depends on the order of its terms, and a database hands out records in any order. Sorted
by key, then amount, then weight, the same records give the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]

DIGIT = 11
BUCKETS = 1 << DIGIT


@compiled
def sort_pairs(key: Keys, load: Integers, bits: int) -> tuple[Keys, Integers]:
    """Sort keys below 2**bits, each with its load; stable. The arguments are used as scratch space."""
    n = len(key)
    other_key, other_load = np.empty_like(key), np.empty_like(load)
    places = np.empty(BUCKETS, dtype=np.int64)
    mask = np.uint64(BUCKETS - 1)
    for low in range(0, bits, DIGIT):
        shift = np.uint64(low)
        places[:] = 0
        for i in range(n):
            places[(key[i] >> shift) & mask] += 1
        start = 0
        for bucket in range(BUCKETS):
            size = places[bucket]
            places[bucket] = start
            start += size
        for i in range(n):
            bucket = (key[i] >> shift) & mask
            place = places[bucket]
            places[bucket] = place + 1
            other_key[place] = key[i]
            other_load[place] = load[i]
        key, other_key = other_key, key
        load, other_load = other_load, load
    return key, load


@compiled
def sort_runs(key: Keys, x: Floats, w: Floats) -> None:
    """Sort each run of equal keys by amount, then weight, in place: sums no longer depend on row order.

    Heap sort: no extra memory and no bad case, however long a run is.
    """
    n = len(key)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and key[stop] == key[start]:
            stop += 1
        if stop - start > 1:
            _heap_sort(x, w, start, stop)
        start = stop


@compiled
def _heap_sort(x: Floats, w: Floats, start: int, stop: int) -> None:
    size = stop - start
    for root in range(size // 2 - 1, -1, -1):
        _sift(x, w, start, root, size)
    for last in range(size - 1, 0, -1):
        x[start], x[start + last] = x[start + last], x[start]
        if len(w):
            w[start], w[start + last] = w[start + last], w[start]
        _sift(x, w, start, 0, last)


@compiled
def _sift(x: Floats, w: Floats, start: int, root: int, size: int) -> None:
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _before(x, w, start + child, start + child + 1):
            child += 1
        if not _before(x, w, start + root, start + child):
            return
        a, b = start + root, start + child
        x[a], x[b] = x[b], x[a]
        if len(w):
            w[a], w[b] = w[b], w[a]
        root = child


@compiled
def _before(x: Floats, w: Floats, a: int, b: int) -> bool:
    if x[a] != x[b]:
        return bool(x[a] < x[b])
    return bool(len(w) > 0 and w[a] < w[b])


@compiled
def leaf_counts(key: Keys, leaf_mask: int, counts: Integers) -> None:
    """Count the records of each leaf; the leaf stands in the low bits of the key."""
    mask = np.uint64(leaf_mask)
    for i in range(len(key)):
        counts[key[i] & mask] += 1


@compiled
def leaf_sums(key: Keys, leaf_mask: int, amount: Floats, sums: Floats) -> None:
    """Add amounts to their leaf: ``sums`` has a column for the sum and one for what rounding lost."""
    mask = np.uint64(leaf_mask)
    for i in range(len(key)):
        leaf = key[i] & mask
        old = sums[leaf, 0]
        new = old + amount[i]
        # Neumaier's compensated sum: the lost part is exact whichever of the two is larger.
        if abs(old) >= abs(amount[i]):
            sums[leaf, 1] += (old - new) + amount[i]
        else:
            sums[leaf, 1] += (amount[i] - new) + old
        sums[leaf, 0] = new
