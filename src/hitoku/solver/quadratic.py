"""Convex separable quadratic programs: linear costs, squares, or both.

Columns are scaled; if no solution can be trusted that way, as with very large values beside single units, the
program is solved without scaling. The status of HiGHS is not trusted: rows, bounds and objective are
recomputed in original units, and any multipliers of the rows give a lower bound. Only a point that meets this
bound is reported as optimal.

An objective accurate to seven digits determines a point of a quadratic program to three digits. Therefore the
Karush-Kuhn-Tucker conditions are recomputed, too, and solutions of quadratic programs are polished until they
hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.solver.active_set import Conditions
from hitoku.solver.highs import (
    FEASIBLE,
    FEASIBLE_AGAIN,
    GRANTED,
    NO_LIMIT,
    PROOF,
    ROUNDING,
    Simplex,
    power_of_two,
    run,
)
from hitoku.solver.quadratic_program import ColumnUnits, QuadraticProgram, dual_bound, open_quadratic
from hitoku.solver.solution import SET_UP, STEPS_PER_FACTORISATION, CountedWork, Solution, SolverStatus

__all__ = ["QuadraticProgram", "Solution", "SolverStatus", "dual_bound", "solve"]

Floats = NDArray[np.float64]

# Polishing ends when the optimality conditions hold up to this share of the movement, which is rounding. If
# it fails, refinement continues until they hold up to FEASIBLE. A point is accepted if they hold up to
# GRANTED; columns of very different units may be off by more.
POLISHED = 1e-14

# Algorithms are tried in turn until a solution is accepted. Presolve is off: it costs more than it saves, and
# one of its steps reads the clock.
SIMPLEX: dict[str, Any] = {"solver": "simplex", "presolve": "off", "simplex_strategy": Simplex.DUAL}
INTERIOR_POINT: dict[str, Any] = {"solver": "ipx", "presolve": "off", "run_crossover": "on"}
PRIMAL: dict[str, Any] = {"solver": "simplex", "presolve": "off", "simplex_strategy": Simplex.PRIMAL}
HIPO: dict[str, Any] = {"solver": "hipo", "presolve": "off"}
ACTIVE_SET: dict[str, Any] = {"solver": "qpasm"}
LINEAR = (SIMPLEX, INTERIOR_POINT, PRIMAL)
# With many more rows than cells, as in crossed hierarchies, an interior point method with crossover takes a
# third to a half of the simplex method's time, up to MAX_ROWS rows; with more, its factors fill up.
TALL = (INTERIOR_POINT, SIMPLEX, PRIMAL)
MAX_ROWS = 25_000
# Maximum number of columns and rows for polishing; with more, factors may not fit into memory.
MAX_POLISHED = 2 * MAX_ROWS
QUADRATIC = (HIPO, {**HIPO, "presolve": "on"}, ACTIVE_SET)


def solve(
    program: QuadraticProgram,
    *,
    threads: int = 1,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Solution:
    """Minimise once, and prove it.

    Parameters
    ----------
    program
        Program to solve.
    threads
        Number of threads; does not change the solution.
    time_limit_s
        Seconds for each attempt; the only use of the clock. At the limit the status is
        ``SolverStatus.LIMIT``.
    work
        Counts the steps of all attempts, together with other steps of the same search; at its limit the
        status is ``SolverStatus.LIMIT``, too.

    Returns
    -------
    Solution
        With ``duals`` (one per row) and ``reduced`` (the gradient minus ``relations.T @ duals``: positive at
        an active lower bound, negative at an active upper bound). ``bound`` is proven by the duals, and
        ``conditions`` is the violation of the optimality conditions, both recomputed here. If it exceeds
        ``GRANTED``, the cost is proven but the point is approximate.

    Examples
    --------
    Two parts of a total of 10 with the smallest sum of squares, the second at least 6.

    >>> program = QuadraticProgram(0, [[1, 1]], [10], lower=[0, 6], curvature=1)
    >>> found = solve(program)
    >>> found.x.round(6), round(found.value, 6), found.reduced.round(4)
    (array([4., 6.]), 52.0, array([0., 4.]))
    """
    if np.any(program.lower > program.upper) or np.any(program.row_ends[0] > program.row_ends[1]):
        return Solution(SolverStatus.INFEASIBLE)
    if len(program.cost) == 0:
        return _without_columns(program)
    steps = Steps(program, CountedWork() if work is None else work)
    for units in (ColumnUnits.of(program), ColumnUnits.plain(program)):
        found = _minimise(program, units, threads, time_limit_s, steps)
        if found is not None:
            return found
    n_rows, n_columns = program.relations.shape
    raise SolverError(
        "convex_program_untrusted",
        "a convex program of {n_columns} columns and {n_rows} rows has no trustworthy answer",
        where="solver",
        fix="look for values of very different size in one table, or split it",
        n_columns=n_columns,
        n_rows=n_rows,
    )


class Steps:
    """Limit and work of the runs of HiGHS on one program.

    Parameters
    ----------
    program
        Program to solve.
    work
        Counts steps, and limits their total.
    """

    def __init__(self, program: QuadraticProgram, work: CountedWork) -> None:
        self.work = work
        # Work of one step.
        self._per_step = program.relations.nnz + sum(program.relations.shape)

    @property
    def left(self) -> int:
        """Maximum number of steps of the next run, at least one."""
        return int(min(NO_LIMIT, self.work.left // self._per_step + 1))

    def run(self, highs: Any, threads: int) -> SolverStatus | None:
        """Run HiGHS and count its steps."""
        status = run(highs, threads)
        info = highs.getInfo()
        plain = (info.simplex_iteration_count, info.crossover_iteration_count, info.qp_iteration_count)
        steps = (
            SET_UP
            + sum(max(0, one) for one in plain)
            + STEPS_PER_FACTORISATION * max(0, info.ipm_iteration_count)
        )
        self.work.add(steps * self._per_step)
        return status


def _minimise(
    program: QuadraticProgram, units: ColumnUnits, threads: int, time_limit_s: float | None, steps: Steps
) -> Solution | None:
    """Minimise in given units; None if no solution can be trusted."""
    evidence, has_point = _Evidence(program, units, steps, threads), False
    best: Solution | None = None
    for tolerance in (FEASIBLE, FEASIBLE_AGAIN):
        for algorithm in _attempts(program):
            if steps.work.over:
                return best or Solution(SolverStatus.LIMIT)
            options = {**algorithm, "threads": threads}
            highs = open_quadratic(program, units, options, tolerance, time_limit_s, steps.left)
            status = steps.run(highs, threads)
            if status in {SolverStatus.LIMIT, SolverStatus.UNBOUNDED}:
                return best or Solution(status, -np.inf if status is SolverStatus.UNBOUNDED else np.nan)
            # A run that failed may still have ended at the optimum: the point is judged, not the status.
            if status in {SolverStatus.OPTIMAL, None}:
                best = _better(best, evidence.judged(highs))
                if best is not None and (best.conditions <= GRANTED or not _can_be_polished(program)):
                    return best
            # Only a simplex method proves infeasibility; others merely fail to find a point.
            has_point = has_point or best is not None or _has_point(program, threads, steps)
            if not has_point:
                return Solution(SolverStatus.INFEASIBLE)
        if best is not None:
            return best
    return None


def _attempts(program: QuadraticProgram) -> tuple[dict[str, Any], ...]:
    """Return the algorithms for a program, in the order in which they are tried."""
    if np.any(program.curvature > 0):
        return QUADRATIC
    n_rows, n_columns = program.relations.shape
    # A cell has two columns, for its rise and its fall.
    return TALL if n_columns < 1.5 * n_rows and n_rows <= MAX_ROWS else LINEAR


def _without_columns(program: QuadraticProgram) -> Solution:
    low, high = program.row_ends
    if np.any(low > 0) or np.any(high < 0):
        return Solution(SolverStatus.INFEASIBLE)
    nothing = np.zeros(0)
    return Solution(
        SolverStatus.OPTIMAL, 0.0, nothing, duals=np.zeros(len(low)), reduced=nothing, bound=0.0, gap=0.0
    )


def _has_point(program: QuadraticProgram, threads: int, steps: Steps) -> bool:
    """Return whether a feasible point exists, by the simplex method."""
    plain = QuadraticProgram(
        np.zeros(len(program.cost)),
        program.relations,
        program.rhs,
        program.lower,
        program.upper,
        program.row_upper,
    )
    units = ColumnUnits.of(program)
    for algorithm in (SIMPLEX, PRIMAL):
        highs = open_quadratic(plain, units, {**algorithm, "threads": threads}, FEASIBLE, None, steps.left)
        status = steps.run(highs, threads)
        if status is not None:
            return status is not SolverStatus.INFEASIBLE
    return True


@dataclass(slots=True)
class _Evidence:
    """The best point and the best multipliers of all attempts, in original units.

    One algorithm may find the optimum without multipliers that prove it, and another the multipliers.
    """

    program: QuadraticProgram
    units: ColumnUnits
    steps: Steps
    threads: int = 1
    x: Floats | None = None
    value: float = np.inf
    duals: Floats | None = None

    def judged(self, highs: Any) -> Solution | None:
        """Return the optimum if the solver's result proves it, polished if necessary; otherwise None."""
        solution = highs.getSolution()
        if not solution.value_valid:
            return None
        y = np.asarray(solution.col_value)
        duals = np.asarray(solution.row_dual) if solution.dual_valid else np.zeros(len(self.units.row))
        best = self._polish(y, duals)
        tried: list[dict[str, Any]] = []
        # Twice through the algorithms: one or two refinements in all are enough for most programs.
        for algorithm in QUADRATIC * 2:
            if best is None or best.conditions <= FEASIBLE or not _can_be_polished(self.program):
                break
            if self.steps.work.over:
                break
            if algorithm in tried:
                continue  # from the same point it has the same result
            tried.append(algorithm)
            try:
                x, multipliers = _refine(self.program, best, algorithm, self.threads, self.steps)
            except SolverError:
                break  # the correction is too small or too large for HiGHS: keep the point
            again = self._polish(x / self.units.column, multipliers / self.units.row / self.units.price)
            before, best = best, _better(best, again)
            if best is not before:
                tried.clear()
        return best

    def _polish(self, y: Floats, duals: Floats) -> Solution | None:
        """Guess active bounds and rows from a point, solve for the rest, and return the best solution."""
        best = self._with(y, duals)
        if _can_be_polished(self.program):
            for guess in _conditions(self.program, self.units).settle(y, duals):
                if best is not None and best.conditions <= POLISHED:
                    break
                best = _better(best, self._with(*guess))
        return best

    def _with(self, y: Floats, scaled_duals: Floats) -> Solution | None:
        """Judge a point and multipliers, on their own and combined with the best ones so far."""
        program, units = self.program, self.units
        x = np.clip(y * units.column, program.lower, program.upper)
        duals = scaled_duals * units.row * units.price
        if not np.isfinite(x).all() or not np.isfinite(duals).all():
            return None
        value, meets = program.objective(x), _meets(program, units, x)
        if meets and value < self.value:
            self.x, self.value = x, value
        if self.duals is None or self._bound(duals) >= self._bound(self.duals):
            self.duals = duals
        own = self._accept(x, value, duals) if meets else None
        return own if own is not None or self.x is None else self._accept(self.x, self.value, self.duals)

    def _bound(self, duals: Floats) -> float:
        bound = dual_bound(self.program, duals, self.value)
        return -np.inf if np.isnan(bound) else bound

    def _accept(self, x: Floats, value: float, duals: Floats) -> Solution | None:
        program, bound = self.program, self._bound(duals)
        # Terms may cancel: the tolerance refers to their sizes, and to the tolerance on scaled numbers.
        terms = float(np.abs(program.cost) @ np.abs(x) + program.curvature @ (x * x))
        if not value - bound <= PROOF * terms + GRANTED * self.units.price:
            return None
        reduced = program.cost + 2 * program.curvature * x - program.relations.T @ duals
        return Solution(
            SolverStatus.OPTIMAL,
            value,
            x,
            duals=duals,
            reduced=reduced,
            bound=bound,
            gap=max(value - bound, 0.0) / max(abs(value), np.finfo(float).tiny),
            conditions=_conditions(program, self.units).violation(
                x / self.units.column, duals / self.units.row / self.units.price
            ),
        )


def _better(best: Solution | None, found: Solution | None) -> Solution | None:
    """Return the solution with the smaller violation of the optimality conditions."""
    if best is None or found is None:
        return best or found
    return found if found.conditions < best.conditions else best


def _refine(
    program: QuadraticProgram, near: Solution, algorithm: dict[str, Any], threads: int, steps: Steps
) -> tuple[Floats, Floats]:
    """Solve for the correction of a point, enlarged, and therefore with a smaller tolerance.

    Iterative refinement of a quadratic program as in Weber, Sager and Gleixner (2019): ``x + d / enlarged``
    replaces ``x``, and multipliers of equations are corrected in the same way.
    """
    x, duals = near.x, near.duals
    if x is None or duals is None:
        raise SolverError(
            "optimum_without_point", "an optimum without a point", where="solver", fix="report this"
        )
    least, most = program.row_ends
    known = np.where(least == most, duals, 0.0)
    activity = program.relations @ x
    enlarged = max(1.0 / float(power_of_two(near.conditions)), 1.0)
    left = QuadraticProgram(
        enlarged * (program.cost + 2 * program.curvature * x - program.relations.T @ known),
        program.relations,
        enlarged * (least - activity),
        enlarged * (program.lower - x),
        enlarged * (program.upper - x),
        enlarged * (most - activity),
        program.curvature,
    )
    units = ColumnUnits.of(left)
    highs = open_quadratic(left, units, {**algorithm, "threads": threads}, FEASIBLE, None, steps.left)
    steps.run(highs, threads)
    solution = highs.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return x, duals
    step = np.asarray(solution.col_value) * units.column
    change = np.asarray(solution.row_dual) * units.row * units.price
    return x + step / enlarged, known + change / enlarged


def _can_be_polished(program: QuadraticProgram) -> bool:
    return sum(program.relations.shape) <= MAX_POLISHED and bool(np.any(program.curvature > 0))


def _conditions(program: QuadraticProgram, units: ColumnUnits) -> Conditions:
    """Return the program in scaled units, with numbers near one."""
    column, row = units.column, units.row
    least, most = program.row_ends
    return Conditions(
        cost=program.cost * column / units.price,
        squares=2 * program.curvature * column**2 / units.price,
        matrix=sparse.csr_array(sparse.diags_array(row) @ program.relations @ sparse.diags_array(column)),
        low=program.lower / column,
        high=program.upper / column,
        least=least * row,
        most=most * row,
    )


def _meets(program: QuadraticProgram, units: ColumnUnits, x: Floats) -> bool:
    activity, (low, high) = program.relations @ x, program.row_ends
    slack = GRANTED / units.row + ROUNDING * (abs(program.relations) @ np.abs(x))
    return bool(np.all(activity >= low - slack) and np.all(activity <= high + slack))
