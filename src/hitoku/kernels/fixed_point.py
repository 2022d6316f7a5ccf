"""Sums that do not depend on the order of their terms: fixed-point numbers in two words.

A sum of doubles depends on the order of its terms. Therefore every number is multiplied by a power of two,
``fine``, truncated to an integer, and added to an integer of two words, ``high * 2**62 + low`` with
``low >= 0``. Integers can be added in any order and grouping; at the end the sum is rounded to a double once.
Sums must be smaller than 2**122 in absolute value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Words = NDArray[np.int64]

BITS = 62
LOW = (1 << BITS) - 1
HALF_BITS = BITS // 2
HALF = (1 << HALF_BITS) - 1
WIDE = 2.0**BITS


@compiled
def plus(high: Any, low: Any, t: float) -> tuple[Any, Any]:
    """Add a number, truncated to an integer."""
    size = abs(t)
    upper = np.int64(0)
    if size >= WIDE:
        upper = np.int64(size * (1.0 / WIDE))
        size -= upper * WIDE
    lower = np.int64(size)
    if t < 0:
        low -= lower
        high -= upper
    else:
        low += lower
        high += upper
    return high + (low >> BITS), low & LOW


@compiled
def plus_square(high: Any, low: Any, a: float) -> tuple[Any, Any]:
    """Add the square of an integer below 2**53, exactly."""
    size = np.int64(abs(a))
    first, second = size >> HALF_BITS, size & HALF
    low += second * second
    high += low >> BITS
    low &= LOW
    if first:
        mixed = 2 * first * second
        high += first * first + (mixed >> HALF_BITS)
        low += (mixed & HALF) << HALF_BITS
        high += low >> BITS
        low &= LOW
    return high, low


@compiled
def round_to_double(high: Any, low: Any) -> float:
    """Return the double nearest to an integer of two words; ties to even."""
    negative = high < 0
    if negative:
        low = -low
        high = (low >> BITS) - high
        low &= LOW
    if high == 0:
        size = float(low)
    else:
        # The first 62 bits, the last of which is set if any bit follows: then the hardware rounds correctly.
        shift = max(BITS - math.frexp(float(high))[1], 0)
        rest = BITS - shift
        first = (high << shift) | (low >> rest)
        if low & ((1 << rest) - 1):
            first |= 1
        size = float(first) * 2.0**rest
    return -size if negative else size


@compiled
def leaf_sums(key: Keys, leaf_mask: int, amount: Floats, fine: float, words: Words) -> None:
    """Add amounts to the sum of their leaf, which is in the low bits of the key."""
    mask = np.uint64(leaf_mask)
    for i in range(len(key)):
        leaf = key[i] & mask
        words[leaf, 0], words[leaf, 1] = plus(words[leaf, 0], words[leaf, 1], amount[i] * fine)


@compiled
def from_limbs(limbs: Words) -> Words:
    """Combine integers given in parts of 31 bits, the highest first; a part may be any integer."""
    words = np.zeros((len(limbs), 2), dtype=np.int64)
    for i in range(len(limbs)):
        high, low = np.int64(0), np.int64(0)
        for limb in range(limbs.shape[1]):
            # Shift by 31 bits: the upper half of the low word moves to the high word.
            high = (high << HALF_BITS) + (low >> HALF_BITS)
            low = (low & HALF) << HALF_BITS
            part = limbs[i, limb]
            high += part >> BITS
            low += part & LOW
            high += low >> BITS
            low &= LOW
        words[i, 0], words[i, 1] = high, low
    return words


@compiled
def add_axis(
    source: Words, indptr: Words, indices: Words, target: Words, before: int, n_leaves: int, after: int
) -> None:
    """Add the leaves of one variable to its codes; rows run over (before, leaf or code, after)."""
    n_codes = len(indptr) - 1
    for b in range(before):
        for code in range(n_codes):
            for entry in range(indptr[code], indptr[code + 1]):
                here = (b * n_leaves + indices[entry]) * after
                there = (b * n_codes + code) * after
                for a in range(after):
                    low = target[there + a, 1] + source[here + a, 1]
                    target[there + a, 0] += source[here + a, 0] + (low >> BITS)
                    target[there + a, 1] = low & LOW


@compiled
def round_all(words: Words, fine: float) -> Floats:
    """Return every sum as the nearest double."""
    found = np.empty(len(words))
    for i in range(len(words)):
        found[i] = round_to_double(words[i, 0], words[i, 1]) / fine
    return found
