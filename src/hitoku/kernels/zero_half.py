"""Separation of {0, 1/2} cuts: sums of rows whose halves, rounded up, cut off a fractional point.

Rows ``a @ x >= b`` are whole. A sum of some of them, brought to even coefficients by adding bounds of the
columns, and with an odd right-hand side, may be halved and the right-hand side rounded up. The point violates
the cut by half of one minus all slacks that were used. Sums are found by elimination modulo two. Only columns
at a fractional value have slack in their bounds, so only those are eliminated (Koster, Zymolka and Kutschka
2009 reduce the same way).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]
Mask = NDArray[np.bool_]

ONE = np.uint64(1)
WORD = 64


@compiled
def expense(bits: Bits, odd: bool, x: Floats) -> float:
    """Least slack of bounds that makes all columns even and the right-hand side odd."""
    # Adding x >= 0 costs x; adding -x >= -1 costs 1 - x and turns the right-hand side.
    cost, turned, least = 0.0, False, 2.0
    for word in range(len(bits)):
        left = bits[word]
        place = word * WORD
        while left != np.uint64(0):
            if left & ONE:
                low, high = x[place], 1.0 - x[place]
                if high < low:
                    cost += high
                    turned = not turned
                    least = min(least, low - high)
                else:
                    cost += low
                    least = min(least, high - low)
            left >>= ONE
            place += 1
    if odd == turned:
        cost += least
    return cost


@compiled
def combine(
    parity: Bits,
    members: Bits,
    odd: Mask,
    slack: Floats,
    x: Floats,
    order: Integers,
    least: float,
    most: int,
) -> tuple[int, Bits, Floats]:
    """Eliminate column after column; collect combinations of rows whose half is violated.

    Parameters
    ----------
    parity
        Rows by words: the columns in which a row is odd. Used up.
    members
        Rows by words: the given rows that each row is the sum of. Used up.
    odd, slack
        Parity of the right-hand sides, and slacks. Used up.
    x
        Values of the columns.
    order
        Columns in the order of elimination.
    least
        Smallest violation of interest.
    most
        Combinations wanted at most.

    Returns
    -------
    How many were found, their members, their violations.
    """
    n_rows = len(odd)
    found = np.empty((most, members.shape[1]), dtype=np.uint64)
    violation = np.empty(most)
    n_found = 0
    # Rows that were used to eliminate a column, or have too much slack, are done with.
    done, changed = np.zeros(n_rows, dtype=np.bool_), np.ones(n_rows, dtype=np.bool_)
    for step in range(len(order) + 1):
        for r in range(n_rows):
            if changed[r] and n_found < most:
                gain = 0.5 * (1.0 - slack[r] - expense(parity[r], odd[r], x))
                if gain > least:
                    found[n_found] = members[r]
                    violation[n_found] = gain
                    n_found += 1
            changed[r] = False
        if step == len(order) or n_found == most:
            break
        eliminate(parity, members, odd, slack, order[step], done, changed)
    return n_found, found[:n_found], violation[:n_found]


@compiled
def eliminate(
    parity: Bits, members: Bits, odd: Mask, slack: Floats, column: int, done: Mask, changed: Mask
) -> None:
    """Add the row of least slack that is odd in a column to the others that are."""
    word, shift = column // WORD, np.uint64(column % WORD)
    best = -1
    for r in range(len(odd)):
        if not done[r] and (parity[r, word] >> shift) & ONE and (best < 0 or slack[r] < slack[best]):
            best = r
    if best < 0:
        return
    done[best] = True
    for r in range(len(odd)):
        if not done[r] and (parity[r, word] >> shift) & ONE:
            slack[r] += slack[best]
            odd[r] = odd[r] != odd[best]
            parity[r] ^= parity[best]
            members[r] ^= members[best]
            done[r] = slack[r] >= 1.0
            changed[r] = not done[r]


@compiled
def add_up(members: Bits, ptr: Integers, index: Integers, data: Floats, out: Floats) -> None:
    """Add to each line of ``out`` the rows, CSR parts, that its members name."""
    for k in range(len(members)):
        for r in range(len(ptr) - 1):
            if (members[k, r // WORD] >> np.uint64(r % WORD)) & ONE:
                for e in range(ptr[r], ptr[r + 1]):
                    out[k, index[e]] += data[e]


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    bits, odd = np.zeros((1, 1), dtype=np.uint64), np.ones(1, dtype=np.bool_)
    combine(bits, bits.copy(), odd, np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64), 0.1, 1)
    add_up(bits, np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1), np.zeros((1, 1)))
