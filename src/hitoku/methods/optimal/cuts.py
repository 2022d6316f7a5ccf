"""Benders cuts of the suppression problem: valid for every safe pattern, derived from dual multipliers.

For any multipliers ``y`` the distance that a pattern allows cell p is at most ``sum(c * x)``, where
``g = +-e_p + relations.T @ y`` and ``c = up * max(g, 0) + down * max(-g, 0)``. A pattern that reaches a level
therefore has ``sum(c * x) >= level``: a capacity constraint (Fischetti and Salazar). It is valid whatever
solver the multipliers came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.pushes import Pushed, Row, Subproblems, levels_met, pushes_for
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.covering import SparseRows

# A row whose right-hand side is a smaller share of the level than this says nothing: rounding ate it.
NOTHING = 1e-9
# Coefficients this small are raised to it, which keeps a row valid and its numbers sound.
LEAST = 1e-6
# Rounding a right-hand side up by more than one minus this is left alone: tiny errors would be magnified.
LEAST_FRACTION = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cuts ``coefficients @ x >= 1`` over the free cells, by their position in the instance.

    The first ``lively`` ones were of use lately; None for all of them.
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
    """Push all levels at a point; return capacity constraints of unreached levels, and which are reached."""
    instance = engine.instance
    pushed = engine.push(x, *pushes_for(instance, np.arange(len(instance.levels))), exact=exact)
    reached = levels_met(instance, pushed)
    return capacity_cuts(instance, pushed, ~reached), reached


def capacity_cuts(instance: Instance, pushed: Pushed, short: Mask) -> list[Row]:
    """Return one or two capacity constraints for every level in ``short``, coefficients cut down."""
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
        instance.levels.amount[level], instance.forced, (NOTHING, LEAST),
    )  # fmt: skip
    return [(index[a:b].copy(), data[a:b].copy()) for a, b in pairwise(ptr.tolist())]


def strengthen(cells: Integers, c: Floats, x: Floats) -> tuple[Integers, Floats]:
    """Return the cut, or one implied by it that the fractional pattern ``x`` violates more.

    Knapsack covers: grant some cells and ask the others for the rest, again cut down to it. Rounding: divide
    by one of the coefficients and round up. Both hold for whole patterns only, which is the point.
    """
    at = x[cells]
    best_cells, best, score = cells, c, violated(c, at)
    order = np.argsort(-at, kind="stable")
    granted = order[(at[order] > 0.3) & (c[order] < 1 - 1e-9)][:12]
    left, mask = 1.0, np.ones(len(c), dtype=bool)
    for j in granted:
        left -= c[j]
        if left < 1e-4:
            break
        mask[j] = False
        row = np.minimum(c[mask] / left, 1.0)
        s = violated(row, at[mask])
        if s > score + 1e-9:
            best_cells, best, score = cells[mask].copy(), row, s
    divisors = np.unique(best[(best < 1 - 1e-9) & (best > 0.05)])[::-1][:6]
    base_cells, base = best_cells, best
    base_at = x[base_cells]
    for divisor in divisors:
        # Mixed-integer rounding: what the right-hand side gains by rounding up, coefficients share in.
        fraction = 1 / divisor - np.floor(1 / divisor)
        if fraction < LEAST_FRACTION:
            continue
        down = np.floor(base / divisor)
        row = down + np.minimum(1.0, (base / divisor - down) / fraction)
        row = np.minimum(row / np.ceil(1 / divisor), 1.0)
        s = violated(row, base_at)
        if s > score + 1e-9:
            best_cells, best, score = base_cells, row, s
    return best_cells, np.maximum(best, LEAST)


def violated(c: Floats, at: Floats) -> float:
    """Return how far a point lies on the wrong side of ``c @ x >= 1``."""
    return (1.0 - filled(c, at)) / float(np.sqrt(filled(c, c))) if len(c) else np.inf


def filled(c: Floats, at: Floats) -> float:
    """Return ``c @ at``; a library for linear algebra would wake its threads for rows this short."""
    return float((c * at).sum())
