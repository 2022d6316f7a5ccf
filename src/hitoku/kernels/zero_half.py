"""Separation of {0, 1/2} cuts: sums of rows whose halves, rounded up, cut off a fractional point.

Rows ``a @ x >= b`` are integer. A sum of some of them, with coefficients made even by adding bounds of the
columns, and with an odd right-hand side, may be halved and the right-hand side rounded up. The point violates
the cut by half of one minus all slacks that were used. Sums are found by elimination modulo two. Only columns
with a fractional value have slack in their bounds, so only those are eliminated (Koster, Zymolka and Kutschka
2009 reduce in the same way).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]
Mask = NDArray[np.bool_]

ONE, ZERO = np.uint64(1), np.uint64(0)
WORD = 8 * ONE.itemsize
# Powers of two are distinct modulo 67: position of each bit by that remainder.
MODULUS = np.uint64(67)
STANDS = np.zeros(67, dtype=np.int64)
for _bit in range(WORD):
    STANDS[(1 << _bit) % 67] = _bit


@compiled
def parities(rows: Any, times: Integers, usable: Integers, place: Integers, parity: Bits, odd: Mask) -> None:
    """Write the odd coefficients and right-hand sides of usable rows, scaled to integers.

    ``place`` numbers the columns with a fractional value; it is -1 for columns at zero and -2 for columns at
    one, whose terms are subtracted from the right-hand side.
    """
    ptr, index, data = rows
    for r in range(len(usable)):
        k = usable[r]
        left = times[k]
        for e in range(ptr[k], ptr[k + 1]):
            at = place[index[e]]
            if at == -1:
                continue
            whole = np.int64(np.rint(data[e] * times[k]))
            if at == -2:
                left -= whole
            elif whole % 2 != 0:
                parity[r, at // WORD] |= ONE << np.uint64(at % WORD)
        odd[r] = left % 2 != 0


@compiled
def expense(bits: Bits, odd: bool, x: Floats, most: float) -> float:
    """Return the least slack of bounds that makes all columns even and the right-hand side odd.

    Returns two if it exceeds ``most``.
    """
    # Adding x >= 0 costs x; adding -x >= -1 costs 1 - x and changes the parity of the right-hand side.
    cost, turned, least = 0.0, False, 2.0
    for word in range(len(bits)):
        left = bits[word]
        while left != ZERO:
            low_bit = left & (~left + ONE)
            left ^= low_bit
            place = word * WORD + STANDS[low_bit % MODULUS]
            low, high = x[place], 1.0 - x[place]
            if high < low:
                cost += high
                turned = not turned
                least = min(least, low - high)
            else:
                cost += low
                least = min(least, high - low)
            if cost > most:
                return 2.0
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
    """Eliminate columns one after the other; collect combinations of rows whose half is violated.

    Parameters
    ----------
    parity
        Rows by words: the columns in which a row is odd. Overwritten.
    members
        Rows by words: the given rows of which each row is the sum. Overwritten.
    odd, slack
        Parity of the right-hand sides, and slacks. Overwritten.
    x
        Values of the columns.
    order
        Columns in the order of elimination.
    least
        Smallest violation of interest.
    most
        Maximum number of combinations.

    Returns
    -------
    Number of combinations, their members, and their violations.
    """
    n_rows = len(odd)
    found = np.empty((most, members.shape[1]), dtype=np.uint64)
    violation = np.empty(most)
    n_found = 0
    # Rows that were used to eliminate a column, or have too much slack, are done.
    done, changed = np.zeros(n_rows, dtype=np.bool_), np.ones(n_rows, dtype=np.bool_)
    for step in range(len(order) + 1):
        for r in range(n_rows):
            if changed[r] and n_found < most:
                left = 1.0 - slack[r]
                gain = 0.5 * (left - expense(parity[r], odd[r], x, left - 2 * least))
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
    """Add the row of least slack that is odd in a column to the other rows that are odd in it."""
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
            for w in range(parity.shape[1]):
                parity[r, w] ^= parity[best, w]
            for w in range(members.shape[1]):
                members[r, w] ^= members[best, w]
            done[r] = slack[r] >= 1.0
            changed[r] = not done[r]


@compiled
def add_up(some: Bits, rows: Any, times: Integers, usable: Integers, total: Floats, touched: Integers) -> Any:
    """Add up the integer rows of a combination; return the number of its columns and its right-hand side.

    ``total`` holds zeros at first and gets the sums, ``touched`` the columns in order.
    """
    ptr, index, data = rows
    n, right = 0, 0
    for r in range(len(usable)):
        if not (some[r // WORD] >> np.uint64(r % WORD)) & ONE:
            continue
        k = usable[r]
        right += times[k]
        for e in range(ptr[k], ptr[k + 1]):
            if total[index[e]] == 0.0:
                touched[n] = index[e]
                n += 1
            total[index[e]] += np.rint(data[e] * times[k])
    # Sorting pays as long as few columns are touched.
    if len(total) > 16 * n:
        touched[:n] = np.sort(touched[:n])
        return n, right
    n = 0
    for j in range(len(total)):
        if total[j] != 0.0:
            touched[n] = j
            n += 1
    return n, right


@compiled
def made_even(total: Floats, columns: Integers, right: int, x: Floats) -> int:
    """Add the cheapest bounds that make a sum of rows even; return its halved right-hand side, or 0."""
    n_uneven, n_down, turn, least = 0, 0, -1, 2.0
    for j in columns:
        if total[j] % 2 != 0:
            n_uneven += 1
            n_down += x[j] > 0.5
            if abs(1 - 2 * x[j]) < least:
                turn, least = j, abs(1 - 2 * x[j])
    even = (right - n_down) % 2 == 0
    if even and n_uneven == 0:
        return 0
    for j in columns:
        if total[j] % 2 != 0:
            down = x[j] > 0.5
            # The cheapest bound is exchanged for the opposite one, so that rounding up gains something.
            if even and j == turn:
                down = not down
                n_down += 1 if down else -1
            total[j] += -1.0 if down else 1.0
    return (right - n_down + 1) // 2


@compiled
def halve_rows(members: Bits, rows: Any, times: Integers, usable: Integers, x: Floats, least: float) -> Any:
    """Halve combinations of rows and round up; return violated cuts as CSR arrays, and their scores.

    Parameters
    ----------
    members
        Usable rows of each combination, by words.
    rows, times, usable
        CSR arrays of rows ``data @ x >= 1``, factors that make them integer, and the rows to use.
    least
        Smallest violation of interest, before division by the right-hand side.
    """
    total, touched = np.zeros(len(x)), np.empty(len(x), dtype=np.int64)
    ptr, score = np.zeros(len(members) + 1, dtype=np.int64), np.empty(len(members))
    capacity = 1024
    index, data = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    n_found = 0
    for k in range(len(members)):
        n, right = add_up(members[k], rows, times, usable, total, touched)
        half = made_even(total, touched[:n], right, x)
        end, inner, norm = ptr[n_found], 0.0, 0.0
        if end + n > capacity:
            capacity = 2 * (end + n)
            more_index, more_data = np.empty(capacity, dtype=np.int64), np.empty(capacity)
            more_index[:end], more_data[:end] = index[:end], data[:end]
            index, data = more_index, more_data
        for j in touched[:n]:
            if half >= 1 and total[j] != 0.0:
                c = min(total[j] / 2 / half, 1.0)
                index[end], data[end] = j, c
                inner += c * x[j]
                norm += c * c
                end += 1
            total[j] = 0.0
        if half >= 1 and 1.0 - inner >= least / half:
            score[n_found] = (1.0 - inner) / np.sqrt(norm) if norm > 0 else np.inf
            n_found += 1
            ptr[n_found] = end
    return ptr[: n_found + 1], index, data, score[:n_found]


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    bits, odd, none = np.zeros((1, 1), dtype=np.uint64), np.ones(1, dtype=np.bool_), np.zeros(1, np.int64)
    rows = np.array([0, 1]), none, np.ones(1)
    parities(rows, none + 1, none, none, bits.copy(), odd)
    combine(bits, bits.copy(), odd, np.zeros(1), np.zeros(1), none, 0.1, 1)
    halve_rows(bits, rows, none + 1, none, np.zeros(1), 0.1)
