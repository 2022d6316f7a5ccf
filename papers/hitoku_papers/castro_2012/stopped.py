"""A primal-dual interior point method for squares that stops early, and stays where it is.

The paper's L2 problems were solved by the interior point method of CPLEX, which ends inside the feasible set:
near a point of the central path, where slack times multiplier is the same small number for all bounds.
hitoku's own solver goes on to the optimum; this one does not, to see what stopping does to an attack.
Mehrotra's predictor and corrector in relative deviations; the central path is the same in every unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from hitoku.solver.closest import DeviationProgram

Floats = NDArray[np.float64]

MAX_ITERATIONS = 80
# Rows and bounds are kept to this, as a share of the largest lower bound; only the gap is left open.
RESIDUAL = 1e-8
# Relations of a table depend on each other: a trace on the diagonal keeps the factors regular.
REGULAR = 1e-13
# A step ends a little before the nearest bound.
STEP = 0.9995


@dataclass(frozen=True, slots=True, eq=False)
class _Iterate:
    """A point, multipliers of the rows, and slack and multiplier of every bound; ones where there is none."""

    x: Floats
    row: Floats
    slack: tuple[Floats, Floats]
    multiplier: tuple[Floats, Floats]

    def moved(self, step: _Iterate, length: float) -> _Iterate:
        slack, multiplier = (
            tuple(now + length * change for now, change in zip(mine, its, strict=True))
            for mine, its in ((self.slack, step.slack), (self.multiplier, step.multiplier))
        )
        return _Iterate(
            self.x + length * step.x,
            self.row + length * step.row,
            (slack[0], slack[1]),
            (multiplier[0], multiplier[1]),
        )


class _Path:
    """Minimise ``x @ x`` under rows and bounds; ``has`` marks the bounds that are finite."""

    def __init__(self, relations: sparse.csr_array, rhs: Floats, low: Floats, high: Floats) -> None:
        self.rows, self.rhs, self.ends = relations, rhs, (low, high)
        self.columns = sparse.csr_array(relations.T)
        self.has = (np.isfinite(low), np.isfinite(high))
        self.n_bounds = int(self.has[0].sum() + self.has[1].sum())
        self.size = 1.0 + float(np.abs(low[self.has[0]]).max(initial=0.0))

    def start(self) -> _Iterate:
        low, high = self.ends
        x = np.clip(np.zeros(len(low)), low, high)
        ones = np.ones(len(low))
        slack = tuple(
            np.where(has, np.maximum(room, 1.0), 1.0)
            for has, room in zip(self.has, self._room(x), strict=True)
        )
        multiplier = tuple(np.where(has, ones, 0.0) for has in self.has)
        return _Iterate(x, np.zeros(len(self.rhs)), (slack[0], slack[1]), (multiplier[0], multiplier[1]))

    def _room(self, x: Floats) -> tuple[Floats, Floats]:
        return x - self.ends[0], self.ends[1] - x

    def gap(self, at: _Iterate) -> float:
        """Sum over all bounds of slack times multiplier."""
        return float(
            sum((s * m)[has].sum() for s, m, has in zip(at.slack, at.multiplier, self.has, strict=True))
        )

    def residuals(self, at: _Iterate) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
        """Return what is missing in rows, in the gradient, and between slacks and bounds."""
        gradient = 2 * at.x - self.columns @ at.row - at.multiplier[0] + at.multiplier[1]
        room = self._room(at.x)
        apart = tuple(np.where(has, r - s, 0.0) for has, r, s in zip(self.has, room, at.slack, strict=True))
        return self.rhs - self.rows @ at.x, gradient, (apart[0], apart[1])

    def stepper(self, at: _Iterate) -> _Stepper:
        return _Stepper(self, at)

    def longest(self, at: _Iterate, step: _Iterate) -> float:
        """Return how far a step may go before a slack or a multiplier is used up."""
        length = 1.0
        for now, change, has in zip(
            (*at.slack, *at.multiplier), (*step.slack, *step.multiplier), self.has * 2, strict=True
        ):
            down = has & (change < 0)
            length = min(length, float((-now[down] / change[down]).min(initial=1.0)))
        return length


class _Stepper:
    """Newton steps from one point: one factorisation of the normal equations for all of them."""

    def __init__(self, path: _Path, at: _Iterate) -> None:
        self.path, self.at = path, at
        self.missing, self.gradient, self.apart = path.residuals(at)
        curved = 2.0 + sum(
            np.where(has, m / s, 0.0) for has, m, s in zip(path.has, at.multiplier, at.slack, strict=True)
        )
        self.inverse = 1.0 / curved
        normal = sparse.csc_array((path.rows * self.inverse) @ path.columns)
        trace = normal.diagonal()
        normal = sparse.csc_array(normal + sparse.diags_array(REGULAR * trace))
        self.factors = splu(
            normal, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def towards(self, products: tuple[Floats, Floats]) -> _Iterate:
        """Step so that slack times multiplier becomes what it is, plus these products, to first order."""
        path, at = self.path, self.at
        pulls = tuple(
            np.where(has, (p - m * r) / s, 0.0)
            for has, p, m, r, s in zip(path.has, products, at.multiplier, self.apart, at.slack, strict=True)
        )
        wanted = pulls[0] - pulls[1] - self.gradient
        row = self.factors.solve(self.missing - path.rows @ (self.inverse * wanted))
        x = self.inverse * (wanted + path.columns @ row)
        for _ in range(2):  # iterative refinement, for the trace on the diagonal
            more = self.factors.solve(self.missing - path.rows @ x)
            row, x = row + more, x + self.inverse * (path.columns @ more)
        slack = tuple(
            np.where(has, sign * x + r, 0.0)
            for has, sign, r in zip(path.has, (1.0, -1.0), self.apart, strict=True)
        )
        multiplier = tuple(
            np.where(has, (p - m * change) / s, 0.0)
            for has, p, m, change, s in zip(path.has, products, at.multiplier, slack, at.slack, strict=True)
        )
        return _Iterate(x, row, (slack[0], slack[1]), (multiplier[0], multiplier[1]))


def stopped(problem: DeviationProgram, gap: float) -> Floats | None:
    """Return the point of the central path at a relative gap; None when the method does not get there.

    Parameters
    ----------
    problem
        Squares of deviations; soft bounds are not looked at.
    gap
        Slack times multiplier, summed over all bounds, as a share of one plus the objective: what CPLEX
        compares with its tolerance of 1e-8.

    Examples
    --------
    One part of a total must rise by 1; the smaller the gap, the nearer the point to that.

    >>> problem = DeviationProgram(relations=[[1, 1, -1]], weight=[1, 1, 1], lower=[1, -9, -9], upper=9)
    >>> [round(float(stopped(problem, gap)[0]), 2) for gap in (1e-1, 1e-4, 1e-8)]
    [1.01, 1.0, 1.0]
    """
    fixed = problem.lower == problem.upper
    still, moving = np.where(fixed, problem.lower, 0.0), np.flatnonzero(~fixed)
    unit = 1.0 / np.sqrt(problem.weight[moving])
    relations = sparse.csr_array(problem.relations[:, moving] * unit)
    rhs = problem.rhs - problem.relations @ still
    used = np.flatnonzero(np.diff(relations.indptr))
    path = _Path(
        sparse.csr_array(relations[used]),
        rhs[used],
        problem.lower[moving] / unit,
        problem.upper[moving] / unit,
    )
    at = path.start()
    for _ in range(MAX_ITERATIONS):
        objective = 1.0 + float(at.x @ at.x)
        target, now = gap * objective / path.n_bounds, path.gap(at) / path.n_bounds
        missing, gradient, apart = path.residuals(at)
        off = max(float(np.abs(part).max(initial=0.0)) for part in (missing, *apart)) / path.size
        slope = float(np.abs(gradient).max(initial=0.0))
        if now <= 1.2 * target and off <= RESIDUAL and slope <= max(RESIDUAL, 1e-3 * gap):
            still[moving] = at.x * unit
            return still
        stepper = path.stepper(at)
        whole = _products(path, at, 0.0)
        predicted = stepper.towards(whole)
        ahead = at.moved(predicted, path.longest(at, predicted))
        aim = max((path.gap(ahead) / path.n_bounds / now) ** 3 * now, target)
        # Away from the target the corrector takes the bend of the path into account, near it only centres.
        bend = None if aim <= 1.01 * target else predicted
        step = stepper.towards(_products(path, at, aim, bend))
        at = at.moved(step, STEP * path.longest(at, step))
    return None


def _products(path: _Path, at: _Iterate, aim: float, bend: _Iterate | None = None) -> tuple[Floats, Floats]:
    """Return by how much slack times multiplier shall change, at lower and at upper bounds."""
    found = []
    for side, has in enumerate(path.has):
        change = aim - at.slack[side] * at.multiplier[side]
        if bend is not None:
            change = change - bend.slack[side] * bend.multiplier[side]
        found.append(np.where(has, change, 0.0))
    return found[0], found[1]
