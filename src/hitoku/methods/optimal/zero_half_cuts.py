"""{0, 1/2} cuts: halves of sums of known cuts, rounded up (Caprara and Fischetti 1996).

They close most of the gap that capacity constraints leave on three-way and hierarchical tables.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.cuts import filled, violated
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
    if coefficients.min(initial=1.0) < 1 / FACTORS - WHOLE:
        return 0
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
    made = [_halved(*row, x) for row in zip(members @ chosen, members @ times[usable], strict=True)]
    rows_made = [row for row in made if row is not None]
    return sorted(rows_made, key=lambda row: -violated(row[1], x[row[0]]))[:MOST_KEPT]


def _packed(mask: Mask) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Bits of every row in words of 64, the first column lowest."""
    words = -(-mask.shape[1] // 64)
    padded = np.zeros((len(mask), words * 64), dtype=bool)
    padded[:, : mask.shape[1]] = mask
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _halved(total: Floats, right: float, x: Floats) -> tuple[Integers, Floats] | None:
    """Even a sum of rows out by the cheapest bounds, halve, and round up; None if not violated."""
    uneven = np.flatnonzero(total % 2 != 0)
    down = x[uneven] > 0.5
    if (right - down.sum()) % 2 == 0:
        if not len(uneven):
            return None
        turn = int(np.argmin(np.abs(1 - 2 * x[uneven])))
        down[turn] = not down[turn]
    total[uneven] += np.where(down, -1.0, 1.0)
    right = (right - down.sum() + 1) / 2
    if right < 1:
        return None
    cells = np.flatnonzero(total)
    coefficients = np.minimum(total[cells] / 2 / right, 1.0)
    if 1.0 - filled(coefficients, x[cells]) < LEAST_VIOLATION / right:
        return None
    return cells, coefficients
