"""Ends of intervals: the least and largest value of every cell of a problem.

Cells that presolve determines are removed first. Connected components are then solved separately: networks by
maximum flows, other components by linear programs, and over whole numbers by integer programs where linear
programs do not give whole ends by themselves. All linear programs of a component share one model, its basis,
and every solution: each optimal point is a table that fits, so it says something about all cells. A cell gets
a program of its own only when no point met so far reaches the bound that one relation implies for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hitoku.feasibility.bound_propagation import Settled, fixed_columns, settle
from hitoku.feasibility.network import stretch_network
from hitoku.feasibility.pattern import parts_of
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.feasibility.push import Tied, tie_cells
from hitoku.model import ADDITIVITY, ROUNDING, SOLVED, WHOLE, Floats, Integers, Mask
from hitoku.solver.integer import IntegerProgram, solve
from hitoku.solver.linear import LinearProgram, SolverStatus, Warm, open_program
from hitoku.solver.solution import Deadline


@dataclass(frozen=True, eq=False)
class Met:
    """Least and largest values in all points met so far, and the same for integer points.

    ``unknown`` marks cells for which a limit was reached.
    """

    low: Floats
    high: Floats
    whole_low: Floats
    whole_high: Floats
    unknown: Mask

    @classmethod
    def nothing(cls, n: int) -> Met:
        """Return the record before any point is met."""
        up, down = np.full(n, np.inf), np.full(n, -np.inf)
        return cls(up, down, up.copy(), down.copy(), np.zeros(n, dtype=np.bool_))

    def of_members(self, tied: Tied) -> Met:
        """Return the record of all cells from that of their representatives."""
        return Met(
            *tied.members(self.low, self.high),
            *tied.members(self.whole_low, self.whole_high),
            self.unknown[tied.standing],
        )

    def note(self, x: Floats, *, whole: bool) -> None:
        """Update the record with a point."""
        np.minimum(self.low, x, out=self.low)
        np.maximum(self.high, x, out=self.high)
        if whole:
            np.minimum(self.whole_low, x, out=self.whole_low)
            np.maximum(self.whole_high, x, out=self.whole_high)


def stretch_linear(
    equations: Problem,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
    *,
    sums: bool,
) -> Met:
    """Push every cell down to its low goal and up to its high goal, or as far as it goes.

    Parameters
    ----------
    equations
        Polyhedron of feasible values.
    implied
        Bounds that hold for all its points.
    goals
        Values at which to stop; NaN for cells to skip.
    deadline
        Limit of seconds and work.
    sums
        Push all open cells together before each on its own, which pays if goals are nearer than the ends.
    """
    fewer = tie_cells(equations)
    if fewer is not None:
        inner = fewer.inner(*implied)
        farthest = fewer.farthest(*goals)
        # Goals beyond the implied bounds cannot be reached.
        asked = np.maximum(farthest[0], inner[0]), np.minimum(farthest[1], inner[1])
        met = _push_all(_programs(fewer.equations)[0], fewer.equations, inner, asked, deadline, sums=sums)
        if met is not None:
            return met.of_members(fewer)
    # If numbers contradict each other by rounding, rows get a tolerance.
    for program in _programs(equations):
        met = _push_all(program, equations, implied, goals, deadline, sums=sums)
        if met is not None:
            return met
    raise contradiction()


def _push_all(
    program: LinearProgram,
    equations: Problem,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
    *,
    sums: bool,
) -> Met | None:
    """Push every cell in one program; None if it is infeasible."""
    with open_program(program, time_limit_s=deadline.left, work=deadline.work) as warm:
        push = Pushes(warm, equations, implied, goals, Met.nothing(equations.n_cells))
        if push(np.zeros(equations.n_cells), maximise=False) is SolverStatus.INFEASIBLE:
            return None
        return push.all(sums=sums)


def any_point(equations: Problem, deadline: Deadline) -> Floats | None:
    """Return a point of the polyhedron; None if a limit was reached."""
    for program in _programs(equations):
        with open_program(program, time_limit_s=deadline.left, work=deadline.work) as warm:
            solution = warm.solve(program.cost, details=False)
        if solution.status is not SolverStatus.INFEASIBLE:
            return None if solution.x is None else snap(solution.x, equations)
    raise contradiction()


def snap(x: Floats, equations: Problem) -> Floats:
    """Round numbers that are integer up to the solver's tolerance."""
    if not equations.exact:
        return x
    whole = np.round(x)
    near = np.abs(whole - x) <= np.minimum(SOLVED * np.maximum(1.0, np.abs(x)), WHOLE)
    return np.where(near, whole, x)


def _programs(equations: Problem) -> tuple[LinearProgram, LinearProgram]:
    """Return the program, and the same with a tolerance in its rows in case it is infeasible."""
    program = LinearProgram(
        np.zeros(equations.n_cells), equations.matrix, equations.rhs, equations.lower, equations.upper
    )
    slack = ADDITIVITY * equations.size
    return program, replace(program, rhs=equations.rhs - slack, row_upper=equations.rhs + slack)


@dataclass(frozen=True, eq=False)
class Pushes:
    """Objectives pushed one after the other on one open model; every point is recorded."""

    warm: Warm
    equations: Problem
    implied: tuple[Floats, Floats]
    goals: tuple[Floats, Floats]
    met: Met

    def __call__(self, cost: Floats, *, maximise: bool) -> SolverStatus:
        solution = self.warm.solve(cost, maximise=maximise, details=False)
        if solution.x is not None and solution.status is not SolverStatus.INFEASIBLE:
            x = snap(np.clip(solution.x, *self.implied), self.equations)
            whole = self.equations.exact and np.array_equal(x, np.round(x))
            self.met.note(x, whole=whole and np.array_equal(self.equations.matrix @ x, self.equations.rhs))
        return solution.status

    def all(self, *, sums: bool) -> Met:
        """Push all cells; a cell that has reached its goal is set to it, because goals are not rounded."""
        # Too strict a tolerance only costs one more program.
        near = ROUNDING * self.equations.reach
        near = np.minimum(near, WHOLE) if self.equations.exact else near
        low_goal, high_goal = self.goals[0] + near, self.goals[1] - near
        everything = np.ones(self.equations.n_cells)
        self(everything, maximise=True)
        self(everything, maximise=False)
        if sums:
            self._together(high_goal, maximise=True)
            self._together(low_goal, maximise=False)
        for cell in range(self.equations.n_cells):
            if self.met.high[cell] < high_goal[cell]:
                self._alone(cell, self.met.high, np.inf, maximise=True)
            if self.met.low[cell] > low_goal[cell]:
                self._alone(cell, self.met.low, -np.inf, maximise=False)
        np.copyto(self.met.low, self.goals[0], where=self.met.low <= low_goal)
        np.copyto(self.met.high, self.goals[1], where=self.met.high >= high_goal)
        return self.met

    def _together(self, goal: Floats, *, maximise: bool) -> None:
        """Push all cells short of their goal together, as long as some of them reach it."""
        while True:
            short = self.met.high < goal if maximise else self.met.low > goal
            if short.sum() < 2 or self(short.astype(np.float64), maximise=maximise) is SolverStatus.LIMIT:
                return
            still = self.met.high < goal if maximise else self.met.low > goal
            if still.sum() == short.sum():
                return

    def _alone(self, cell: int, ends: Floats, end: float, *, maximise: bool) -> None:
        one = np.zeros(len(ends))
        one[cell] = 1.0
        status = self(one, maximise=maximise)
        if status is SolverStatus.LIMIT:
            self.met.unknown[cell] = True
        elif status is SolverStatus.UNBOUNDED:
            ends[cell] = end


Pair = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class EndSearch:
    """Settings of the search for ends of intervals."""

    integer: bool = False
    """Over integers only."""
    flows: bool = True
    """Solve networks by maximum flows; otherwise by linear programs, with the same results."""
    most_cells: int | None = None
    """Maximum size of components that are not networks; larger ones are skipped. None for no limit."""

    def ends(
        self, problem: Problem, deadline: Deadline, goals: Pair | None = None
    ) -> tuple[Floats, Floats, Mask]:
        """Return the ends of every cell, in units of the problem, and the cells that were not finished.

        With goals, the least and largest values met on the way to them; without, the exact ends.
        """
        found = _Ends(self, problem, goals, settle(problem), deadline)
        found.networks()
        found.others()
        return found.low, found.high, found.unknown


class _Ends:
    """State of the search for the ends of one problem."""

    def __init__(
        self,
        how: EndSearch,
        problem: Problem,
        goals: Pair | None,
        settled: Settled,
        deadline: Deadline,
    ) -> None:
        self.how, self.settled, self.deadline = how, settled, deadline
        self.low, self.high = settled.lower.copy(), settled.upper.copy()
        self.unknown = np.zeros(problem.n_cells, dtype=np.bool_)
        self.asked = goals is not None
        self.goals = (settled.lower, settled.upper) if goals is None else self._within(goals)
        self.matrix = settled.rest.matrix
        self.parts = parts_of(self.matrix)
        self.network = self.parts.network & how.flows

    def _within(self, goals: Pair) -> Pair:
        """Drop goals that presolve shows to be out of reach."""
        low, high = goals
        return (
            np.where(low < self.settled.lower, np.nan, low),
            np.where(high > self.settled.upper, np.nan, high),
        )

    def _at(self, cells: Integers) -> tuple[Problem, Integers, Pair, Pair]:
        """Return the problem in some open cells, their indices among all cells, implied bounds and goals."""
        rest, settled = self.settled.rest, self.settled
        places = settled.cells[cells]
        part = rest.part(cells, rest.rhs, rest.lower[cells], rest.upper[cells])
        implied = settled.lower[places], settled.upper[places]
        return part, places, implied, (self.goals[0][places], self.goals[1][places])

    def networks(self) -> None:
        """Solve all networks together: flows do not leave their component."""
        tied = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]) > 0
        cells = np.flatnonzero(self.network[self.parts.cell] & tied)
        if len(cells) == 0:
            return
        rows = np.flatnonzero(self.network[self.parts.row])
        part, places, implied, goals = self._at(cells)
        ends = stretch_network(
            part, self.parts.row[rows], self.parts.sign[rows], implied, goals, self.deadline
        )
        self._keep(places, *ends)

    def others(self) -> None:
        """Solve the components that are not networks one after the other."""
        parts = self.parts
        order = np.argsort(parts.cell, kind="stable")
        starts = np.searchsorted(parts.cell[order], np.arange(parts.n + 1))
        row_count = np.bincount(parts.row, minlength=parts.n)
        for group in range(parts.n):
            if self.network[group] or row_count[group] == 0:
                continue
            part, places, implied, goals = self._at(order[starts[group] : starts[group + 1]])
            if self.how.most_cells is not None and len(places) > self.how.most_cells:
                self.unknown[places] = True
                continue
            if not self.asked and self._determine_cells(part, places):
                continue
            met = stretch_linear(part, implied, goals, self.deadline, sums=self.asked)
            if not self.how.integer:
                self._keep(places, met.low, met.high, met.unknown)
                continue
            outer = implied
            if not self.asked:
                low, high = (
                    np.where(met.unknown, implied[side], (met.low, met.high)[side]) for side in (0, 1)
                )
                outer = low, high
            self._keep(places, *stretch_whole(part, met, outer, goals, self.deadline))

    def _determine_cells(self, part: Problem, places: Integers) -> bool:
        """Determine cells by linear algebra, and solve for the others, if any."""
        mask, _ = fixed_columns(part.matrix)
        if not mask.any():
            return False
        point = any_point(part, self.deadline)
        if point is None:
            self.unknown[places] = True
            return True
        given = point[mask]
        if self.how.integer and not np.array_equal(given, np.round(given)):
            raise contradiction()
        self.low[places[mask]] = self.high[places[mask]] = np.clip(given, part.lower[mask], part.upper[mask])
        left = np.flatnonzero(~mask)
        if len(left):
            rhs = part.rhs - part.matrix[:, np.flatnonzero(mask)] @ given
            rest = part.part(left, rhs, part.lower[left], part.upper[left])
            low, high, unknown = self.how.ends(rest, self.deadline)
            self.low[places[left]], self.high[places[left]], self.unknown[places[left]] = low, high, unknown
        return True

    def _keep(self, places: Integers, low: Floats, high: Floats, unknown: Mask) -> None:
        """Write ends back; bounds that hold anyway stand for cells not reached in time."""
        self.unknown[places] = unknown
        if self.asked:
            self.low[places], self.high[places] = low, high
            return
        low = np.where(unknown, self.settled.lower[places], np.maximum(low, self.settled.lower[places]))
        high = np.where(unknown, self.settled.upper[places], np.minimum(high, self.settled.upper[places]))
        self.low[places], self.high[places] = low, np.maximum(low, high)


def stretch_whole(
    equations: Problem,
    real: Met,
    outer: Pair,
    goals: Pair,
    deadline: Deadline,
) -> tuple[Floats, Floats, Mask]:
    """Push every cell down to its low goal and up to its high goal over integers.

    Beyond two dimensions the least count may be 2.5 in a linear program and 3 over integers. Each end starts
    from the linear bound rounded inwards; an integer table met on the way that attains it settles it.

    Parameters
    ----------
    equations
        The polyhedron, in integer units.
    real
        Record of the points met so far, including integer ones.
    outer
        Bounds that hold for all real points; rounded inwards they hold for all integer points.
    goals
        Values at which to stop; NaN for cells to skip.
    deadline
        Limit of seconds and work.

    Returns
    -------
    Least and largest integer values, and the cells that were not finished within the limits.
    """
    low, high, unknown = real.whole_low, real.whole_high, np.zeros(equations.n_cells, dtype=np.bool_)
    lower = np.maximum(np.ceil(outer[0] - WHOLE), equations.lower)
    upper = np.minimum(np.floor(outer[1] + WHOLE), equations.upper)
    program = IntegerProgram(np.zeros(equations.n_cells), equations.matrix, equations.rhs, lower, upper)
    for cell in range(equations.n_cells):
        for sign in (-1.0, 1.0):
            goal = goals[1][cell] if sign < 0 else goals[0][cell]
            end = upper[cell] if sign < 0 else lower[cell]
            best = high[cell] if sign < 0 else low[cell]
            # Reached: the goal, or the rounded linear bound, beyond which there are no points.
            if np.isnan(goal) or sign * best <= sign * goal or sign * best <= sign * end:
                continue
            if deadline.over:
                unknown[cell] = True
                continue
            cost = np.zeros(equations.n_cells)
            cost[cell] = sign
            solution = solve(replace(program, cost=cost), time_limit_s=deadline.left, work=deadline.work)
            if solution.status is SolverStatus.INFEASIBLE:
                raise contradiction()
            if solution.status is SolverStatus.UNBOUNDED:
                (high if sign < 0 else low)[cell] = -sign * np.inf
                continue
            if solution.x is not None:
                np.minimum(low, solution.x, out=low)
                np.maximum(high, solution.x, out=high)
            if solution.status is SolverStatus.LIMIT:
                unknown[cell] = True
    return low, high, unknown
