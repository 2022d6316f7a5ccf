"""Primal heuristic: a fractional pattern repaired to a safe one, level by level, then made minimal."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import sparse

from hitoku.feasibility.pattern import Pattern
from hitoku.methods.optimal.attacker_subproblems import (
    SUPPORT,
    subproblems_for,
)
from hitoku.methods.optimal.budget import Stopped
from hitoku.methods.optimal.instance import DOWN, UP, WIDTH
from hitoku.methods.optimal.pushes import SHORT, Subproblems, levels_met, pushes_for
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.attacker_problem import AttackerProblem

# Differences smaller than this share of a level are the solver's rounding.
MOVED = 1e-7
# Cells withheld to a larger share than this are taken as withheld.
CERTAIN = 1 - 1e-6
# Pushes granted to tidying up.
MOST_PUSHES = 3000


def repair_pattern(
    engine: Subproblems,
    x: Floats,
    cost: Floats,
    also: Integers | None = None,
    *,
    spare: Mask | None = None,
) -> Mask | None:
    """Return a safe pattern among the cells that ``x`` withholds at all, and some others; None if in vain.

    Cells in ``spare`` are given back where they turn out unnecessary; left out, those that ``x`` does not
    fully withhold.
    """
    pattern = complete_pattern(engine, x, cost, also)
    if pattern is None:
        return None
    return drop_redundant(engine, pattern, cost, pattern & (x <= CERTAIN) if spare is None else spare)


def complete_pattern(
    engine: Subproblems, x: Floats, cost: Floats, also: Integers | None = None
) -> Mask | None:
    """Add to the cells that ``x`` withholds what is missing to a safe pattern; None if in vain.

    Each level is pushed by a linear program whose price for using a cell is its cost, less where ``x`` nearly
    withholds it already and nothing where the pattern holds it (Kelly, Golden and Assad).
    """
    instance = engine.instance
    pattern = instance.forced | (x > CERTAIN)
    usable = pattern | (x > SUPPORT)
    if also is not None:
        usable[also] = True
    everything = np.arange(len(instance.levels))
    prices: _Prices | None = None
    for _ in range(3):
        pushed = engine.push(pattern.astype(np.float64), *pushes_for(instance, everything), exact=True)
        open_levels = np.flatnonzero(~levels_met(instance, pushed))
        if not len(open_levels):
            return pattern
        if prices is None:
            price = cost * (1 - np.minimum(x, 1)) + 1e-7 * cost.max(initial=1.0)
            prices = _Prices(engine, np.flatnonzero(usable), price)
        reach = {UP: np.zeros(len(everything)), DOWN: np.zeros(len(everything))}
        for sense in (UP, DOWN):
            mine = pushed.sense == sense
            reach[sense][pushed.level[mine]] = pushed.reach[mine]
        order = np.argsort(-instance.levels.amount[open_levels], kind="stable")
        for level in open_levels[order]:
            moved = prices.push(int(level), pattern, reach[UP][level], reach[DOWN][level])
            if moved is None:
                return None
            pattern = pattern | moved
    return None


class _Prices:
    """Linear programs over the candidates, each cell split into a rise and a fall."""

    def __init__(self, engine: Subproblems, candidates: Integers, price: Floats) -> None:
        instance = engine.instance
        self._instance, self._budget, self._cells = instance, engine.budget, candidates
        self._price = price[candidates]
        part = sparse.csr_array(instance.relations[:, candidates])
        part = sparse.csr_array(part[np.diff(part.indptr) > 0])
        self._attacker = AttackerProblem(sparse.csr_array(sparse.hstack([part, -part], "csr")))
        self._place = np.full(len(instance), -1)
        self._place[candidates] = np.arange(len(candidates))

    def push(self, level: int, pattern: Mask, up: float, down: float) -> Mask | None:
        """Return the cells used to reach one level; a width that is open both ways is pushed up first."""
        instance = self._instance
        cell, side = int(instance.levels.cell[level]), int(instance.levels.side[level])
        amount = float(instance.levels.amount[level])
        if side != WIDTH:
            return self._one(cell, side, amount, amount, pattern)
        rise = min(float(instance.up[cell]), amount - down)
        fall = min(float(instance.down[cell]), amount - up)
        for first, then in (((UP, rise), (DOWN, amount - rise)), ((DOWN, fall), (UP, amount - fall))):
            used = self._one(cell, first[0], first[1], amount, pattern)
            if used is None:
                continue
            if then[1] <= (down if then[0] == DOWN else up) * (1 + SHORT):
                return used
            more = self._one(cell, then[0], then[1], amount, pattern | used)
            if more is not None:
                return used | more
        return np.isin(np.arange(len(instance)), self._cells)

    def _one(self, cell: int, sense: int, target: float, amount: float, pattern: Mask) -> Mask | None:
        instance, cells = self._instance, self._cells
        rise = np.minimum(instance.up[cells] / amount, 1e6)
        fall = np.minimum(instance.down[cells] / amount, 1e6)
        price = np.where(pattern[cells], 0.0, self._price)
        # Per unit of the level: a cell with little room is dear for what it carries.
        rise_price = price / np.maximum(np.minimum(rise, 1.0), 1e-3)
        fall_price = price / np.maximum(np.minimum(fall, 1.0), 1e-3)
        low, high = np.zeros(2 * len(cells)), np.concatenate([rise, fall])
        p = int(self._place[cell])
        own, other = (p, p + len(cells)) if sense == UP else (p + len(cells), p)
        low[own] = high[own] = target / amount
        high[other] = 0.0
        self._budget.spend()
        point = self._attacker.cheapest(np.concatenate([rise_price, fall_price]), low, high)
        if point is None:
            return None
        moved = np.abs(point[: len(cells)] - point[len(cells) :]) > MOVED
        used = np.zeros(len(instance), dtype=bool)
        used[cells[moved]] = True
        return used


def drop_redundant(engine: Subproblems, pattern: Mask, cost: Floats, spare: Mask) -> Mask:
    """Drop redundant cells: publish again, of some cells the dearest first, what no level needs.

    Stops after so many pushes that a large table does not wait for it; at a limit, with what it has.
    """
    instance = engine.instance
    if not np.any(pattern & spare & ~instance.forced):
        return pattern
    # Over the cells of the pattern alone: what is remembered below is levels by cells.
    inside = subproblems_for(instance.kept(pattern), engine.budget)
    kept = np.ones(len(inside.instance), dtype=bool)
    with suppress(Stopped):
        _give_back(inside, cost[pattern], spare[pattern], kept)
    tidy = pattern.copy()
    tidy[pattern] = kept
    return tidy


def _give_back(engine: Subproblems, cost: Floats, spare: Mask, kept: Mask) -> None:
    """Take cells of an instance out of ``kept``, which is a safe pattern at every moment.

    A way to reach each level is remembered; giving a cell back touches only the levels whose way uses it.
    """
    instance = engine.instance
    given = np.flatnonzero(spare & ~instance.forced)
    level, sense = pushes_for(instance, np.arange(len(instance.levels)))
    pushed = engine.push(kept.astype(np.float64), level, sense, exact=True, flows=True)
    if pushed.flows is None or not levels_met(instance, pushed).all():
        return
    used, reach = np.abs(pushed.flows) > MOVED * instance.levels.amount[level][:, None], pushed.reach.copy()
    pattern = Pattern(instance.relations, np.ones(len(kept), dtype=bool), kept)
    asked = np.zeros(len(kept), dtype=bool)
    asked[instance.levels.cell] = True
    # The push that failed last is the likeliest to fail next.
    recent = np.zeros(len(level), dtype=np.int64)
    most = engine.budget.work + MOST_PUSHES
    for turn, cell in enumerate(given[np.lexsort((given, -cost[given]))], 1):
        if engine.budget.work > most:
            break
        if pattern.given_away(int(cell), asked) is None:
            continue
        without = kept.astype(np.float64)
        without[cell] = 0.0
        touched = np.flatnonzero(used[:, cell])
        undo = used[touched].copy(), reach[touched].copy()
        for k in touched[np.argsort(-recent[touched], kind="stable")]:
            one = slice(k, k + 1)
            again = engine.push(without, level[one], sense[one], exact=True, flows=True)
            others = reach[(level == level[k]) & (np.arange(len(level)) != k)].sum()
            amount = instance.levels.amount[level[k]]
            if again.flows is None or again.reach[0] + others < amount * (1 - SHORT):
                recent[k] = turn
                used[touched], reach[touched] = undo
                break
            used[k], reach[k] = np.abs(again.flows[0]) > MOVED * amount, again.reach[0]
        else:
            kept[cell] = False
            pattern.publish(int(cell))
