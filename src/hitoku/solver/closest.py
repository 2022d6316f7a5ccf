"""The closest point that keeps sums, bounds and required deviations, in a weighted L1, L2 or L∞ distance.

Controlled tabular adjustment moves a table so; whoever wants to undo it solves the same problem from the
other side. Both write it in deviations from a point, as Castro (2012) does in (4), (6), (8): a table that was
printed with too few digits to add up is then no obstacle.
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
from hitoku.solver.solution import SolverStatus
from hitoku.solver.work import CountedWork

Floats = NDArray[np.float64]
Norm = Literal["l1", "l2", "linf"]
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf")

# Room above the least largest move in which the smallest moves are looked for, as a share: solvers' rounding.
ROOM = FEASIBLE

# What it costs to break a soft bound, for each unit of relative deviation: a hundred times what an L1
# distance charges for moving there. Linear in both norms, so that bounds which can be kept are kept.
PENALTY = 100.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeviationProgram:
    """Which deviations ``z`` are allowed, and what they cost.

    Minimise ``sum(weight * |z|)``, ``sum(weight * z**2)`` or ``max(weight * |z|)`` subject to
    ``relations @ z == rhs`` and ``lower <= z <= upper``. Every array has one entry per cell; a scalar is
    repeated.
    """

    relations: Any
    """Rows by cells, dense or sparse."""
    weight: Floats
    """Price of moving each cell; zero or more, finite. See :func:`reciprocal`."""
    lower: Floats = -np.inf  # type: ignore[assignment]  # a scalar is repeated
    upper: Floats = np.inf  # type: ignore[assignment]
    """Hard bounds of the deviations, infinite where there is none; equal where a cell is fixed. A cell that
    must rise by 3 at least has ``lower`` 3, one that must fall ``upper`` -3."""
    rhs: Floats = 0.0  # type: ignore[assignment]
    """What the deviations add up to in every row; zero keeps all sums as they are."""
    soft_lower: Floats = -np.inf  # type: ignore[assignment]
    soft_upper: Floats = np.inf  # type: ignore[assignment]
    """Bounds that may be broken at a price; minus and plus infinity where there is none."""
    penalty: Floats = PENALTY  # type: ignore[assignment]
    """That price for each unit of relative excess: the excess times ``weight`` in L1 and L∞, times the root
    of ``weight`` in L2. One number, or one per cell."""

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
        """Weighted distance, without penalties."""
        if norm == "linf":
            return float((self.weight * np.abs(deviation)).max(initial=0.0))
        size = np.abs(deviation) if norm == "l1" else deviation * deviation
        return float(self.weight @ size)

    def excess(self, deviation: Floats) -> Floats:
        """How far each deviation lies outside its soft bounds: negative below, positive above."""
        above = np.maximum(deviation - self.soft_upper, 0.0)
        return above - np.maximum(self.soft_lower - deviation, 0.0)

    def price(self, norm: Norm) -> Floats:
        """Price of one unit of excess, in the units of the cells."""
        return self.penalty * (np.sqrt(self.weight) if norm == "l2" else self.weight)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Closest:
    """The end of one search."""

    status: SolverStatus
    """``OPTIMAL``, ``INFEASIBLE`` (no deviation keeps the hard bounds), or ``LIMIT``."""
    deviation: Floats | None = None
    """The optimal ``z``; None without one. In L1 a vertex: cells that need not move do not. In L∞, of all
    points whose largest move is least, one that is closest in L1."""
    cost: float = float("nan")
    """Weighted distance, recomputed, without penalties."""
    paid: float = 0.0
    """Penalties for broken soft bounds."""
    excess: Floats | None = None
    """By how much each soft bound is broken: negative below, positive above, zero where kept."""
    multiplier: Floats | None = None
    """Lagrange multiplier of the bounds of each deviation, in the units of the table: positive where the
    lower bound holds it, negative at the upper one, zero for a cell that was fixed from the start. Its
    absolute sum is the ``‖μ‖₁`` of Castro's Theorem 1."""
    duals: Floats | None = None
    """Lagrange multiplier of every relation."""
    bound: float = float("nan")
    """What no allowed deviation can beat in ``cost + paid``: recomputed from the multipliers, so it does not
    rest on the solver's word."""
    conditions: float = float("nan")
    """By how much the optimality conditions are missed, as a share of what moves; see ``exact``."""

    @property
    def optimal(self) -> bool:
        return self.status is SolverStatus.OPTIMAL

    @property
    def exact(self) -> bool:
        """Whether the optimality conditions hold: the point is the optimum, not only as cheap."""
        return self.optimal and self.conditions <= GRANTED

    def __repr__(self) -> str:
        # A deviation tells the true value to whoever holds the published one: a repr shows the status alone.
        return f"Closest({self.status})"


def reciprocal(size: ArrayLike, norm: Norm) -> Floats:
    """Weights that count relative deviations: ``1/a``, in L2 ``1/a**2``; 1 where the value is zero.

    A zero has no relative deviation. Weight 1 charges a zero that moves by one unit as much as any other cell
    that doubles; who wants zeros to stay gives them equal bounds.

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
        What is allowed.
    norm
        "l1", "l2" or "linf".
    threads, time_limit_s, work
        As in :func:`hitoku.solver.quadratic.solve`: only a time limit makes the clock matter.

    Examples
    --------
    Parts of 4 and 6 under a total of 10; the first must rise by 1. It is dearer, in relative terms, to move
    the other part than the total, so the total moves in L1; in L2 both give way.

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
        # An interior point method would only come near to it.
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
    """Tell whether nothing need move."""
    low = np.maximum(problem.lower, problem.soft_lower)
    high = np.minimum(problem.upper, problem.soft_upper)
    return bool(np.all(low <= 0) and np.all(high >= 0) and not problem.rhs.any())


def _least_largest(
    problem: DeviationProgram, threads: int, time_limit_s: float | None, work: CountedWork | None
) -> Closest:
    """Make the largest weighted move as small as possible, then all others.

    The first program has one more column, what no move may exceed. It says nothing about cells that stay
    below, so a second one finds the closest point in L1 that exceeds it nowhere and breaks no other soft
    bound.
    """
    columns = _largest_move(problem)
    first = solve(columns.program, threads=threads, time_limit_s=time_limit_s, work=work)
    if first.x is None or first.duals is None or first.reduced is None:
        return Closest(status=first.status)
    near = columns.deviation(first.x)
    room = problem.cost(near, "linf") * (1 + ROOM) / np.where(problem.weight > 0, problem.weight, np.nan)
    room = np.where(np.isnan(room), np.inf, room)
    held = problem.lower == problem.upper
    soft_low, soft_high = np.minimum(problem.soft_lower, near), np.maximum(problem.soft_upper, near)
    within = DeviationProgram(
        relations=problem.relations,
        weight=problem.weight,
        lower=np.where(held, problem.lower, np.maximum(np.maximum(problem.lower, soft_low), -room)),
        upper=np.where(held, problem.upper, np.minimum(np.minimum(problem.upper, soft_high), room)),
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
    """Write the program down: cells that can move, excesses, and last the largest move."""
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
    # Cells with equal bounds are no columns, but they move.
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
    """The problem as rows and columns, and the way back.

    Cells with equal bounds are taken out. In L1 a cell is a rise and a fall, each where it is possible; in
    L2 it is one column. A soft bound adds a row and two columns for what goes beyond.
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
    """Return what the bounds of each cell carry: the slope of its cost less the pull of the relations."""
    pull = problem.relations.T @ duals
    if norm == "l2":
        carried = 2 * problem.weight * deviation - pull
    else:
        # At zero the cost has a corner: it takes any pull up to the weight by itself.
        corner = np.sign(pull) * np.minimum(np.abs(pull), problem.weight)
        carried = np.where(deviation == 0, corner, problem.weight * np.sign(deviation)) - pull
    return np.where(problem.lower == problem.upper, 0.0, carried)
