"""Ends of intervals: the least and largest value of every cell of a problem.

Cells that follow by adding and subtracting are taken out first; groups of cells that no relation joins are
worked on apart: networks by maximum flows, other groups by linear programs, and over whole numbers by integer
programs where these do not give whole ends by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hitoku.feasibility.incidence import parts_of
from hitoku.feasibility.linear import Met, any_point, stretch_linear
from hitoku.feasibility.network import stretch_network
from hitoku.feasibility.presolve import Settled, fixed, settle
from hitoku.feasibility.problem import Problem, contradiction
from hitoku.model import WHOLE, Floats, Integers, Mask
from hitoku.solver.integer import IntegerProgram, solve
from hitoku.solver.linear import SolverStatus
from hitoku.solver.work import Deadline

Pair = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class EndSearch:
    """How the ends of intervals are looked for."""

    integer: bool = False
    """Over whole numbers only."""
    flows: bool = True
    """Take networks by maximum flows; otherwise by linear programs, with the same answers."""
    most_cells: int | None = None
    """Groups of more cells that hang together and are no network are not gone into; None for no limit."""

    def ends(
        self, problem: Problem, deadline: Deadline, goals: Pair | None = None
    ) -> tuple[Floats, Floats, Mask]:
        """Return the ends for every cell, in units of the problem, and the cells not reached in time.

        With goals, the least and largest values met on the way to them; without, the exact ends.
        """
        found = _Ends(self, problem, goals, settle(problem), deadline)
        found.networks()
        found.others()
        return found.low, found.high, found.unknown


class _Ends:
    """The ends of one set of equations while they are worked out."""

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
        """Drop goals that one relation alone puts out of reach."""
        low, high = goals
        return (
            np.where(low < self.settled.lower, np.nan, low),
            np.where(high > self.settled.upper, np.nan, high),
        )

    def _at(self, cells: Integers) -> tuple[Problem, Integers, Pair, Pair]:
        """Problem of some of the open cells, where these are among all, their implied bounds and goals."""
        rest, settled = self.settled.rest, self.settled
        places = settled.cells[cells]
        part = rest.part(cells, rest.rhs, rest.lower[cells], rest.upper[cells])
        implied = settled.lower[places], settled.upper[places]
        return part, places, implied, (self.goals[0][places], self.goals[1][places])

    def networks(self) -> None:
        """All networks in one go: flows do not leave their group."""
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
        """Take the groups that are no networks one after the other."""
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
            if not self.asked and self._exposed(part, places):
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

    def _exposed(self, part: Problem, places: Integers) -> bool:
        """Take out cells that adding and subtracting gives away, and solve what they leave, if any."""
        mask, _ = fixed(part.matrix)
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
    """Push every cell down to its low goal and up to its high goal over whole numbers.

    Beyond two dimensions the least count may be 2.5 for a linear program and 3 in truth. Each end starts from
    the linear bound rounded inwards; a whole table met on the way that stands there settles it.

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
    lower = np.maximum(np.ceil(outer[0] - WHOLE), equations.lower)
    upper = np.minimum(np.floor(outer[1] + WHOLE), equations.upper)
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
