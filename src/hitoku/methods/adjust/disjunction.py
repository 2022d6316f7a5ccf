"""Disjunction of up and down for every unsafe cell: formulation (3) of Castro (2012), without big M.

A cell that must fall by ``d`` or rise by ``u`` has the deviation ``u*y - d*(1-y) + over - under`` with ``y``
0 or 1, where ``over`` is zero unless ``y`` is 1, and ``under`` is zero unless ``y`` is 0. In this form a
relaxation pays the lower of the two costs for any ``y``. The limits of ``over`` and ``under`` follow from the
cell's bounds and from the best known table: moving further would cost more than that table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.methods.adjust.senses import DOWN, UP, AllowedDeviations
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.closest import Norm
from hitoku.solver.integer import IntegerProgram
from hitoku.solver.quadratic import QuadraticProgram


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Columns, in relative units: safe cells (rises, then falls), ``y``, over, under.

    Rows: the table's relations, then the rows that couple over and under to ``y``.
    ----------
    relations, rhs, row_upper
        Rows: the table's relations, then what ties over and under to ``y``.
    cost, curvature, constant
        Distance of the columns, and of the minimum deviations that are paid in any case.
    lower, upper
        Bounds of the columns.
    cells
        Unsafe cells, in the order of ``y``.
    choice
        Mask of the columns ``y``.
    """

    relations: Any
    rhs: Floats
    row_upper: Floats
    cost: Floats
    curvature: Floats
    constant: float
    lower: Floats
    upper: Floats
    cells: Integers
    choice: Mask

    @classmethod
    def of(
        cls, relations: Any, levels: AllowedDeviations, weight: Floats, norm: Norm, best: float
    ) -> Disjunction:
        """Build the disjunction; ``best`` is the cost of a known table."""
        unit = 1 / weight if norm == "l1" else 1 / np.sqrt(weight)
        cells, safe = np.flatnonzero(levels.unsafe), np.flatnonzero(~levels.unsafe)
        up, down, w = levels.up[cells], levels.down[cells], weight[cells]
        reach = _reach(levels, weight, norm, best)
        high, low = np.minimum(levels.upper, reach), np.maximum(levels.lower, -reach)
        over, under = np.maximum(high[cells] - up, 0.0), np.maximum(-low[cells] - down, 0.0)
        own = sparse.csr_array(relations[:, cells])
        rises = safe[high[safe] > 0]
        falls = safe[low[safe] < 0]
        k, unit_own = len(cells), unit[cells]
        blocks = [
            relations[:, rises] * unit[rises],
            relations[:, falls] * -unit[falls],
            own * (up + down),
            own * unit_own,
            own * -unit_own,
        ]
        before = sparse.csr_array((k, len(rises) + len(falls)))
        one, none = sparse.eye_array(k, format="csr"), sparse.csr_array((k, k))
        rows = sparse.vstack(
            [
                sparse.hstack(blocks),
                sparse.hstack([before, -sparse.diags_array(over / unit_own), one, none]),
                sparse.hstack([before, sparse.diags_array(under / unit_own), none, one]),
            ],
            format="csr",
        )
        fallen = own @ down
        size = len(rises) + len(falls)
        safe_cost = np.ones(size) if norm == "l1" else np.zeros(size)
        if norm == "l1":
            paid, further = w * (up - down), np.ones(2 * k)
            constant, curvature = float(w @ down), np.zeros(size + 3 * k)
        else:
            paid, further = w * (up**2 - down**2), 2 * np.sqrt(np.tile(w, 2)) * np.concatenate([up, down])
            constant = float(w @ down**2)
            curvature = np.concatenate([np.ones(size), np.zeros(k), np.ones(2 * k)])
        return cls(
            relations=rows,
            rhs=np.concatenate([fallen, np.full(2 * k, -np.inf)]),
            row_upper=np.concatenate([fallen, np.zeros(k), under / unit_own]),
            cost=np.concatenate([safe_cost, paid, further]),
            curvature=curvature,
            constant=constant,
            lower=np.concatenate(
                [np.zeros(size), np.where(levels.can(DOWN)[cells], 0.0, 1.0), np.zeros(2 * k)]
            ),
            upper=np.concatenate(
                [
                    high[rises] / unit[rises],
                    -low[falls] / unit[falls],
                    np.where(levels.can(UP)[cells], 1.0, 0.0),
                    over / unit_own,
                    under / unit_own,
                ]
            ),
            cells=cells,
            choice=np.repeat([False, True, False], [size, k, 2 * k]),
        )

    @classmethod
    def of_largest(
        cls, relations: Any, levels: AllowedDeviations, weight: Floats, best: float
    ) -> Disjunction:
        """Build the disjunction for L∞: every cell, ``y``, and the largest deviation, which alone has a cost.

        No cell moves further than in the best known table, so this distance replaces big M.
        """
        unit, n = 1 / weight, len(weight)
        cells = np.flatnonzero(levels.unsafe)
        k, reach = len(cells), best * (1 + 1e-9) * unit
        low, high = np.maximum(levels.lower, -reach) / unit, np.minimum(levels.upper, reach) / unit
        up, down = levels.up[cells] / unit[cells], levels.down[cells] / unit[cells]
        one, own = sparse.eye_array(n, format="csr"), sparse.eye_array(n, format="csr")[cells]
        largest = sparse.csr_array(np.ones((n, 1)))
        rows = sparse.block_array(
            [
                [relations * unit, None, None],
                # At least its level if y is 1, at least its lower end otherwise; vice versa for downwards.
                [own, -sparse.diags_array(up - low[cells]), None],
                [own, -sparse.diags_array(high[cells] + down), None],
                [one, None, largest],
                [one, None, -largest],
            ],
            format="csr",
        )
        zero, nothing = np.zeros(relations.shape[0]), np.zeros(n)
        return cls(
            relations=rows,
            rhs=np.concatenate([zero, low[cells], np.full(k, -np.inf), nothing, np.full(n, -np.inf)]),
            row_upper=np.concatenate([zero, np.full(k, np.inf), -down, np.full(n, np.inf), nothing]),
            cost=np.concatenate([np.zeros(n + k), [1.0]]),
            curvature=np.zeros(n + k + 1),
            constant=0.0,
            lower=np.concatenate([low, np.where(levels.can(DOWN)[cells], 0.0, 1.0), [0.0]]),
            upper=np.concatenate([high, np.where(levels.can(UP)[cells], 1.0, 0.0), [np.inf]]),
            cells=cells,
            choice=np.repeat([False, True, False], [n, k, 1]),
        )

    def relaxed(self, fixed: Floats) -> QuadraticProgram:
        """Relax every ``y`` that is not fixed; ``fixed`` holds 0, 1, or NaN for a free one."""
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[self.choice] = np.where(np.isnan(fixed), lower[self.choice], fixed)
        upper[self.choice] = np.where(np.isnan(fixed), upper[self.choice], fixed)
        return QuadraticProgram(
            self.cost, self.relations, self.rhs, lower, upper, self.row_upper, self.curvature
        )

    def integer(self) -> IntegerProgram:
        """Return the integer program in ``y``."""
        return IntegerProgram(
            self.cost,
            self.relations,
            self.rhs,
            self.lower,
            self.upper,
            self.row_upper,
            self.choice,
        )

    def senses(self, y: Floats, n_cells: int) -> Floats:
        """Return the directions of rounded choices."""
        sense = np.zeros(n_cells)
        sense[self.cells] = np.where(y > 0.5, float(UP), float(DOWN))
        return sense


def _reach(levels: AllowedDeviations, weight: Floats, norm: Norm, best: float) -> Floats:
    """Return the largest movement of each cell in a table no more expensive than the best known."""
    power = 1 if norm == "l1" else 2
    either = np.where(levels.can(DOWN) & levels.can(UP), np.minimum(levels.up, levels.down), np.inf)
    least = np.where(levels.can(UP), np.minimum(either, levels.up), np.minimum(either, levels.down))
    forced = np.where(levels.unsafe, weight * least**power, 0.0)
    left = np.maximum(best - forced.sum() + forced, 0.0) * (1 + 1e-9) / weight
    return np.asarray(left if norm == "l1" else np.sqrt(left))
