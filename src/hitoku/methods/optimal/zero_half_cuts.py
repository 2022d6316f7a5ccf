"""{0, 1/2} cuts: halves of sums of known cuts, rounded up (Caprara and Fischetti 1996).

They close most of the gap that capacity constraints leave on three-way and hierarchical tables.
"""

from __future__ import annotations

import numpy as np

from hitoku.model import Floats, Integers
from hitoku.solver.covering import SparseRows

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


def zero_half_cuts(rows: SparseRows, times: Integers, x: Floats) -> list[tuple[Integers, Floats]]:
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
    # Numba takes a second to load.
    from hitoku.kernels.sparse_rows import across  # noqa: PLC0415
    from hitoku.kernels.zero_half import combine, halved, parities  # noqa: PLC0415

    slack = (across(*rows, x) - 1.0) * times
    usable = np.flatnonzero((times > 0) & (slack < 1 - 2 * LEAST_VIOLATION))
    part = np.flatnonzero((x > FRACTIONAL) & (x < 1 - FRACTIONAL))
    if not len(usable) or not len(part):
        return []
    place = np.where(x < 0.5, -1, -2)
    place[part] = np.arange(len(part))
    bits, odd = np.zeros((len(usable), _words(len(part))), dtype=np.uint64), np.zeros(len(usable), dtype=bool)
    parities(tuple(rows), times, usable, place, bits, odd)
    each = np.arange(len(usable))
    one = np.zeros((len(usable), _words(len(usable))), dtype=np.uint64)
    one[each, each // 64] = np.uint64(1) << (each % 64).astype(np.uint64)
    here, slack = x[part], np.maximum(slack[usable], 0.0)
    order = np.argsort(-np.minimum(here, 1 - here), kind="stable")
    found: dict[bytes, float] = {}
    for first_to_last in (order, np.ascontiguousarray(order[::-1])):
        count, members, gain = combine(
            bits.copy(),
            one.copy(),
            odd.copy(),
            slack.copy(),
            here,
            first_to_last,
            LEAST_VIOLATION,
            MOST_FOUND,
        )
        for k in range(count):
            found.setdefault(members[k].tobytes(), float(gain[k]))
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: 4 * MOST_KEPT]
    if not best:
        return []
    members = np.frombuffer(b"".join(some for some, _ in best), dtype=np.uint64).reshape(len(best), -1).copy()
    ptr, index, data, score = halved(members, tuple(rows), times, usable, x, LEAST_VIOLATION)
    ends = [slice(ptr[k], ptr[k + 1]) for k in np.argsort(-score, kind="stable")[:MOST_KEPT]]
    return [(index[here].copy(), data[here].copy()) for here in ends]


def _words(n_bits: int) -> int:
    return -(-n_bits // 64)
