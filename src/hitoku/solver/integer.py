"""Integer programs: deterministic, and checked again at the rounded point.

HiGHS accepts a column as integer if it is off by up to 1e-6. Here integer columns are rounded, the others are
solved again with those fixed, and rows, bounds and objective are recomputed in original units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hitoku.errors import ParameterError, SolverError
from hitoku.solver.highs import (
    FEASIBLE,
    GRANTED,
    NO_LIMIT,
    ROUNDING,
    Scale,
    engine,
    hand_over,
    power_of_two,
    run,
)
from hitoku.solver.linear import LinearProgram, Solution, SolverStatus, open_program
from hitoku.solver.solution import SET_UP, STEPS_PER_FACTORISATION, CountedWork

__all__ = ["IntegerProgram", "Solution", "SolverStatus", "solve"]

Floats = NDArray[np.float64]

# Integrality tolerance of HiGHS; the second attempt is stricter.
WHOLE = 1e-6
# Simplex steps that a round of cuts or a heuristic at the root of the search tree counts for. HiGHS tells its
# own count only at the end, and asks once a round whether to go on.
STEPS_PER_ROUND = 500


@dataclass(frozen=True, slots=True, eq=False)
class IntegerProgram(LinearProgram):
    """A linear program in which some columns must be integer."""

    integer: NDArray[np.bool_] = True  # type: ignore[assignment]  # a scalar is repeated
    """Mask of the integer columns; a scalar is repeated. The other parameters are those of
    :class:`LinearProgram`."""

    def __post_init__(self) -> None:
        LinearProgram.__post_init__(self)
        n = len(self.cost)
        integer = np.array(self.integer, dtype=np.bool_)
        integer = np.full(n, integer) if integer.ndim == 0 else integer
        if integer.shape != (n,):
            raise ParameterError(
                "integer_shape",
                "integer has shape {shape}, expected ({n},)",
                where="IntegerProgram",
                fix="one per column",
                shape=integer.shape,
                n=n,
            )
        integer.setflags(write=False)
        object.__setattr__(self, "integer", integer)


def solve(
    program: IntegerProgram,
    *,
    gap: float = 0.0,
    start: ArrayLike | None = None,
    seed: int = 0,
    threads: int = 1,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    work: CountedWork | None = None,
) -> Solution:
    """Minimise an integer program.

    Parameters
    ----------
    program
        Program to solve.
    gap
        Relative gap at which to stop; zero for the optimum.
    start
        A feasible point.
    seed, threads
        Random seed, and number of threads, which does not change the solution.
    time_limit_s
        Seconds; the only use of the clock. At the limit the status is ``SolverStatus.LIMIT``, with the bound
        and gap reached.
    work_limit
        Maximum number of nodes of the search tree: a limit that is the same on every computer.
    work
        Counts the simplex steps of all nodes, together with other steps of the same search. What remains of
        it limits the nodes of a run, and the rounds of cuts and heuristics at its root; once it is used up,
        the status is ``SolverStatus.LIMIT``.

    Examples
    --------
    Three parts of a total of 10, the first twice the second: the third cannot be zero in integers.

    >>> program = IntegerProgram(cost=[0, 0, 1], relations=[[1, 1, 1], [1, -2, 0]], rhs=[10, 0])
    >>> solve(program).value
    1.0
    """
    work = CountedWork() if work is None else work
    if work.over:
        return Solution(SolverStatus.LIMIT)
    if np.any(program.lower > program.upper) or np.any(program.row_ends[0] > program.row_ends[1]):
        return Solution(SolverStatus.INFEASIBLE)
    if not program.integer.any():
        limits: dict[str, Any] = {"threads": threads, "time_limit_s": time_limit_s, "work": work}
        with open_program(program, **limits) as warm:
            return warm.solve(program.cost)
    rows = program.row_ends
    sizes = np.concatenate([*rows, program.lower, program.upper])
    scale = Scale.of(program.relations, sizes, fixed=program.integer)
    unit = float(power_of_two(np.abs(program.cost * scale.column).max(initial=0.0)))
    options = {
        "threads": threads,
        "random_seed": seed,
        "mip_rel_gap": gap,
        "mip_abs_gap": 0.0,
        **({} if time_limit_s is None else {"time_limit": float(time_limit_s)}),
    }
    for tolerance in (WHOLE, FEASIBLE):
        nodes = _nodes_left(work, program, work_limit)
        options |= {} if nodes is None else {"mip_max_nodes": nodes}
        highs = engine({**options, "mip_feasibility_tolerance": tolerance})
        hand_over(
            highs,
            program.relations,
            scale.matrix(program.relations),
            program.cost * scale.column / unit,
            (program.lower / scale.column, program.upper / scale.column),
            (rows[0] * scale.row, rows[1] * scale.row),
            program.integer,
        )
        if start is not None:
            _begin(highs, np.asarray(start, dtype=np.float64) / scale.column)
        _limit_root(highs, work, program)
        status = run(highs, threads)
        _count(work, highs, program)
        if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            # Presolve found a ray of the relaxation and stopped: test whether there is a feasible point.
            still = replace(program, cost=np.zeros(len(program.cost)))
            anywhere = solve(still, seed=seed, threads=threads, work=work)
            if anywhere.status is SolverStatus.LIMIT:
                return anywhere
            status = (
                SolverStatus.INFEASIBLE
                if anywhere.status is SolverStatus.INFEASIBLE
                else SolverStatus.UNBOUNDED
            )
        if status is None:
            continue
        solution = _read(highs, status, program, scale, unit)
        if solution is not None:
            return solution
    n_rows, n_columns = program.relations.shape
    raise SolverError(
        "integer_program_untrusted",
        "an integer program of {n_columns} columns and {n_rows} rows has no trustworthy answer",
        where="solver",
        fix="look for values of very different size in one table, or split it",
        n_columns=n_columns,
        n_rows=n_rows,
    )


def _nodes_left(work: CountedWork, program: IntegerProgram, work_limit: int | None) -> int | None:
    """Return the maximum number of nodes of a run, at least one; None for no limit."""
    if not np.isfinite(work.limit):
        return work_limit
    nodes = int(min(work.left // (STEPS_PER_FACTORISATION * _step(program)) + 1, NO_LIMIT))
    return nodes if work_limit is None else min(nodes, work_limit)


def _count(work: CountedWork, highs: Any, program: IntegerProgram) -> None:
    """Count the simplex steps of a run."""
    steps = SET_UP + max(0, highs.getInfo().simplex_iteration_count)
    work.add(steps * _step(program))
    if highs.getModelStatus() == highspy.HighsModelStatus.kInterrupt:
        work.add(work.left)


def _step(program: IntegerProgram) -> int:
    """Return the work of a simplex step."""
    return int(program.relations.nnz + sum(program.relations.shape))


def _limit_root(highs: Any, work: CountedWork, program: IntegerProgram) -> None:
    """Stop HiGHS when rounds at the root of the search tree have used up the work that remains."""
    if not np.isfinite(work.limit):
        return
    left = work.left / _step(program)

    def ask(event: Any) -> None:
        nonlocal left
        if event.data_out.mip_node_count == 0:
            left -= STEPS_PER_ROUND
            if left < 0:
                event.interrupt()

    highs.cbMipInterrupt.subscribe(ask)


def _begin(highs: Any, point: Floats) -> None:
    """Pass a starting point; HiGHS checks it and silently ignores an infeasible one."""
    begin = highspy.HighsSolution()
    begin.col_value = list(point)
    begin.value_valid = True
    highs.setSolution(begin)


def _read(
    highs: Any, status: SolverStatus, program: IntegerProgram, scale: Scale, unit: float
) -> Solution | None:
    """Return the solution at the rounded point; None if that is not feasible."""
    if status is SolverStatus.INFEASIBLE:
        return Solution(status)
    if status is SolverStatus.UNBOUNDED:
        return Solution(status, -np.inf)
    bound = float(highs.getInfo().mip_dual_bound) * unit
    x = _whole(np.asarray(highs.getSolution().col_value) * scale.column, program, scale)
    if x is None:
        # A limit may be reached before a point is found; an optimum without a point is not a solution.
        return Solution(status, bound=bound, gap=np.inf) if status is SolverStatus.LIMIT else None
    value = float(program.cost @ x)
    if status is SolverStatus.OPTIMAL and _exact(program):
        # Costs and columns are integer: a bound within half a unit of the value is the value.
        bound = value if bound > value - 0.5 else bound
    gap = abs(value - bound) / max(abs(value), 1e-12) if np.isfinite(bound) else np.inf
    return Solution(status, value, x, bound=bound, gap=0.0 if value == bound else gap)


def _exact(program: IntegerProgram) -> bool:
    priced = program.cost != 0
    cost = program.cost[priced]
    return bool(program.integer[priced].all() and np.array_equal(cost, np.round(cost)))


def _whole(x: Floats, program: IntegerProgram, scale: Scale) -> Floats | None:
    """Round integer columns and solve for the others; None if that violates rows or bounds."""
    integer = program.integer
    if len(x) != len(integer) or not np.isfinite(x).all():
        return None
    rounded = np.round(x)
    if np.any(np.abs(rounded - x)[integer] > 10 * WHOLE):
        return None
    x = np.where(integer, rounded, x)
    if not integer.all():
        return _fill(x, program)
    activity = program.relations @ x
    absolute = sparse.csr_array(abs(program.relations))
    slack = ROUNDING * (absolute @ np.abs(x)) + GRANTED / scale.row
    low, high = program.row_ends
    outside = np.any(activity < low - slack) or np.any(activity > high + slack)
    beyond = np.any(x < program.lower) or np.any(x > program.upper)
    return None if outside or beyond else x


def _fill(x: Floats, program: IntegerProgram) -> Floats | None:
    integer = program.integer
    lower = np.where(integer, x, program.lower)
    upper = np.where(integer, x, program.upper)
    fixed = LinearProgram(program.cost, program.relations, program.rhs, lower, upper, program.row_upper)
    with open_program(fixed) as warm:
        return warm.solve(program.cost, details=False).x
