"""Benders cuts of the suppression problem: valid for every safe pattern, derived from dual multipliers.

For any multipliers ``y`` the distance that a pattern allows cell p is at most ``sum(c * x)``, where
``g = +-e_p + relations.T @ y`` and ``c = up * max(g, 0) + down * max(-g, 0)``. A pattern that reaches a level
therefore has ``sum(c * x) >= level``: a capacity constraint (Fischetti and Salazar). It is valid whatever
solver the multipliers came from. Star cuts are those of a single relation; {0, 1/2} cuts are halves of sums
of known cuts, rounded up (Caprara and Fischetti 1996), and close most of the gap that capacity constraints
leave on three-way and hierarchical tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from hitoku.kernels import GRID
from hitoku.methods.optimal.instance import Instance, Pushed, Row, Subproblems, levels_met, pushes_for
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.master import SparseRows

# A row whose right-hand side is a smaller share of the level than this is lost to rounding.
NOTHING = 1e-9
# Smaller coefficients are raised to this, which keeps a row valid and numerically stable.
LEAST_COEFFICIENT = 1e-6
# A right-hand side is not rounded up if its fraction is smaller than this: tiny errors would be magnified.
LEAST_FRACTION = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cuts ``coefficients @ x >= 1`` over the free cells, by their position in the instance.

    The first ``lively`` ones were used recently; None for all of them.
    """

    indptr: Integers
    cells: Integers
    coefficients: Floats
    lively: int | None = None

    @classmethod
    def of(cls, rows: list[Row], lively: int | None = None) -> Cuts:
        lengths = [len(cells) for cells, _ in rows]
        return cls(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([cells for cells, _ in rows] or [np.zeros(0, dtype=np.int64)]),
            np.concatenate([c for _, c in rows] or [np.zeros(0)]),
            lively,
        )

    @property
    def n_lively(self) -> int:
        return len(self) if self.lively is None else self.lively

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, k: int) -> tuple[Integers, Floats]:
        here = slice(self.indptr[k], self.indptr[k + 1])
        return self.cells[here], self.coefficients[here]


def capacity_separation(engine: Subproblems, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
    """Push all levels at a point; return capacity constraints of missed levels, and a mask of met levels."""
    instance = engine.instance
    pushed = engine.push(x, *pushes_for(instance, np.arange(len(instance.levels))), exact=exact)
    reached = levels_met(instance, pushed)
    return capacity_cuts(instance, pushed, ~reached), reached


def capacity_cuts(instance: Instance, pushed: Pushed, short: Mask) -> list[Row]:
    """Return one or two capacity constraints for every level in ``short``, with reduced coefficients."""
    rows: list[Row] = []
    for multipliers in (pushed.multipliers, pushed.others):
        if multipliers is not None:
            rows += _rows(instance, pushed, multipliers, short)
    return rows


def _rows(instance: Instance, pushed: Pushed, multipliers: SparseRows, short: Mask) -> list[Row]:
    from hitoku.kernels.capacity_cuts import capacity_rows  # noqa: PLC0415 - numba takes a second to load

    chosen = np.flatnonzero(short[pushed.level])
    if not len(chosen):
        return []
    # The two pushes of a width are independent, so their rows add up.
    chosen = chosen[np.argsort(pushed.level[chosen], kind="stable")]
    level, first = np.unique(pushed.level[chosen], return_index=True)
    relations, cells = instance.relations, instance.levels.cell[pushed.level[chosen]]
    whole = np.array_equal(relations.data, np.rint(relations.data))
    ptr, index, data = capacity_rows(
        tuple(multipliers.take(chosen)),
        (relations.indptr.astype(np.int64), relations.indices.astype(np.int64), relations.data.astype(float)),
        pushed.peeled, (cells, pushed.sense[chosen].astype(np.int64)), np.append(first, len(chosen)),
        float(pushed.grid), 0.0 if whole else NOTHING, np.array([instance.up, instance.down]),
        instance.levels.amount[level], instance.forced, (NOTHING, LEAST_COEFFICIENT),
    )  # fmt: skip
    return [(index[a:b].copy(), data[a:b].copy()) for a, b in pairwise(ptr.tolist())]


def strengthen(cells: Integers, c: Floats, x: Floats) -> tuple[Integers, Floats]:
    """Return the cut, or one implied by it that the fractional pattern ``x`` violates more.

    Knapsack covers: fix some cells at one and reduce the right-hand side and coefficients of the others.
    Rounding: divide by one of the coefficients and round up. Both hold for integral patterns only.
    """
    at = x[cells]
    best_cells, best, score = cells, c, cut_violation(c, at)
    order = np.argsort(-at, kind="stable")
    granted = order[(at[order] > 0.3) & (c[order] < 1 - 1e-9)][:12]
    left, mask = 1.0, np.ones(len(c), dtype=bool)
    for j in granted:
        left -= c[j]
        if left < 1e-4:
            break
        mask[j] = False
        row = np.minimum(c[mask] / left, 1.0)
        s = cut_violation(row, at[mask])
        if s > score + 1e-9:
            best_cells, best, score = cells[mask].copy(), row, s
    divisors = np.unique(best[(best < 1 - 1e-9) & (best > 0.05)])[::-1][:6]
    base_cells, base = best_cells, best
    base_at = x[base_cells]
    for divisor in divisors:
        # Mixed-integer rounding: coefficients share in what the right-hand side gains by rounding up.
        fraction = 1 / divisor - np.floor(1 / divisor)
        if fraction < LEAST_FRACTION:
            continue
        down = np.floor(base / divisor)
        row = down + np.minimum(1.0, (base / divisor - down) / fraction)
        row = np.minimum(row / np.ceil(1 / divisor), 1.0)
        s = cut_violation(row, base_at)
        if s > score + 1e-9:
            best_cells, best, score = base_cells, row, s
    return best_cells, np.maximum(best, LEAST_COEFFICIENT)


def cut_violation(c: Floats, at: Floats) -> float:
    """Return how far a point lies on the wrong side of ``c @ x >= 1``."""
    return (1.0 - dot_rows(c, at)) / float(np.sqrt(dot_rows(c, c))) if len(c) else np.inf


def dot_rows(c: Floats, at: Floats) -> float:
    """Return ``c @ at`` without a linear algebra library, whose threads are slow for rows this short."""
    return float((c * at).sum())


# Rows are scaled to integer coefficients by one of these factors, or not used.
FACTORS = 12
WHOLE = 1e-7
FRACTIONAL = 1e-5
LEAST_VIOLATION = 0.02
MAX_FOUND, MAX_KEPT = 400, 20


def factor(coefficients: Floats) -> int:
    """Return the smallest factor that makes a row ``coefficients @ x >= 1`` integral, or zero.

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
        Factor that makes each of them integral, zero for rows to be ignored.
    x
        Point to cut off.
    """
    # Numba takes a second to load.
    from hitoku.kernels.sparse_rows import across  # noqa: PLC0415
    from hitoku.kernels.zero_half import combine, halve_rows, parities  # noqa: PLC0415

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
            MAX_FOUND,
        )
        for k in range(count):
            found.setdefault(members[k].tobytes(), float(gain[k]))
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: 4 * MAX_KEPT]
    if not best:
        return []
    members = np.frombuffer(b"".join(some for some, _ in best), dtype=np.uint64).reshape(len(best), -1).copy()
    ptr, index, data, score = halve_rows(members, tuple(rows), times, usable, x, LEAST_VIOLATION)
    ends = [slice(ptr[k], ptr[k + 1]) for k in np.argsort(-score, kind="stable")[:MAX_KEPT]]
    return [(index[here].copy(), data[here].copy()) for here in ends]


def _words(n_bits: int) -> int:
    return -(-n_bits // 64)


def star_cuts(instance: Instance) -> Cuts:
    """Return the capacity constraint of every level and every relation of its cell."""
    columns = sparse.csc_array(instance.relations)
    level, sense = pushes_for(instance, np.arange(len(instance.levels)))
    cell = instance.levels.cell[level]
    count = np.diff(columns.indptr)[cell]
    everything = np.ones(len(instance.levels), dtype=bool)
    made: dict[tuple[bytes, bytes], tuple[Integers, Floats]] = {}
    for k in range(count.max(initial=0)):
        has = np.flatnonzero(count > k)
        at = columns.indptr[cell[has]] + k
        # The multiplier that cancels the cell itself; others are valid too, but weaker.
        y = np.rint(-sense[has] * GRID / columns.data[at]).astype(np.int64)
        multipliers = SparseRows(np.arange(len(has) + 1), columns.indices[at].astype(np.int64), y)
        pushed = Pushed(level[has], sense[has], np.zeros(len(has)), multipliers, None, GRID, None)
        for row in capacity_cuts(instance, pushed, everything):
            made.setdefault((row[0].tobytes(), row[1].tobytes()), row)
    return Cuts.of(list(made.values()))
