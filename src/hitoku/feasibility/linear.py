"""Interval ends by linear programs that share everything: one model, its basis, and every solution.

Each optimal point is a table that fits, so it shows something about all cells at once. A cell is asked for on
its own only when no point met so far reaches the bound that one relation alone implies for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hitoku.feasibility.problem import Problem, contradiction
from hitoku.feasibility.tied import Tied, tied
from hitoku.model import ADDITIVITY, ROUNDING, SOLVED, WHOLE, Floats, Mask
from hitoku.solver.linear import LinearProgram, SolverStatus, Warm, opened
from hitoku.solver.work import Deadline


@dataclass(frozen=True, eq=False)
class Met:
    """The least and largest values in any point met so far, and the same for whole points alone.

    ``unknown`` marks cells for which time ran out.
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
        """Return the record of all cells, from that of the cells that stand for them."""
        return Met(
            *tied.members(self.low, self.high),
            *tied.members(self.whole_low, self.whole_high),
            self.unknown[tied.standing],
        )

    def note(self, x: Floats, *, whole: bool) -> None:
        """Take a point into account."""
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
        The polyhedron.
    implied
        Bounds that hold for every point of it.
    goals
        Where to stop; NaN where nothing is asked.
    deadline
        When to stop.
    sums
        Push all open cells at once before each on its own: it pays when goals are less than the ends.
    """
    fewer = tied(equations)
    if fewer is not None:
        inner = fewer.inner(*implied)
        farthest = fewer.farthest(*goals)
        # What cannot be reached is not pursued.
        asked = np.maximum(farthest[0], inner[0]), np.minimum(farthest[1], inner[1])
        met = _stretched(_programs(fewer.equations)[0], fewer.equations, inner, asked, deadline, sums=sums)
        if met is not None:
            return met.of_members(fewer)
    # Numbers that contradict each other by rounding are given room row by row, as they were.
    for program in _programs(equations):
        met = _stretched(program, equations, implied, goals, deadline, sums=sums)
        if met is not None:
            return met
    raise contradiction()


def _stretched(
    program: LinearProgram,
    equations: Problem,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
    *,
    sums: bool,
) -> Met | None:
    """Push every cell in one program; None where it has no point."""
    with opened(program, time_limit_s=deadline.left, work=deadline.work) as warm:
        push = Pushes(warm, equations, implied, goals, Met.nothing(equations.n_cells))
        if push(np.zeros(equations.n_cells), maximise=False) is SolverStatus.INFEASIBLE:
            return None
        return push.all(sums=sums)


def any_point(equations: Problem, deadline: Deadline) -> Floats | None:
    """Return some point of the polyhedron; None when time is over."""
    for program in _programs(equations):
        with opened(program, time_limit_s=deadline.left, work=deadline.work) as warm:
            solution = warm.solve(program.cost, details=False)
        if solution.status is not SolverStatus.INFEASIBLE:
            return None if solution.x is None else snapped(solution.x, equations)
    raise contradiction()


def snapped(x: Floats, equations: Problem) -> Floats:
    """Move numbers that are whole up to the solver's rounding to the whole number itself."""
    if not equations.exact:
        return x
    whole = np.round(x)
    near = np.abs(whole - x) <= np.minimum(SOLVED * np.maximum(1.0, np.abs(x)), WHOLE)
    return np.where(near, whole, x)


def _programs(equations: Problem) -> tuple[LinearProgram, LinearProgram]:
    """Return the program, and the same with room for rounding in its rows in case it has no point."""
    program = LinearProgram(
        np.zeros(equations.n_cells), equations.matrix, equations.rhs, equations.lower, equations.upper
    )
    room = ADDITIVITY * equations.size
    return program, replace(program, rhs=equations.rhs - room, row_upper=equations.rhs + room)


@dataclass(frozen=True, eq=False)
class Pushes:
    """Objective after objective on one open model; every point is noted."""

    warm: Warm
    equations: Problem
    implied: tuple[Floats, Floats]
    goals: tuple[Floats, Floats]
    met: Met

    def __call__(self, cost: Floats, *, maximise: bool) -> SolverStatus:
        solution = self.warm.solve(cost, maximise=maximise, details=False)
        if solution.x is not None and solution.status is not SolverStatus.INFEASIBLE:
            x = snapped(np.clip(solution.x, *self.implied), self.equations)
            whole = self.equations.exact and np.array_equal(x, np.round(x))
            self.met.note(x, whole=whole and np.array_equal(self.equations.matrix @ x, self.equations.rhs))
        return solution.status

    def all(self, *, sums: bool) -> Met:
        """Push everything; what has reached a goal stands on it, as the goal is exact where the data are."""
        # A cell judged too strictly costs one more program, no more.
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
        """Push all cells that are short of their goal at once, as long as that brings some of them there."""
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
