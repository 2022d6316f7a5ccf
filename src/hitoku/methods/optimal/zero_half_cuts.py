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
    from hitoku.kernels.zero_half import combine  # noqa: PLC0415 - numba takes a second to load

    slack = (rows @ x - 1.0) * times
    usable = np.flatnonzero((times > 0) & (slack < 1 - 2 * LEAST_VIOLATION))
    part = np.flatnonzero((x > FRACTIONAL) & (x < 1 - FRACTIONAL))
    if not len(usable) or not len(part):
        return []
    chosen = sparse.csr_array(rows[usable])
    chosen.data = np.rint(chosen.data * np.repeat(times[usable], np.diff(chosen.indptr)))
    odd = (times[usable] - chosen @ (x >= 1 - FRACTIONAL)) % 2 != 0
    parity = chosen[:, part].toarray() % 2 != 0
    here, order = x[part], np.argsort(-np.minimum(x[part], 1 - x[part]), kind="stable")
    one = np.eye(len(usable), dtype=bool)
    found: dict[bytes, float] = {}
    for columns in (order, order[::-1].copy()):
        count, members, gain = combine(
            _packed(parity), _packed(one), odd.copy(), np.maximum(slack[usable], 0.0), here,
            columns.astype(np.int64), LEAST_VIOLATION, MOST_FOUND,
        )  # fmt: skip
        for k in range(count):
            found.setdefault(members[k].tobytes(), float(gain[k]))
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: 4 * MOST_KEPT]
    if not best:
        return []
    packed = np.frombuffer(b"".join(bits for bits, _ in best), dtype=np.uint8).reshape(len(best), -1)
    members = np.unpackbits(packed, axis=1, bitorder="little")[:, : len(usable)].astype(np.float64)
    # Columns that no row counts stay out of what is dense.
    used = np.unique(chosen.indices)
    found_rows = _halved(members @ chosen[:, used], members @ times[usable], x[used])
    return [(used[columns].astype(np.int64), c) for columns, c in found_rows]


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
