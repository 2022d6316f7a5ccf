"""Sort and count records by contributor and leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Keys = NDArray[np.uint64]
Integers = NDArray[np.int64]

# Bits of a digit of the radix sort.
DIGIT = 11
BUCKETS = 1 << DIGIT


@compiled
def sort_pairs(key: Keys, load: Integers, bits: int) -> tuple[Keys, Integers]:
    """Radix sort of keys below 2**bits with their loads; stable. The arguments are overwritten."""
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
def leaf_counts(key: Keys, leaf_mask: int, counts: Integers) -> None:
    """Count the records of each leaf, which is in the low bits of the key."""
    mask = np.uint64(leaf_mask)
    for i in range(len(key)):
        counts[key[i] & mask] += 1
