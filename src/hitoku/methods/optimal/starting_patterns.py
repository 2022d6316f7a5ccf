"""Starting heuristic for tables of any size: all unsafe cells are moved at once by one linear program.

One linear program moves every unsafe cell as far as it must go one way, half of them up and half down so
that they help each other, at the least price; a second moves them back the other way. What moves is withheld.
Prices are then set anew, low where a cell moved far and high where it did not move, so that the movement
draws together on few cells (Candes, Wakin and Boyd 2008). In large tables some prices are then shaken, again
and again, and what comes out cheaper is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.budget import Budget
from hitoku.methods.optimal.instance import DOWN, UP, WIDTH, Instance
from hitoku.methods.optimal.pushes import Subproblems
from hitoku.methods.optimal.repair_heuristic import complete_pattern
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.attacker_problem import AttackerProblem

# How often prices are set anew at most, and how often cells left behind are moved once more.
ROUNDS, AGAIN = 8, 3
# Levels times cells from which on prices are shaken: how often, between two patterns, until which share of a
# limit, how many of the prices, and the rounds that follow.
LARGE, SHAKES, CHUNK, SHAKE_UNTIL, SHAKEN, SETTLE = 15_000_000, 40, 10, 0.5, 0.1, 3
# Noise comes from a fixed seed: one table, one pattern.
SEED = 1
# In units of the middle level: less is no movement, and a cell that did not move counts as moved this far.
MOVED, UNMOVED, FAR = 1e-7, 1e-2, 1e6
# Prices differ by at most this factor, so that a solver keeps them apart from the reward for moving.
SPAN, REWARD = 1e4, 1e3


def first_patterns(engine: Subproblems, cost: Floats) -> Iterator[Mask]:
    """Yield safe patterns, found quickly; later ones are the better ones."""
    instance, budget = engine.instance, engine.budget
    amounts = wanted(instance)
    cells = np.flatnonzero((amounts[0] > 0) | (amounts[1] > 0))
    moves = _Moves(instance, cells, amounts, np.where(instance.forced, 0.0, cost), budget)
    # Networks are searched so fast that a rough start will do.
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
        again = _Moves(instance, cells, amounts, np.where(pattern, 0.0, cost), budget).first(ROUNDS)
        if again is None or not again.far.any():
            break
        moved = again
        pattern = pattern | (moved.distance > MOVED)
    return pattern


def wanted(instance: Instance) -> tuple[Floats, Floats]:
    """Say how far every cell is to be moved up and down; a width is divided evenly where there is room."""
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


def balanced(instance: Instance, cells: Integers, amount: Floats) -> Floats:
    """Choose for each of some cells, the largest amount first, the way that evens its relations out."""
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
    """How far every cell moved, there or back; which unsafe cells got as far as wanted; the cost of it."""

    distance: Floats
    far: Mask
    value: float

    def better(self, other: Moved) -> bool:
        return (-int(self.far.sum()), self.value) < (-int(other.far.sum()), other.value)


class _Moves:
    """Movements of some cells, there and back, over the same columns.

    Every other cell has a rise and a fall. A cell to be moved has two columns: as far as wanted, which is
    rewarded, and beyond, which is free.
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
        self._way = balanced(instance, cells, largest)
        self._amounts = amounts[0] / self._unit, amounts[1] / self._unit
        self._up, self._down = (np.minimum(r / self._unit, FAR) for r in (instance.up, instance.down))
        some = cost[self._others]
        self._cost = some / (np.median(some[some > 0]) if some.any() else 1.0)
        columns = sparse.csc_array(instance.relations)
        one, own = columns[:, self._others], columns[:, cells]
        matrix = sparse.csr_array(sparse.hstack([one, -one, own, own], "csr"))
        # One model for each way: only prices change, so the last point is a good start.
        self._random = np.random.default_rng(SEED)
        self._attackers = AttackerProblem(matrix), AttackerProblem(matrix)

    def first(self, rounds: int) -> Moved | None:
        """Move at prices that spread each cell's cost over the room it has."""
        room = np.maximum(self._up, self._down)[self._others]
        return self._settled(self._cost / np.clip(room, UNMOVED, 1.0), None, rounds)

    def shaken(self, best: Moved, times: int) -> Moved:
        """Look for something cheaper near the best."""
        for _ in range(times):
            if self._budget.spent() > SHAKE_UNTIL:
                break
            shaken = self._random.random(len(self._others)) < SHAKEN
            noise = np.exp(self._random.normal(size=len(self._others)))
            price = np.where(shaken, self._cost * noise, self._price(best))
            best = self._settled(price, best, SETTLE) or best
        return best

    def _settled(self, price: Floats, best: Moved | None, rounds: int) -> Moved | None:
        """Set prices anew as long as that helps; return the better of what comes out and ``best``."""
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
        """Move all cells one way; return the differences and which cells got there."""
        way = -self._way if turn else self._way
        k, m, n = self._cells, len(self._others), len(self._cells)
        ahead = way > 0
        amount = np.where(ahead, *self._amounts)
        room = np.where(ahead, self._up[k], self._down[k])
        beyond = np.maximum(room - amount, 0.0)
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
