"""{0, 1/2} cuts: halves of sums of known cuts, rounded up (Caprara and Fischetti 1996).

They close most of the gap that capacity constraints leave on three-way and hierarchical tables.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Floats, Integers, Mask

# Rows are scaled to whole coefficients by one of these factors, or not used.
FACTORS = 12
WHOLE = 1e-7
FRACTIONAL = 1e-5
LEAST_VIOLATION = 0.02
MOST_FOUND, MOST_KEPT = 400, 20


def factor(coefficients: Floats) -> int:
    """Return the smallest factor that makes a row ``coefficients @ x >= 1`` whole; zero if there is none.

    Examples
    --------
    >>> factor(np.array([1.0, 0.5, 1 / 3]))
    6
    """
    least = coefficients.min(initial=1.0)
    if least < 1 / FACTORS - WHOLE:
        return 0
    if least > 1 - WHOLE:
        return 1
    for times in range(1, FACTORS + 1):
        scaled = coefficients * times
        if np.all(np.abs(scaled - np.rint(scaled)) < WHOLE):
            return times
    return 0


def zero_half_cuts(rows: sparse.csr_array, times: Integers, x: Floats) -> list[tuple[Integers, Floats]]:
    """Return violated rows ``coefficients @ x >= 1`` from rows of the same form.

    Parameters
    ----------
    rows
        All rows.
    times
        The factor that makes each of them whole, zero for rows to be left out.
    x
        The point to cut off.
    """
    from hitoku.kernels.zero_half import add_up, combine  # noqa: PLC0415 - numba takes a second to load

    slack = (rows @ x - 1.0) * times
    usable = (times > 0) & (slack < 1 - 2 * LEAST_VIOLATION)
    part = np.flatnonzero((x > FRACTIONAL) & (x < 1 - FRACTIONAL))
    if not usable.any() or not len(part):
        return []
    # By hand: a library's matrices take longer to make than to use.
    lengths, slack, times = np.diff(rows.indptr), slack[usable], times[usable]
    there = np.repeat(usable, lengths)
    each = np.repeat(np.arange(len(times)), lengths[usable])
    columns, data = rows.indices[there], np.rint(rows.data[there] * times[each])
    full = np.bincount(each, weights=np.where(x[columns] >= 1 - FRACTIONAL, data, 0.0), minlength=len(times))
    odd = (times - full) % 2 != 0
    place = np.full(len(x), -1)
    place[part] = np.arange(len(part))
    uneven = (place[columns] >= 0) & (data % 2 != 0)
    parity = np.zeros((len(times), len(part)), dtype=bool)
    parity[each[uneven], place[columns[uneven]]] = True
    here, order = x[part], np.argsort(-np.minimum(x[part], 1 - x[part]), kind="stable")
    bits, one = _packed(parity), _packed(np.eye(len(times), dtype=bool))
    found: dict[bytes, float] = {}
    for first_to_last in (order, order[::-1]):
        count, members, gain = combine(
            bits.copy(), one.copy(), odd.copy(), np.maximum(slack, 0.0), here,
            first_to_last.astype(np.int64), LEAST_VIOLATION, MOST_FOUND,
        )  # fmt: skip
        for k in range(count):
            found.setdefault(members[k].tobytes(), float(gain[k]))
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: 4 * MOST_KEPT]
    if not best:
        return []
    members = np.frombuffer(b"".join(some for some, _ in best), dtype=np.uint64).reshape(len(best), -1).copy()
    # Columns that no row counts stay out of what is dense.
    used, at = np.unique(columns, return_inverse=True)
    ptr = np.concatenate([[0], np.cumsum(lengths[usable])])
    total, right = np.zeros((len(best), len(used))), np.zeros((len(best), 1))
    add_up(members, ptr, at, data, total)
    add_up(members, np.arange(len(times) + 1), np.zeros_like(times), times.astype(np.float64), right)
    found_rows = _halved(total, right[:, 0], x[used])
    return [(used[inside].astype(np.int64), c) for inside, c in found_rows]


def _packed(mask: Mask) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Bits of every row in words of 64, the first column lowest."""
    words = -(-mask.shape[1] // 64)
    padded = np.zeros((len(mask), words * 64), dtype=bool)
    padded[:, : mask.shape[1]] = mask
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _halved(total: Floats, right: Floats, x: Floats) -> list[tuple[Integers, Floats]]:
    """Even sums of rows out by the cheapest bounds, halve, and round up; return the best that x violates."""
    uneven = total % 2 != 0
    down = uneven & (x > 0.5)
    even = (right - down.sum(axis=1)) % 2 == 0
    # One bound more must turn: the one that costs least; without any, the half says nothing.
    turn = np.where(uneven, np.abs(1 - 2 * x), np.inf).argmin(axis=1)
    rows = np.flatnonzero(even & uneven.any(axis=1))
    down[rows, turn[rows]] ^= True
    total += np.where(uneven, np.where(down, -1.0, 1.0), 0.0)
    right = (right - down.sum(axis=1) + 1) / 2
    sound = np.flatnonzero((right >= 1) & ~(even & ~uneven.any(axis=1)))
    coefficients = np.minimum(total[sound] / 2 / right[sound, None], 1.0)
    short = 1.0 - (coefficients * x).sum(axis=1)
    norm = np.sqrt((coefficients * coefficients).sum(axis=1))
    score = np.divide(short, norm, out=np.full(len(norm), np.inf), where=norm > 0)
    violated = np.flatnonzero(short >= LEAST_VIOLATION / right[sound])
    best = violated[np.argsort(-score[violated], kind="stable")][:MOST_KEPT]
    cells = [np.flatnonzero(coefficients[k]) for k in best]
    return [(here, coefficients[k, here]) for k, here in zip(best, cells, strict=True)]
