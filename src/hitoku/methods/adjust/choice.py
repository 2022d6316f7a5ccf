"""Directions chosen by the optimiser: branch and bound, with every bound proven by multipliers."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import SolverError, some
from hitoku.methods.adjust.disjunction import Disjunction
from hitoku.methods.adjust.senses import DOWN, UP, AllowedDeviations, fewest_changes
from hitoku.methods.method import Progress
from hitoku.methods.tuning import ADJUST
from hitoku.model import SOLVED, Floats, Integers, Labels
from hitoku.solver import integer, quadratic
from hitoku.solver.closest import Closest, DeviationProgram, Norm, closest
from hitoku.solver.quadratic import QuadraticProgram, solve
from hitoku.solver.solution import CountedWork, SolverStatus


@dataclass(frozen=True, slots=True)
class Chosen:
    """Directions, the table that they give, and a lower bound for all directions."""

    sense: Floats
    found: Closest
    bound: float


@dataclass(frozen=True, slots=True)
class AdjustmentProblem:
    """Adjustment of one table: allowed deviations, cost and limits."""

    relations: Any
    levels: AllowedDeviations
    weight: Floats
    norm: Norm
    time_limit_s: float | None = None
    gap: float = 0.0
    work: CountedWork = field(default_factory=CountedWork)

    def within(self, sense: Floats) -> DeviationProgram:
        """Return the problem with the hard bounds of given directions."""
        lower, upper = self.levels.within(sense)
        return DeviationProgram(relations=self.relations, weight=self.weight, lower=lower, upper=upper)

    def closest(self, sense: Floats) -> Closest:
        """Return the closest table for these directions."""
        return closest(self.within(sense), self.norm, work=self.work)

    def repair_senses(self, sense: Floats) -> Floats:
        """Reverse as few directions as possible so that a table exists."""
        return fewest_changes(
            self.relations, self.levels, sense, time_limit_s=self.time_limit_s, work=self.work
        )


def cheapest(task: AdjustmentProblem, starts: list[Floats], progress: Progress | None = None) -> Chosen:
    """Find the directions of least distance.

    Parameters
    ----------
    task
        Adjustment problem of the table.
    starts
        Initial directions; the best of them also limits how far a cell needs to move.
    progress
        Called with the bound and the best known cost.
    """
    best = _best_of(task, starts)
    cost = best.found.cost
    if task.norm == "linf":
        form = Disjunction.of_largest(task.relations, task.levels, task.weight, cost)
    else:
        form = Disjunction.of(task.relations, task.levels, task.weight, task.norm, cost)
    if task.norm == "l2":
        return _branch(task, form, best, progress)
    try:
        found = integer.solve(
            form.integer(), gap=max(task.gap, ADJUST.gap), time_limit_s=task.time_limit_s, work=task.work
        )
    except SolverError:
        # The best start is returned without a proof.
        return Chosen(best.sense, best.found, 0.0)
    # A search that did not begin has no bound.
    bound = 0.0 if np.isnan(found.bound) else found.bound + form.constant
    if found.x is not None:
        sense = form.senses(found.x[form.choice], len(task.weight))
        best = _better(best, sense, _solve_directions(task, sense))
    elif found.status is not integer.SolverStatus.LIMIT:
        # The cut-off equals the cost of the best known table, so nothing beyond it is better.
        bound = cost
    return Chosen(best.sense, best.found, min(bound, best.found.cost))


def _best_of(task: AdjustmentProblem, starts: list[Floats]) -> Chosen:
    known = [
        (sense, found) for sense in starts if (found := _solve_directions(task, sense)) and found.optimal
    ]
    if not known:
        sense = task.repair_senses(starts[0])
        known = [(sense, task.closest(sense))]
    sense, found = min(known, key=lambda pair: pair[1].cost)
    if found.status is SolverStatus.LIMIT:
        raise not_decided(int(np.count_nonzero(sense)))
    if not found.optimal:
        raise SolverError(
            "senses_lead_to_no_table",
            "senses that an integer program found lead to no table",
            where="{n_sense} unsafe cells",
            fix="look for values of very different size in one table, or set repair='elastic'",
            n_sense=int(np.count_nonzero(sense)),
        )
    return Chosen(sense, found, -np.inf)


def not_decided(n_unsafe: int) -> SolverError:
    """Make the error for a search that ends without a table."""
    return SolverError(
        "adjust_work_limit",
        "not decided: the search reached its work limit without a table",
        where="method adjust, {n_unsafe} unsafe cells",
        fix="raise work_limit, or merge codes",
        n_unsafe=n_unsafe,
    )


def _solve_directions(task: AdjustmentProblem, sense: Floats) -> Closest | None:
    """Return the closest table for these directions, or None if no algorithm has a trustworthy answer."""
    try:
        return task.closest(sense)
    except SolverError:
        return None


def _better(best: Chosen, sense: Floats, found: Closest | None) -> Chosen:
    if found is None or not found.optimal or found.cost >= best.found.cost:
        return best
    return Chosen(sense, found, best.bound)


def _branch(task: AdjustmentProblem, form: Disjunction, best: Chosen, progress: Progress | None) -> Chosen:
    """Branch and bound over directions, lowest bound first; every bound is proven by its multipliers."""
    began, count = time.monotonic(), itertools.count()
    free = np.full(len(form.cells), np.nan)
    # Least bound of directions that no algorithm could solve: they may be better than the best.
    unsolved = np.inf
    heap: list[tuple[float, int, Floats]] = [(0.0, next(count), free)]
    while heap:
        bound, _, fixed = heapq.heappop(heap)
        cost = best.found.cost
        if bound >= cost * (1 - max(task.gap, ADJUST.gap)):
            return Chosen(best.sense, best.found, min(bound, unsolved, cost))
        late = task.time_limit_s is not None and time.monotonic() - began > task.time_limit_s
        if late or task.work.over:
            return Chosen(best.sense, best.found, min(bound, unsolved))
        if progress is not None:
            progress(bound, cost)
        undecided = np.isnan(fixed)
        relaxed = _relax_node(task, form, fixed, bound)
        if relaxed is None:
            continue
        share, below = relaxed
        sense = form.senses(np.where(undecided, share, fixed), len(task.weight))
        found = _solve_directions(task, sense)
        best = _better(best, sense, found)
        if not undecided.any():
            unsolved = min(unsolved, below) if found is None else unsolved
            continue
        place = int(np.argmin(np.where(undecided, np.abs(share - 0.5), np.inf)))
        for side in (0.0, 1.0):
            child = fixed.copy()
            child[place] = side
            heapq.heappush(heap, (below, next(count), child))
    return Chosen(best.sense, best.found, min(unsolved, best.found.cost))


def _relax_node(
    task: AdjustmentProblem, form: Disjunction, fixed: Floats, bound: float
) -> tuple[Floats, float] | None:
    """Return shares and bound of a node, or None if no table satisfies the fixed directions."""
    try:
        relaxed = quadratic.solve(form.relaxed(fixed), work=task.work)
    except SolverError:
        relaxed = None
    if relaxed is None or relaxed.status is SolverStatus.LIMIT:
        # Only the bound of its parent is known; its children may be easier.
        return np.full(len(fixed), 0.5), bound
    if relaxed.x is None:
        return None
    return relaxed.x[form.choice], max(bound, relaxed.bound + form.constant)


def both_ways(levels: AllowedDeviations) -> list[Floats]:
    """Return all up and all down, each reversed where a cell cannot move that way."""
    can_up, can_down = levels.can(UP), levels.can(DOWN)
    up = np.where(levels.unsafe, np.where(can_up, UP, DOWN), 0)
    down = np.where(levels.unsafe, np.where(can_down, DOWN, UP), 0)
    return [up.astype(np.float64), down.astype(np.float64)]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Proof that directions contradict each other."""

    short: Integers  # Unsafe cells below their level when the sum of relative shortfalls is least.
    # unsafe, held: cells in the contradiction: those whose level it uses, and those whose bound or fixed
    # value it uses.
    unsafe: Integers
    held: Integers
    relations: Integers  # Relations that connect them.

    def describe(self, labels: Labels) -> str:
        """Describe the contradiction by codes."""
        names = [labels.describe(int(cell)) for cell in self.unsafe[:4]]
        text = f"{len(self.unsafe)} unsafe cell(s) [{some(names, 3)}]"
        if len(self.held):
            names = [labels.describe(int(cell)) for cell in self.held[:4]]
            text += f" against {len(self.held)} held cell(s) [{some(names, 3)}]"
        return f"{text}, tied by {len(self.relations)} relation(s)"


def conflict(task: AdjustmentProblem, sense: Floats) -> Conflict | None:
    """Find a contradiction between directions, or None if some table satisfies them all.

    Only levels may be missed, at a price. The multipliers of the cheapest solution identify the cause: the
    relations with a multiplier, weighted by it and added up, leave no slack between the named levels and
    bounds.
    """
    levels, n = task.levels, len(task.weight)
    cells = np.flatnonzero(levels.unsafe)
    unit = 1 / np.sqrt(task.weight) if task.norm == "l2" else 1 / task.weight
    rising = sense[cells] > 0
    level = np.where(rising, levels.up[cells], levels.down[cells])
    direction = np.where(rising, 1.0, -1.0)
    moves = sparse.csr_array((direction, (np.arange(len(cells)), cells)), shape=(len(cells), n)) * unit
    rows = sparse.block_array(
        [[task.relations * unit, None], [moves, sparse.diags_array(level)]], format="csr"
    )
    zero = np.zeros(task.relations.shape[0])
    found = solve(
        QuadraticProgram(
            cost=np.concatenate([np.zeros(n), np.ones(len(cells))]),
            relations=rows,
            rhs=np.concatenate([zero, level]),
            lower=np.concatenate([levels.lower / unit, np.zeros(len(cells))]),
            upper=np.concatenate([levels.upper / unit, np.full(len(cells), np.inf)]),
            row_upper=np.concatenate([zero, np.full(len(cells), np.inf)]),
        ),
        work=task.work,
    )
    if found.x is None or found.duals is None or found.reduced is None or found.value <= SOLVED:
        return None
    ties, demands = np.split(found.duals * np.concatenate([np.ones(len(zero)), level]), [len(zero)])
    pull = np.abs(found.reduced[:n] / unit)
    return Conflict(
        short=cells[found.x[n:] > SOLVED],
        unsafe=cells[np.abs(demands) > SOLVED],
        held=np.flatnonzero((pull > SOLVED * pull.max(initial=0.0)) & ~levels.unsafe),
        relations=np.flatnonzero(np.abs(ties) > SOLVED * np.abs(ties).max(initial=0.0)),
    )
