"""Convex separable quadratic programs: scaling for HiGHS, and dual bounds.

Every column gets its own unit, so that its cost or curvature is near one; otherwise HiGHS reports points as
optimal that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.errors import ParameterError
from hitoku.solver.highs import FEASIBLE, FEASIBLE_AGAIN, NO_LIMIT, accept, engine, hand_over, power_of_two
from hitoku.solver.linear import LinearProgram
from hitoku.solver.solution import STEPS_PER_FACTORISATION

Floats = NDArray[np.float64]

# Maximum number of active-set steps per column and row: five times what hard programs need. On some programs
# the method of HiGHS cycles.
STEPS_PER_LINE = 3


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram(LinearProgram):
    """Minimise ``cost @ x + curvature @ x**2`` under the rows and bounds of a linear program."""

    curvature: Floats = 0.0  # type: ignore[assignment]  # a scalar is repeated
    """One number per column, zero or more; a scalar is repeated. The other parameters are those of
    :class:`LinearProgram`."""

    def __post_init__(self) -> None:
        LinearProgram.__post_init__(self)
        n = len(self.cost)
        curvature = np.array(self.curvature, dtype=np.float64)
        curvature = np.full(n, curvature) if curvature.ndim == 0 else curvature
        if curvature.shape != (n,) or not np.isfinite(curvature).all() or np.any(curvature < 0):
            raise ParameterError(
                "curvature_invalid",
                "curvature is not one finite number, zero or more, per column",
                where="QuadraticProgram",
                fix="give the factors of the squares, each zero or more",
            )
        curvature.setflags(write=False)
        object.__setattr__(self, "curvature", curvature)

    def objective(self, x: Floats) -> float:
        """Recompute the objective at a point, in original units."""
        return float(self.cost @ x + self.curvature @ (x * x))


@dataclass(frozen=True, slots=True)
class ColumnUnits:
    """``x = column * y``, rows times ``row``, objective divided by ``price``: all powers of two."""

    column: Floats
    row: Floats
    price: float

    @classmethod
    def of(cls, program: QuadraticProgram) -> ColumnUnits:
        cost, curvature = np.abs(program.cost), program.curvature
        with np.errstate(divide="ignore"):
            size = np.where(curvature > 0, 1 / np.sqrt(curvature), np.where(cost > 0, 1 / cost, np.nan))
        typical = np.median(size[~np.isnan(size)]) if not np.isnan(size).all() else 1.0
        column = power_of_two(np.where(np.isnan(size), typical, size))
        # A further common unit, so that values that columns are forced to are near one in any currency.
        forced = np.maximum(np.maximum(program.lower, -program.upper), 0.0) / column
        column = column * float(power_of_two(forced[np.isfinite(forced)].max(initial=0.0)))
        relations = program.relations
        weight = np.abs(relations.data) * column[relations.indices]
        rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
        most, least = np.zeros(relations.shape[0]), np.full(relations.shape[0], np.inf)
        np.maximum.at(most, rows, weight)
        np.minimum.at(least, rows, weight)
        # Between largest and smallest: with values from 1 to 10^11 in one sum neither may vanish.
        row = 1.0 / power_of_two(np.sqrt(most * np.where(np.isfinite(least), least, 1.0)))
        return cls.priced(program, column, row)

    @classmethod
    def plain(cls, program: QuadraticProgram) -> ColumnUnits:
        """Do not scale columns and rows; with very large values in a sum its entries are equal again."""
        return cls.priced(program, np.ones(len(program.cost)), np.ones(program.relations.shape[0]))

    @classmethod
    def priced(cls, program: QuadraticProgram, column: Floats, row: Floats) -> ColumnUnits:
        cost, squares = np.abs(program.cost) * column, program.curvature * column**2
        return cls(column, row, float(power_of_two(max(cost.max(initial=0.0), squares.max(initial=0.0)))))


def open_quadratic(
    program: QuadraticProgram,
    units: ColumnUnits,
    options: dict[str, Any],
    tolerance: float,
    time_limit_s: float | None,
    steps: int = NO_LIMIT,
) -> Any:
    """Return a HiGHS object with the scaled program, options and limits."""
    limit: dict[str, Any] = {} if time_limit_s is None else {"time_limit": float(time_limit_s)}
    limit |= {
        "simplex_iteration_limit": steps,
        "qp_iteration_limit": min(steps, STEPS_PER_LINE * sum(program.relations.shape)),
        "ipm_iteration_limit": max(1, steps // STEPS_PER_FACTORISATION),
    }
    highs = engine(
        {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "ipm_optimality_tolerance": FEASIBLE_AGAIN,
            **options,
            **limit,
        }
    )
    column, row = units.column, units.row
    relations, (low, high) = program.relations, program.row_ends
    scaled = relations.data * np.repeat(row, np.diff(relations.indptr)) * column[relations.indices]
    hand_over(
        highs,
        relations,
        scaled,
        program.cost * column / units.price,
        (program.lower / column, program.upper / column),
        (low * row, high * row),
    )
    squares = 2.0 * program.curvature * column**2 / units.price
    if np.any(squares > 0):
        n, triangular = len(squares), 1  # code of HiGHS
        entries = np.flatnonzero(squares).astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(squares > 0)]).astype(np.int32)
        passed = highs.passHessian(n, len(entries), triangular, starts, entries, squares[entries])
        accept(passed, "passing the squares")
    return highs


def dual_bound(program: QuadraticProgram, duals: Floats, value: float) -> float:
    """Return a lower bound on the objective from any multipliers of the rows and the value of some point.

    The Lagrangian is separable by columns. Columns without a bound are cut off where their own term of the
    objective would exceed the value of the known point.

    Examples
    --------
    >>> program = QuadraticProgram(0, [[1, 1]], [10], lower=[0, 6], curvature=1)
    >>> dual_bound(program, np.array([8.0]), 52.0), dual_bound(program, np.array([7.0]), 52.0)
    (52.0, 51.75)
    """
    cost, curvature = program.cost, program.curvature
    low, high = _cut_by_known_point(program, value)
    slope = cost - program.relations.T @ duals
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = np.where(curvature > 0, -slope / (2 * curvature), np.where(slope > 0, low, high))
    best = np.clip(turning, low, high)
    # A slope that is rounding counts as zero, also for unbounded columns.
    noise = FEASIBLE * (np.abs(cost) + abs(program.relations).T @ np.abs(duals))
    still = np.isinf(best) & (np.abs(slope) <= noise)
    best = np.where(still, 0.0, best)
    squares = np.where(curvature > 0, curvature * np.where(curvature > 0, best, 0.0) ** 2, 0.0)
    parts = slope * best + squares
    least, most = program.row_ends
    ends = np.where(duals > 0, least, most)
    rows = np.where(duals == 0, 0.0, duals * np.where(duals == 0, 0.0, ends))
    return float(parts.sum() + rows.sum())


def _cut_by_known_point(program: QuadraticProgram, value: float) -> tuple[Floats, Floats]:
    """Return bounds that hold for every point at least as good as the known one."""
    cost, curvature, low, high = program.cost, program.curvature, program.lower, program.upper
    with np.errstate(divide="ignore", invalid="ignore"):
        turning = np.where(curvature > 0, -cost / (2 * curvature), np.where(cost >= 0, low, high))
        at = np.clip(turning, low, high)
        own = np.where((cost == 0) & (curvature == 0), 0.0, cost * at + curvature * at * at)
        spare = value - own.sum()
        if not np.isfinite(spare):
            return low, high
        spare = max(spare, 0.0) * (1 + 1e-9)
        reach = np.where(
            curvature > 0,
            np.sqrt((at - turning) ** 2 + spare / curvature),
            np.where(cost == 0, np.inf, spare / np.abs(cost)),
        )
        start = np.where((curvature > 0) | (cost != 0), turning, 0.0)
    return np.maximum(low, start - reach), np.minimum(high, start + reach)
