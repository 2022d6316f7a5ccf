"""Senses chosen by optimisation: the cheapest ones, or the fewest changes that make given ones possible."""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import ProtectionError
from hitoku.methods.adjust.disjunction import Disjunction
from hitoku.methods.adjust.levels import DOWN, UP, Levels
from hitoku.methods.method import Progress
from hitoku.model.arrays import Floats
from hitoku.solver import integer, quadratic
from hitoku.solver.closest import Closest, Deviations, Norm, closest

# Two costs closer than this share of the larger are not told apart: the solver's own accuracy.
SAME = 1e-7


@dataclass(frozen=True, slots=True)
class Chosen:
    """Senses, the table they lead to, and what no senses can beat."""

    sense: Floats
    found: Closest
    bound: float


@dataclass(frozen=True, slots=True)
class Task:
    """One table to adjust: what is allowed, what it costs, when to stop."""

    relations: Any
    levels: Levels
    weight: Floats
    norm: Norm
    time_limit_s: float | None = None
    gap: float = 0.0

    def within(self, sense: Floats) -> Deviations:
        """Hard bounds for given senses."""
        lower, upper = self.levels.within(sense)
        return Deviations(relations=self.relations, weight=self.weight, lower=lower, upper=upper)

    def closest(self, sense: Floats) -> Closest:
        return closest(self.within(sense), self.norm)


def fewest_changes(task: Task, sense: Floats) -> Floats:
    """Turn as few senses around as possible so that some table keeps them all."""
    form = Disjunction.of(task.relations, task.levels, task.weight, task.norm, np.inf)
    cost = np.zeros(len(form.cost))
    # One for every sense that is turned around, up to a constant.
    cost[form.choice] = np.where(sense[form.cells] > 0, -1.0, 1.0)
    found = integer.solve(form.integer(cost), time_limit_s=task.time_limit_s)
    if found.x is None:
        limited = found.status is integer.Status.LIMIT
        raise ProtectionError(
            "no senses were found within the time limit" if limited else "no senses lead to a safe table",
            where=f"{len(form.cells)} unsafe cells",
            fix="free some of the cells that are kept, widen bounds, or ask for repair='elastic'",
        )
    return form.senses(found.x, len(sense))


def cheapest(task: Task, starts: list[Floats], progress: Progress | None = None) -> Chosen:
    """Find the senses of least distance.

    Parameters
    ----------
    task
        The table.
    starts
        Senses to begin with; the best of them also says how far no cell need move.
    progress
        Called with the bound and the best cost known.
    """
    best = _best_of(task, starts)
    cost = best.found.cost
    form = Disjunction.of(task.relations, task.levels, task.weight, task.norm, cost)
    if task.norm == "l2":
        return _branch(task, form, best, progress)
    found = integer.solve(form.integer(), gap=max(task.gap, SAME), time_limit_s=task.time_limit_s)
    bound = found.bound + form.constant
    if found.x is not None:
        best = _better(task, best, form.senses(found.x, len(task.weight)))
    elif found.status is not integer.Status.LIMIT:
        # The cut-off lies on the best table known: what is left beyond it is nothing better.
        bound = cost
    return Chosen(best.sense, best.found, min(bound, best.found.cost))


def _best_of(task: Task, starts: list[Floats]) -> Chosen:
    tried = [(sense, task.closest(sense)) for sense in starts]
    feasible = [(sense, found) for sense, found in tried if found.optimal]
    if not feasible:
        sense = fewest_changes(task, starts[0])
        feasible = [(sense, task.closest(sense))]
    sense, found = min(feasible, key=lambda pair: pair[1].cost)
    return Chosen(sense, found, -np.inf)


def _better(task: Task, best: Chosen, sense: Floats) -> Chosen:
    found = task.closest(sense)
    return Chosen(sense, found, best.bound) if found.optimal and found.cost < best.found.cost else best


def _branch(task: Task, form: Disjunction, best: Chosen, progress: Progress | None) -> Chosen:
    """Branch and bound over senses, the lowest bound first; every bound is proven by its multipliers."""
    began, count = time.monotonic(), itertools.count()
    free = np.full(len(form.cells), np.nan)
    heap: list[tuple[float, int, Floats]] = [(0.0, next(count), free)]
    while heap:
        bound, _, fixed = heapq.heappop(heap)
        cost = best.found.cost
        if bound >= cost * (1 - max(task.gap, SAME)):
            return Chosen(best.sense, best.found, min(bound, cost))
        late = task.time_limit_s is not None and time.monotonic() - began > task.time_limit_s
        if late:
            return Chosen(best.sense, best.found, bound)
        if progress is not None:
            progress(bound, cost)
        relaxed = quadratic.solve(form.relaxed(fixed))
        if relaxed.x is None:
            continue
        share = relaxed.x[form.choice]
        best = _better(task, best, form.senses(relaxed.x, len(task.weight)))
        undecided = np.isnan(fixed)
        if not undecided.any():
            continue
        place = int(np.argmin(np.where(undecided, np.abs(share - 0.5), np.inf)))
        for side in (0.0, 1.0):
            child = fixed.copy()
            child[place] = side
            below = max(bound, relaxed.bound + form.constant)
            heapq.heappush(heap, (below, next(count), child))
    return Chosen(best.sense, best.found, best.found.cost)


def both_ways(levels: Levels) -> list[Floats]:
    """All up and all down, each turned around where a cell cannot."""
    can_up, can_down = levels.can(UP), levels.can(DOWN)
    up = np.where(levels.unsafe, np.where(can_up, UP, DOWN), 0)
    down = np.where(levels.unsafe, np.where(can_down, DOWN, UP), 0)
    return [up.astype(np.float64), down.astype(np.float64)]
