"""The closest point that keeps sums, bounds and required deviations, in a weighted L1, L2 or L∞ distance.

Controlled tabular adjustment solves this problem, and so does an attacker who tries to undo it. Both are
formulated in deviations from a point, as in (4), (6), (8) of Castro (2012), so that a table that was printed
with too few digits to add up is not a problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hitoku.errors import ParameterError, did_you_mean
from hitoku.solver.highs import FEASIBLE, GRANTED
from hitoku.solver.quadratic import QuadraticProgram, solve
from hitoku.solver.solution import CountedWork, SolverStatus

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf")

# Tolerance above the least maximum move within which the smallest moves are found: the solver's rounding.
ALLOWANCE = FEASIBLE

# Cost of violating a soft bound, per unit of relative deviation: a hundred times the cost in L1 of moving
# that far. Linear in both norms, so that bounds that can be kept are kept.
PENALTY = 100.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeviationProgram:
    """Allowed deviations ``z`` and their cost.

    Minimise ``sum(weight * |z|)``, ``sum(weight * z**2)`` or ``max(weight * |z|)`` subject to
    ``relations @ z == rhs`` and ``lower <= z <= upper``. Every array has one entry per cell; a scalar is
    repeated.
    """

    relations: Any
    """Rows by cells, dense or sparse."""
    weight: Floats
    """Cost of moving each cell; finite, zero or more. See :func:`reciprocal`."""
    lower: Floats = -np.inf  # type: ignore[assignment]  # a scalar is repeated
    upper: Floats = np.inf  # type: ignore[assignment]
    """Hard bounds of the deviations; infinite for none, equal for fixed cells. A cell that must rise by at
    least 3 has ``lower`` 3, one that must fall by 3 has ``upper`` -3."""
    rhs: Floats = 0.0  # type: ignore[assignment]
    """Sum of the deviations in every row; zero keeps all sums."""
    soft_lower: Floats = -np.inf  # type: ignore[assignment]
    soft_upper: Floats = np.inf  # type: ignore[assignment]
    """Bounds that may be violated at a price; infinite for none."""
    penalty: Floats = PENALTY  # type: ignore[assignment]
    """Price per unit of relative excess: the excess times ``weight`` in L1 and L∞, times its square root in
    L2. One number, or one per cell."""

    def __post_init__(self) -> None:
        relations = sparse.csr_array(self.relations, dtype=np.float64)
        object.__setattr__(self, "relations", relations)
        n_rows, n_cells = relations.shape
        for name in ("weight", "lower", "upper", "rhs", "soft_lower", "soft_upper", "penalty"):
            array = np.array(getattr(self, name), dtype=np.float64)
            length = n_rows if name == "rhs" else n_cells
            array = np.full(length, array) if array.ndim == 0 else array
            if array.shape != (length,) or np.isnan(array).any():
                raise ParameterError(
                    "not_one_number_for_each",
                    "{name} is not one number for each of {n}",
                    where="DeviationProgram",
                    fix="one per cell, rhs one per relation; infinity for no bound",
                    name=name,
                    n=length,
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for name in ("weight", "penalty"):
            array = getattr(self, name)
            if np.any(array < 0) or not np.isfinite(array).all():
                raise ParameterError(
                    "entry_not_finite",
                    "a {name} is negative or not finite",
                    where="DeviationProgram",
                    fix="fix a cell by equal bounds, not by an endless weight",
                    name=name,
                )

    def cost(self, deviation: Floats, norm: Norm) -> float:
        """Return the weighted distance, without penalties."""
        if norm == "linf":
            return float((self.weight * np.abs(deviation)).max(initial=0.0))
        size = np.abs(deviation) if norm == "l1" else deviation * deviation
        return float(self.weight @ size)

    def excess(self, deviation: Floats) -> Floats:
        """Return how far each deviation is outside its soft bounds: negative below, positive above."""
        above = np.maximum(deviation - self.soft_upper, 0.0)
        return above - np.maximum(self.soft_lower - deviation, 0.0)

    def price(self, norm: Norm) -> Floats:
        """Return the price of one unit of excess, in the units of the cells."""
        return self.penalty * (np.sqrt(self.weight) if norm == "l2" else self.weight)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Closest:
    """Result of :func:`closest`."""

    status: SolverStatus
    """``OPTIMAL``, ``INFEASIBLE`` (no deviation keeps the hard bounds), or ``LIMIT``."""
    deviation: Floats | None = None
    """The optimal ``z``, or None. In L1 a vertex, so that few cells move. In L∞ a point with least maximum
    move that is closest in L1."""
    cost: float = float("nan")
    """Weighted distance, recomputed, without penalties."""
    paid: float = 0.0
    """Penalties for violated soft bounds."""
    excess: Floats | None = None
    """Violation of each soft bound: negative below, positive above, zero if kept."""
    multiplier: Floats | None = None
    """Lagrange multiplier of the bounds of each deviation, in the units of the table: positive at an active
    lower bound, negative at an active upper one, zero for a fixed cell. The sum of absolute values is
    ``‖μ‖₁`` in Castro's Theorem 1."""
    duals: Floats | None = None
    """Lagrange multiplier of every relation."""
    bound: float = float("nan")
    """Lower bound on ``cost + paid`` of all allowed deviations, recomputed from the multipliers."""
    conditions: float = float("nan")
    """Violation of the optimality conditions, as a share of the movement; see ``exact``."""

    @property
    def optimal(self) -> bool:
        return self.status is SolverStatus.OPTIMAL

    @property
    def exact(self) -> bool:
        """Whether the optimality conditions hold, so that the point itself is optimal, not only its cost."""
        return self.optimal and self.conditions <= GRANTED

    def __repr__(self) -> str:
        # A deviation and the published value together reveal the true value: a repr shows the status only.
        return f"Closest({self.status})"


def reciprocal(size: ArrayLike, norm: Norm) -> Floats:
    """Return weights of relative deviations: ``1/a``, in L2 ``1/a**2``; 1 if the value is zero.

    A zero has no relative deviation. With weight 1, a zero that moves by one unit costs as much as any other
    cell that doubles; to fix zeros, give them equal bounds.

    Examples
    --------
    >>> reciprocal([4, 0, -10], "l1"), reciprocal([4, 0, -10], "l2")
    (array([0.25, 1.  , 0.1 ]), array([0.0625, 1.    , 0.01  ]))
    """
    one = np.abs(np.asarray(size, dtype=np.float64))
    one = np.where(one == 0, 1.0, one)
    return np.asarray(1.0 / one**2 if norm == "l2" else 1.0 / one)


def closest(
    problem: DeviationProgram,
    norm: Norm = "l1",
    *,
    threads: int = 1,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Closest:
    """Find the cheapest deviation.

    Parameters
    ----------
    problem
        Allowed deviations and their cost.
    norm
        "l1", "l2" or "linf".
    threads, time_limit_s, work
        As in :func:`hitoku.solver.quadratic.solve`: only a time limit makes the clock matter.

    Examples
    --------
    Parts of 4 and 6 with a total of 10; the first must rise by 1. Moving the other part costs more, in
    relative terms, than moving the total, so the total moves in L1; in L2 both move.

    >>> problem = DeviationProgram(
    ...     relations=[[1, 1, -1]],
    ...     weight=reciprocal([4, 6, 10], "l1"),
    ...     lower=[1, -6, -10],
    ... )
    >>> found = closest(problem, "l1")
    >>> found.deviation, round(found.cost, 6), found.multiplier.round(6)
    (array([1., 0., 1.]), 0.35, array([0.35, 0.  , 0.  ]))
    """
    if norm not in NORMS:
        raise ParameterError(
            "unknown_norm", "no norm {norm!r}", where="norm", fix=did_you_mean(norm, NORMS), norm=norm
        )
    crossed = np.any(problem.lower > problem.upper)
    if crossed or np.any(problem.lower == np.inf) or np.any(problem.upper == -np.inf):
        return Closest(status=SolverStatus.INFEASIBLE)
    nothing = np.zeros(len(problem.weight))
    if _may_stay(problem):
        # An interior point method would only approximate it.
        return Closest(
            status=SolverStatus.OPTIMAL,
            deviation=nothing,
            cost=0.0,
            excess=nothing,
            multiplier=nothing,
            duals=np.zeros(len(problem.rhs)),
            bound=0.0,
            conditions=0.0,
        )
    if norm == "linf":
        return _least_largest(problem, threads, time_limit_s, work)
    columns = _Columns.of(problem, norm)
    found = solve(columns.program, threads=threads, time_limit_s=time_limit_s, work=work)
    if found.x is None or found.duals is None:
        return Closest(status=found.status)
    deviation = columns.deviation(found.x)
    duals = found.duals[: problem.relations.shape[0]]
    excess = problem.excess(deviation)
    return Closest(
        status=found.status,
        deviation=deviation,
        cost=problem.cost(deviation, norm),
        paid=float(problem.price(norm) @ np.abs(excess)),
        excess=excess,
        multiplier=_multiplier(problem, norm, deviation, duals),
        duals=duals,
        bound=found.bound + problem.cost(columns.still, norm),
        conditions=found.conditions,
    )


def _may_stay(problem: DeviationProgram) -> bool:
    """Return whether the zero deviation is allowed."""
    low = np.maximum(problem.lower, problem.soft_lower)
    high = np.minimum(problem.upper, problem.soft_upper)
    return bool(np.all(low <= 0) and np.all(high >= 0) and not problem.rhs.any())


def _least_largest(
    problem: DeviationProgram, threads: int, time_limit_s: float | None, work: CountedWork | None
) -> Closest:
    """Minimise the largest weighted move, then all other moves.

    The first program has an additional column that no move may exceed. It does not determine cells that move
    less, so a second program finds the closest point in L1 within that limit that violates no other soft
    bound.
    """
    columns = _largest_move(problem)
    first = solve(columns.program, threads=threads, time_limit_s=time_limit_s, work=work)
    if first.x is None or first.duals is None or first.reduced is None:
        return Closest(status=first.status)
    near = columns.deviation(first.x)
    weight = np.where(problem.weight > 0, problem.weight, np.nan)
    slack = problem.cost(near, "linf") * (1 + ALLOWANCE) / weight
    slack = np.where(np.isnan(slack), np.inf, slack)
    held = problem.lower == problem.upper
    soft_low, soft_high = np.minimum(problem.soft_lower, near), np.maximum(problem.soft_upper, near)
    within = DeviationProgram(
        relations=problem.relations,
        weight=problem.weight,
        lower=np.where(held, problem.lower, np.maximum(np.maximum(problem.lower, soft_low), -slack)),
        upper=np.where(held, problem.upper, np.minimum(np.minimum(problem.upper, soft_high), slack)),
        rhs=problem.rhs,
    )
    second = closest(within, "l1", threads=threads, time_limit_s=time_limit_s, work=work)
    deviation = near if second.deviation is None else second.deviation
    excess = problem.excess(deviation)
    multiplier = np.zeros(len(near))
    multiplier[columns.cells] = first.reduced[: len(columns.cells)]
    return Closest(
        status=first.status,
        deviation=deviation,
        cost=problem.cost(deviation, "linf"),
        paid=float(problem.price("linf") @ np.abs(excess)),
        excess=excess,
        multiplier=multiplier,
        duals=first.duals[: problem.relations.shape[0]],
        bound=first.bound,
        conditions=first.conditions,
    )


def _largest_move(problem: DeviationProgram) -> _Columns:
    """Build the program: columns for cells that can move, for excesses, and last for the largest move."""
    plain = _Columns.of(problem, "l2")
    program, cells = plain.program, plain.cells
    n, n_columns = len(cells), len(program.cost)
    weight = sparse.csr_array((problem.weight[cells], (np.arange(n), np.arange(n))), shape=(n, n_columns))
    one = np.ones((n, 1))
    relations = sparse.block_array(
        [[program.relations, None], [weight, sparse.csr_array(one)], [weight, sparse.csr_array(-one)]]
    )
    rows, endless = program.row_ends, np.full(n, np.inf)
    zero = np.zeros(n)
    # Cells with equal bounds have no column, but they may move.
    least = float((problem.weight * np.abs(plain.still)).max(initial=0.0))
    larger = QuadraticProgram(
        np.append(program.cost, 1.0),
        sparse.csr_array(relations),
        np.concatenate([rows[0], zero, -endless]),
        np.append(program.lower, least),
        np.append(program.upper, np.inf),
        np.concatenate([rows[1], endless, zero]),
    )
    return _Columns(larger, plain.still, cells, plain.signs)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The problem as rows and columns, and how to read a solution.

    Cells with equal bounds are removed. In L1 a cell has a column for its rise and one for its fall, where
    these are possible; in L2 it has one column. A soft bound adds a row and two columns for its violation.
    """

    program: QuadraticProgram
    still: Floats
    cells: NDArray[np.int64]
    signs: Floats

    @classmethod
    def of(cls, problem: DeviationProgram, norm: Norm) -> _Columns:
        lower, upper = problem.lower, problem.upper
        fixed = lower == upper
        still = np.where(fixed, lower, 0.0)
        moving = np.flatnonzero(~fixed)
        if norm == "l1":
            rises, falls = moving[upper[moving] > 0], moving[lower[moving] < 0]
            cells = np.concatenate([rises, falls])
            signs = np.repeat([1.0, -1.0], [len(rises), len(falls)])
            low = np.maximum(np.concatenate([lower[rises], -upper[falls]]), 0.0)
            high = np.concatenate([upper[rises], -lower[falls]])
        else:
            cells, signs = moving, np.ones(len(moving))
            low, high = lower[moving], upper[moving]
        weight = problem.weight[cells]
        rhs = problem.rhs - problem.relations @ still
        relations = sparse.csr_array(problem.relations[:, cells] * signs)
        row_low, row_high = rhs, rhs
        cost, curvature = (weight, np.zeros(len(cells))) if norm == "l1" else (np.zeros(len(cells)), weight)
        soft = np.flatnonzero(np.isfinite(problem.soft_lower) | np.isfinite(problem.soft_upper))
        if len(soft):
            k, price = len(soft), problem.price(norm)[soft]
            into = sparse.csr_array((signs, (cells, np.arange(len(cells)))), shape=(len(still), len(cells)))
            beyond = sparse.eye_array(k, format="csr")
            relations = sparse.csr_array(
                sparse.block_array([[relations, None, None], [into[soft], beyond, -beyond]])
            )
            row_low = np.concatenate([rhs, problem.soft_lower[soft] - still[soft]])
            row_high = np.concatenate([rhs, problem.soft_upper[soft] - still[soft]])
            low, high = np.append(low, np.zeros(2 * k)), np.append(high, np.full(2 * k, np.inf))
            cost, curvature = np.append(cost, np.tile(price, 2)), np.append(curvature, np.zeros(2 * k))
        program = QuadraticProgram(cost, relations, row_low, low, high, row_high, curvature)
        return cls(program, still, cells, signs)

    def deviation(self, x: Floats) -> Floats:
        moved = np.zeros(len(self.still))
        np.add.at(moved, self.cells, self.signs * x[: len(self.cells)])
        return self.still + moved


def _multiplier(problem: DeviationProgram, norm: Norm, deviation: Floats, duals: Floats) -> Floats:
    """Return the multiplier of each cell's bounds: the slope of its cost minus that of the relations."""
    pull = problem.relations.T @ duals
    if norm == "l2":
        carried = 2 * problem.weight * deviation - pull
    else:
        # At zero the cost has a corner: its subgradient covers slopes up to the weight.
        corner = np.sign(pull) * np.minimum(np.abs(pull), problem.weight)
        carried = np.where(deviation == 0, corner, problem.weight * np.sign(deviation)) - pull
    return np.where(problem.lower == problem.upper, 0.0, carried)
