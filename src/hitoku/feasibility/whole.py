"""Interval ends over whole numbers, where linear programs do not give them by themselves.

Beyond two dimensions the least count may be 2.5 for a linear program and 3 in truth. Each end starts from the
linear bound rounded inwards; a whole table met on the way that stands there settles it without a search.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hitoku.feasibility.deadline import Deadline
from hitoku.feasibility.linear import Met
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.model import Floats, Mask
from hitoku.solver.integer import IntegerProgram, solve
from hitoku.solver.linear import SolverStatus

# A linear bound this far beyond a whole number still counts as that number.
ROUND_IN = 1e-6


def stretch_whole(
    equations: Problem,
    real: Met,
    outer: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats, Mask]:
    """Push every cell down to its low goal and up to its high goal over whole numbers.

    Parameters
    ----------
    equations
        The polyhedron, counted in ones.
    real
        What points met so far have shown, whole ones among them.
    outer
        Bounds that hold for every real point; rounded inwards they hold for every whole one.
    goals
        Where to stop; NaN where nothing is asked.
    deadline
        When to stop.

    Returns
    -------
    The least and largest whole values, and the cells that were not reached in time.
    """
    low, high, unknown = real.whole_low, real.whole_high, np.zeros(equations.n_cells, dtype=np.bool_)
    lower = np.maximum(np.ceil(outer[0] - ROUND_IN), equations.lower)
    upper = np.minimum(np.floor(outer[1] + ROUND_IN), equations.upper)
    program = IntegerProgram(np.zeros(equations.n_cells), equations.matrix, equations.rhs, lower, upper)
    for cell in range(equations.n_cells):
        for sign in (-1.0, 1.0):
            goal = goals[1][cell] if sign < 0 else goals[0][cell]
            end = upper[cell] if sign < 0 else lower[cell]
            best = high[cell] if sign < 0 else low[cell]
            # Reached: the goal, or the rounded linear bound, beyond which nothing can be.
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
