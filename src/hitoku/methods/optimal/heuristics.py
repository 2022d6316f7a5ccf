"""Primal heuristics: safe patterns from linear programs, repair of fractional ones, redundant cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.feasibility import Pattern
from hitoku.methods.optimal.attacker_subproblems import (
    subproblems_for,
)
from hitoku.methods.optimal.instance import (
    DOWN,
    INTEGRAL,
    MOVED,
    SEED,
    SHORT,
    UP,
    WIDTH,
    Budget,
    Instance,
    Stopped,
    Subproblems,
    levels_met,
    pushes_for,
)
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.attacker_problem import AttackerProblem

# Limit on the pushes of tidying.
MAX_PUSHES = 3000


def repair_pattern(
    engine: Subproblems,
    x: Floats,
    cost: Floats,
    also: Integers | None = None,
    *,
    spare: Mask | None = None,
) -> Mask | None:
    """Return a safe pattern among the cells that ``x`` suppresses at all, and some others, or None.

    Cells in ``spare`` are published again if they are redundant. Default: those that ``x`` does not
    fully suppress.
    """
    pattern = complete_pattern(engine, x, cost, also)
    if pattern is None:
        return None
    return drop_redundant(engine, pattern, cost, pattern & (x <= 1 - INTEGRAL) if spare is None else spare)


def complete_pattern(
    engine: Subproblems, x: Floats, cost: Floats, also: Integers | None = None
) -> Mask | None:
    """Extend the cells that ``x`` suppresses to a safe pattern; None if that fails.

    Each level is pushed by a linear program whose price for using a cell is its cost, less if ``x`` nearly
    suppresses it already and zero if it is in the pattern (Kelly, Golden and Assad).
    """
    instance = engine.instance
    pattern = instance.forced | (x > 1 - INTEGRAL)
    usable = pattern | (x > MOVED)
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
    """Linear programs over the candidates, with columns for the rise and the fall of each cell."""

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
        # Per unit of the level: a cell with little slack is expensive for what it carries.
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
    """Publish redundant cells again, the most expensive first.

    Stops after ``MAX_PUSHES`` pushes, so that large tables do not wait for it, and returns the result so far.
    """
    instance = engine.instance
    if not np.any(pattern & spare & ~instance.forced):
        return pattern
    # Over the cells of the pattern alone: the memory below is levels by cells.
    inside = subproblems_for(instance.kept(pattern), engine.budget)
    kept = np.ones(len(inside.instance), dtype=bool)
    with suppress(Stopped):
        _give_back(inside, cost[pattern], spare[pattern], kept)
    tidy = pattern.copy()
    tidy[pattern] = kept
    return tidy


def _give_back(engine: Subproblems, cost: Floats, spare: Mask, kept: Mask) -> None:
    """Remove cells of an instance from ``kept``, which is a safe pattern at every moment.

    One solution for each level is stored; removing a cell affects only the levels whose solution uses it.
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
    # The push that failed last is the most likely to fail next.
    recent = np.zeros(len(level), dtype=np.int64)
    most = engine.budget.work + MAX_PUSHES
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


# Maximum number of price updates, and of further movements for cells left behind.
ROUNDS, AGAIN = 8, 3
# Levels times cells from which prices are perturbed; number of perturbations, number between two patterns,
# share of a limit at which they end, share of prices perturbed, and rounds that follow.
LARGE, SHAKES, CHUNK, SHAKE_UNTIL, SHAKEN, SETTLE = 15_000_000, 40, 10, 0.5, 0.1, 3
# In units of the median level: movement assumed for a cell that did not move, and the largest movement.
UNMOVED, FAR_MOVED = 1e-2, 1e6
# Prices differ by at most this factor, so that a solver distinguishes them from the reward for moving.
SPAN, REWARD = 1e4, 1e3


def first_patterns(engine: Subproblems, cost: Floats) -> Iterator[Mask]:
    """Yield safe patterns, found quickly, in order of improving cost."""
    instance, budget = engine.instance, engine.budget
    amounts = required_movements(instance)
    cells = np.flatnonzero((amounts[0] > 0) | (amounts[1] > 0))
    moves = Movements(instance, cells, amounts, np.where(instance.forced, 0.0, cost), budget)
    # Networks are searched so fast that a rough start is enough.
    rough = engine.network
    best = moves.first(1 if rough else ROUNDS)
    shakes = 0 if rough or len(instance.levels) * len(instance) < LARGE else SHAKES
    while best is not None:
        pattern = _without_stragglers(instance, cells, amounts, cost, best, budget)
        safe = complete_pattern(engine, pattern.astype(np.float64), cost, instance.free)
        if safe is not None:
            yield safe
        if shakes <= 0 or budget.spent() > SHAKE_UNTIL:
            break
        best, shakes = moves.shaken(best, CHUNK), shakes - CHUNK


def _without_stragglers(
    instance: Instance,
    cells: Integers,
    amounts: tuple[Floats, Floats],
    cost: Floats,
    moved: Moved,
    budget: Budget,
) -> Mask:
    """Return the pattern of a movement, and of further ones for the cells that it left behind."""
    pattern = instance.forced | (moved.distance > MOVED)
    for _ in range(AGAIN):
        cells = cells[~moved.far]
        if not len(cells):
            break
        again = Movements(instance, cells, amounts, np.where(pattern, 0.0, cost), budget).first(ROUNDS)
        if again is None or not again.far.any():
            break
        moved = again
        pattern = pattern | (moved.distance > MOVED)
    return pattern


def required_movements(instance: Instance) -> tuple[Floats, Floats]:
    """Return the required movement of every cell up and down; a width is split evenly if slack allows."""
    levels = instance.levels
    up, down = np.zeros(len(instance)), np.zeros(len(instance))
    for side, amount in ((UP, up), (DOWN, down)):
        np.maximum.at(amount, levels.cell[levels.side == side], levels.amount[levels.side == side])
    wide = levels.take(levels.side == WIDTH)
    half = np.minimum(np.maximum(down[wide.cell], wide.amount / 2), instance.down[wide.cell])
    rise = np.minimum(np.maximum(up[wide.cell], wide.amount - half), instance.up[wide.cell])
    up[wide.cell] = rise
    down[wide.cell] = np.maximum(down[wide.cell], wide.amount - rise)
    return up, down


def balance_directions(instance: Instance, cells: Integers, amount: Floats) -> Floats:
    """Choose a direction for each of some cells, largest first, that balances its relations."""
    columns = sparse.csc_array(instance.relations)
    tilt, way = np.zeros(instance.relations.shape[0]), np.ones(len(cells))
    for k in np.argsort(-amount, kind="stable"):
        here = slice(columns.indptr[cells[k]], columns.indptr[cells[k] + 1])
        rows, pull = columns.indices[here], columns.data[here] * amount[k]
        if np.abs(tilt[rows] - pull).sum() < np.abs(tilt[rows] + pull).sum():
            way[k] = -1.0
        tilt[rows] += way[k] * pull
    return way


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Movement of every cell in two opposite moves, unsafe cells that moved as required, and cost."""

    distance: Floats
    far: Mask
    value: float

    def better(self, other: Moved) -> bool:
        return (-int(self.far.sum()), self.value) < (-int(other.far.sum()), other.value)


class Movements:
    """Pairs of opposite movements of some cells, over the same columns.

    Every other cell has a rise and a fall. A cell to be moved has two columns: up to its requirement, which
    is rewarded, and beyond, which is free.
    """

    def __init__(
        self,
        instance: Instance,
        cells: Integers,
        amounts: tuple[Floats, Floats],
        cost: Floats,
        budget: Budget,
    ) -> None:
        self._budget, self._cells, self._n = budget, cells, len(instance)
        others = np.ones(self._n, dtype=bool)
        others[cells] = False
        self._others = np.flatnonzero(others)
        amounts = amounts[0][cells], amounts[1][cells]
        largest = np.maximum(*amounts)
        self._unit = float(np.median(largest))
        self._way = balance_directions(instance, cells, largest)
        self._amounts = amounts[0] / self._unit, amounts[1] / self._unit
        self._up, self._down = (np.minimum(r / self._unit, FAR_MOVED) for r in (instance.up, instance.down))
        some = cost[self._others]
        self._cost = some / (np.median(some[some > 0]) if some.any() else 1.0)
        columns = sparse.csc_array(instance.relations)
        one, own = columns[:, self._others], columns[:, cells]
        matrix = sparse.csr_array(sparse.hstack([one, -one, own, own], "csr"))
        # One model for each direction: only prices change, so the last point is a good start.
        self._random = np.random.default_rng(SEED)
        self._attackers = AttackerProblem(matrix), AttackerProblem(matrix)

    def first(self, rounds: int) -> Moved | None:
        """Move at prices that spread each cell's cost over its slack."""
        slack = np.maximum(self._up, self._down)[self._others]
        return self._update_prices(self._cost / np.clip(slack, UNMOVED, 1.0), None, rounds)

    def shaken(self, best: Moved, times: int) -> Moved:
        """Search for something cheaper near the best."""
        for _ in range(times):
            if self._budget.spent() > SHAKE_UNTIL:
                break
            shaken = self._random.random(len(self._others)) < SHAKEN
            noise = np.exp(self._random.normal(size=len(self._others)))
            price = np.where(shaken, self._cost * noise, self._price(best))
            best = self._update_prices(price, best, SETTLE) or best
        return best

    def _update_prices(self, price: Floats, best: Moved | None, rounds: int) -> Moved | None:
        """Update prices while that helps; return the better of the result and ``best``."""
        last: Moved | None = None
        for _ in range(rounds):
            moved = self._there_and_back(price)
            if moved is None or (last is not None and not moved.better(last)):
                break
            last, price = moved, self._price(moved)
        return last if best is None or (last is not None and last.better(best)) else best

    def _price(self, moved: Moved) -> Floats:
        return self._cost / np.maximum(moved.distance[self._others], UNMOVED)

    def _there_and_back(self, price: Floats) -> Moved | None:
        there, back = self._move(0, price), None
        if there is not None:
            back = self._move(1, np.where(np.abs(there[0][self._others]) > MOVED, 0.0, price))
        if there is None or back is None:
            return None
        distance = np.maximum(np.abs(there[0]), np.abs(back[0]))
        far = there[1] & back[1]
        return Moved(distance, far, float(self._cost[distance[self._others] > MOVED].sum()))

    def _move(self, turn: int, price: Floats) -> tuple[Floats, Mask] | None:
        """Move all cells one way; return the deviations and the cells that moved as required."""
        way = -self._way if turn else self._way
        k, m, n = self._cells, len(self._others), len(self._cells)
        ahead = way > 0
        amount = np.where(ahead, *self._amounts)
        slack = np.where(ahead, self._up[k], self._down[k])
        beyond = np.maximum(slack - amount, 0.0)
        high = np.concatenate([self._up[self._others], self._down[self._others], *(2 * [np.zeros(n)])])
        low = np.zeros(2 * (m + n))
        for start, length in ((2 * m, amount), (2 * m + n, beyond)):
            high[start : start + n][ahead] = length[ahead]
            low[start : start + n][~ahead] = -length[~ahead]
        top = price.max(initial=0.0) or 1.0
        price = np.where(price > 0, np.maximum(price / top, 1 / SPAN), 0.0)
        reward = np.concatenate([price, price, -REWARD * way, np.zeros(n)])
        self._budget.spend()
        point = self._attackers[turn].cheapest(reward, low, high)
        if point is None:
            return None
        moved = np.zeros(self._n)
        moved[self._others] = point[:m] - point[m : 2 * m]
        moved[k] = point[2 * m : 2 * m + n] + point[2 * m + n :]
        return moved, np.abs(point[2 * m : 2 * m + n]) >= amount * (1 - MOVED)
