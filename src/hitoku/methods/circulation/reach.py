"""Witnesses by linear programs, over a growing neighbourhood, for requirements that hypercubes cannot serve.

A requirement needs a circulation: a deviation of cells that may move, which cancels in every relation, keeps
all slacks and moves one cell as far as required. The cheapest is taken, rounded, and checked in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model import Floats, Integers, Mask, Table
from hitoku.solver import integer
from hitoku.solver.linear import LinearProgram, Solution, Warm, open_program
from hitoku.solver.solution import CountedWork

# A vertex further than this from an integer is not integer.
WHOLE = 1e-3
# A vertex in steps of several units is integer in units if it lies at halves or thirds.
STEPS = (1.0, 12.0, 60.0)
# Nodes of an integer program over a neighbourhood; the last neighbourhood is the whole table and gets more,
# but is used for few cells only.
NODES, NODES_LAST, FEW = 200, 20_000, 4_000
# Cap on slacks: no requirement is larger, and sums stay exact.
FAR = 2.0**51
# Slacks as multiples of a claim, tried in this order before all of them.
CAPS = (4.0, 256.0)
# Prices of very different size slow programs down (minutes instead of a second). As shares of the most
# expensive nonzero cell: the least price, and the largest, which zeros have.
CHEAPEST, DEAREST = 1e-6, 10.0
# Largest table for programs over all cells at once; larger tables use a neighbourhood.
AT_ONCE = 20_000
# Without hypercubes: number of cells that join one that is alone in a relation, and when to stop; these pairs
# are tried in turn. Limit on the number of joining rounds.
LEAN, LEAN_STEPS = ((2, 100), (3, 500), (4, 2_000)), 12
# Relative price of cells that a deviation left, when it is searched again with prices that gather it on few
# cells.
UNMOVED = 0.1


@dataclass(frozen=True, eq=False)
class Change:
    """Some cells, and their changes in steps."""

    cells: Integers
    amounts: Integers


class KnownChanges:
    """Changes found so far, and the furthest movement of each cell: a change may serve several requirements.

    Parameters
    ----------
    n_cells
        Number of cells of the table.
    """

    def __init__(self, n_cells: int) -> None:
        self._changes: list[Change] = []
        # For changes whose opposite fits too, and for all: furthest movement down and up, and the change.
        self._far = {even: np.zeros((2, n_cells)) for even in (True, False)}
        self._by = {even: np.full((2, n_cells), -1) for even in (True, False)}

    def add(self, change: Change, *, even: bool) -> None:
        """Record a change that fits; ``even``: its opposite fits, too."""
        for sign in (1, -1) if even else (1,):
            number, amounts = len(self._changes), sign * change.amounts
            self._changes.append(Change(change.cells, amounts))
            for kind in (True, False) if even else (False,):
                for side, way in enumerate((-amounts, amounts)):
                    further = way > self._far[kind][side, change.cells]
                    cells = change.cells[further]
                    self._far[kind][side, cells], self._by[kind][side, cells] = way[further], number

    def serving(self, cell: int, sign: int, amount: float, *, even: bool) -> Change | None:
        """Return a change that moves a cell far enough, or None if none is known."""
        side = 1 if sign > 0 else 0
        if self._far[even][side, cell] < amount:
            return None
        found: Change = self._changes[self._by[even][side, cell]]
        return found


class CellReach:
    """Search for circulations through one cell after another.

    Parameters
    ----------
    table
        Provides the relations, and whether deviations must be integer steps.
    movable
        Cells that may be suppressed.
    tries
        Number of searches for a change; from the second on prices gather it on few cells.
    lean
        Search among few cheap cells first.
    work
        Counts work of programs. Once its limit is reached nothing more is found, which proves nothing.
    """

    def __init__(
        self, table: Table, movable: Mask, tries: int, *, lean: bool = False, work: CountedWork | None = None
    ) -> None:
        self._work = CountedWork() if work is None else work
        self._tries, self._lean = tries, LEAN if lean else ()
        self._rows: Any = table.relations
        self._columns: Any = table.relations.tocsc()
        self._movable = movable
        self._everything = np.flatnonzero(movable)
        self._integer = table.integer
        self._ordinary = table.value != 0
        whole = bool(np.all(self._rows.data == np.rint(self._rows.data)))
        self._whole: Any = self._columns.astype(np.int64) if whole else None

    def change(
        self, cell: int, sign: int, amount: float, slacks: tuple[Floats, Floats], price: Floats
    ) -> Change | None:
        """Find a cheap change that moves a cell by an amount up or down; None if there is none.

        Parameters
        ----------
        cell, sign, amount
            Cell, direction, number of steps.
        slacks
            Slacks of all cells down and up.
        price
            Price of moving each cell.
        """
        asked = cell, sign, amount
        for cheapest, enough in self._lean:
            near = self._cheap(asked, slacks, price, cheapest, enough)
            nearer = (np.minimum(slacks[0], CAPS[0] * amount), np.minimum(slacks[1], CAPS[0] * amount))
            found = self._gather_cells(near, asked, nearer, price, 1.0)
            if found is not None:
                return found
        near = self._everything if len(self._everything) <= AT_ONCE else np.array([cell])
        while True:
            wider = self._wider(near)
            last = len(wider) == len(near)
            near = near if last else wider
            # Bounds of very different size make the solver's zero imprecise: distant ones are brought closer
            # while that does not exclude a solution.
            for cap in (*CAPS, FAR / amount) if last else CAPS[:1]:
                nearer = (np.minimum(slacks[0], cap * amount), np.minimum(slacks[1], cap * amount))
                for step in STEPS if self._integer else STEPS[:1]:
                    found = None if step > amount else self._gather_cells(near, asked, nearer, price, step)
                    if found is not None:
                        return found
            if self._integer and len(near) <= FEW:
                found = self._read(near, self._whole_change(near, asked, slacks, price, last=last))
            if found is not None or last:
                return found

    def whole_change(
        self, cell: int, sign: int, amount: float, slacks: tuple[Floats, Floats], price: Floats
    ) -> Change | None:
        """Find the change of :meth:`change` by integer programs over growing neighbourhoods.

        For a table that is too large for an integer program over all cells, if a cell can move as far as
        required and no vertex of a linear program is integer.
        """
        if not self._integer:
            return None
        near, asked = np.array([cell]), (cell, sign, amount)
        while len(wider := self._wider(near)) > len(near):
            near = wider
            # Distant bounds prevent an integer program from ending.
            for cap in CAPS:
                nearer = (np.minimum(slacks[0], cap * amount), np.minimum(slacks[1], cap * amount))
                found = self._read(near, self._whole_change(near, asked, nearer, price, last=False))
                if found is not None:
                    return found
        return None

    def within(
        self,
        cells: Integers,
        asked: Iterable[tuple[int, int, float, bool]],
        slacks: Mapping[bool, tuple[Floats, Floats]],
    ) -> Iterator[Change | None]:
        """Find changes of some cells only, as small as possible; None if they do not suffice.

        Parameters
        ----------
        cells
            Cells that may move, ascending.
        asked
            Requirements: cell, direction, number of steps, whether the opposite must fit too.
        slacks
            Slacks of all cells down and up, by whether the opposite must fit.
        """
        n, relations = len(cells), self._relations(cells)
        both = sparse.hstack([relations, -relations], format="csr")
        ones, nothing = np.ones(2 * n), np.zeros(2 * n)
        program = LinearProgram(ones, both, np.zeros(both.shape[0]), nothing, ones)
        with open_program(program, dual=True) as warm:
            for cell, sign, amount, even in asked:
                yield self._moved_least(warm, cells, (cell, sign, amount), slacks[even])

    def _moved_least(
        self, warm: Warm, cells: Integers, asked: tuple[int, int, float], slacks: tuple[Floats, Floats]
    ) -> Change | None:
        cell, sign, amount = asked
        n, place = len(cells), int(np.searchsorted(cells, cell))
        wanted, other = (place, n + place) if sign > 0 else (n + place, place)
        for cap in (CAPS[0], FAR / amount):
            for step in (step for step in (STEPS if self._integer else STEPS[:1]) if step <= amount):
                unit = step * np.ceil(amount / step)
                down, up = (step * np.floor(np.minimum(slack[cells], cap * unit) / step) for slack in slacks)
                low, high = np.zeros(2 * n), np.concatenate([up, down]) / unit
                low[wanted], high[other] = 1.0, 0.0
                warm.bounds(low, high)
                solution = warm.solve(np.ones(2 * n), details=False)
                if solution.optimal and solution.x is not None:
                    found = self.exact(cells, (solution.x[:n] - solution.x[n:]) * unit)
                    if found is not None:
                        return found
        return None

    def _gather_cells(
        self,
        cells: Integers,
        asked: tuple[int, int, float],
        slacks: tuple[Floats, Floats],
        price: Floats,
        step: float,
    ) -> Change | None:
        """Solve over some cells repeatedly; cells that are moved become cheaper, so that few are used."""
        best, least, weight = None, np.inf, price
        cell, sign, amount = asked
        coarse = cell, sign, np.ceil(amount / step)
        parts = np.floor(slacks[0] / step), np.floor(slacks[1] / step)
        for _ in range(self._tries):
            program = self._program(cells, coarse, parts, weight)
            found = None if program is None else self._read(cells, self._least(program), step)
            total = np.inf if found is None else float(price[found.cells].sum())
            if found is None or total >= least:
                break
            best, least = found, total
            weight = price / UNMOVED
            weight[found.cells] = price[found.cells] / (np.abs(found.amounts) / amount + UNMOVED)
        return best

    def _whole_change(
        self,
        cells: Integers,
        asked: tuple[int, int, float],
        slacks: tuple[Floats, Floats],
        price: Floats,
        *,
        last: bool,
    ) -> Solution | None:
        """Solve for integers, if no vertex of the linear program is integer."""
        program = self._program(cells, asked, slacks, price)
        if program is None or self._least(program).x is None:
            return None
        limit = NODES_LAST if last else NODES
        return integer.solve(
            integer.IntegerProgram(*_parts(program)), gap=0.1, work_limit=limit, work=self._work
        )

    def farthest(self, cell: int, slacks: tuple[Floats, Floats], cap: float) -> tuple[float, float]:
        """Return how far a cell can move down and up if all cells may move, up to a cap, in integer steps."""
        near = np.array([cell])
        while len(wider := self._wider(near)) > len(near):
            near = wider
        low, high = -np.minimum(slacks[0][near], FAR), np.minimum(slacks[1][near], FAR)
        place = int(np.searchsorted(near, cell))
        low[place], high[place] = max(low[place], -cap), min(high[place], cap)
        relations, cost = self._relations(near), np.zeros(len(near))
        ends = []
        for sense in (1.0, -1.0):
            cost[place] = sense
            program = LinearProgram(cost, relations, np.zeros(relations.shape[0]), low, high)
            if self._integer:
                whole = integer.IntegerProgram(*_parts(program))
                x = integer.solve(whole, work_limit=NODES_LAST, work=self._work).x
            else:
                x = self._least(program).x
            ends.append(0.0 if x is None else float(np.floor(abs(x[place]) + WHOLE)))
        return ends[0], ends[1]

    def exact(self, cells: Integers, change: Floats) -> Change | None:
        """Round a change to integers that cancel in every relation; None if that fails."""
        near = np.rint(change)
        if np.abs(change - near).max(initial=0.0) > WHOLE or np.abs(near).max(initial=0.0) > FAR:
            return None
        moved = np.flatnonzero(near)
        amounts = near[moved].astype(np.int64)
        return Change(cells[moved], amounts) if self.cancels(cells[moved], amounts) else None

    def cancels(self, cells: Integers, amounts: Integers) -> bool:
        """Return whether a change in integers is zero in every relation."""
        if self._whole is not None:
            return not np.any(self._whole[:, cells] @ amounts)
        part = self._columns[:, cells]
        return bool(np.all(np.abs(part @ amounts) <= 1e-12 * (abs(part) @ np.abs(amounts))))

    def _cheap(
        self,
        asked: tuple[int, int, float],
        slacks: tuple[Floats, Floats],
        price: Floats,
        cheapest: int,
        enough: int,
    ) -> Integers:
        """List cells through which a change may close: if one is alone in a relation, others join it.

        The cheapest of the relation join first, preferring those that close several relations at once.
        """
        cell, _, amount = asked
        slack = np.minimum(np.maximum(slacks[0], slacks[1]), amount)
        able = self._movable & (slack > 0)
        expense = price * (amount / np.maximum(slack, 1.0))
        cells = np.array([cell])
        for _ in range(LEAN_STEPS):
            rows, times = np.unique(self._columns[:, cells].indices, return_counts=True)
            part = self._rows[rows[times == 1]]
            line, entry = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices
            new = able[entry] & ~np.isin(entry, cells)
            line, entry = line[new], entry[new]
            closed = np.bincount(entry, minlength=len(able))[entry]
            order = np.lexsort((entry, expense[entry] / closed**2, line))
            line, entry = line[order], entry[order]
            cells = np.union1d(cells, entry[np.arange(len(line)) - np.searchsorted(line, line) < cheapest])
            if len(line) == 0 or len(cells) > enough:
                break
        return cells

    def _wider(self, cells: Integers) -> Integers:
        """Add the cells that share a relation with these."""
        rows = np.unique(self._columns[:, cells].indices)
        reached = np.unique(self._rows[rows].indices)
        return np.union1d(cells, reached[self._movable[reached]])

    def _relations(self, cells: Integers) -> sparse.csr_array:
        part = sparse.csr_array(self._columns[:, cells])
        return part[np.flatnonzero(np.diff(part.indptr))]

    def _program(
        self, cells: Integers, asked: tuple[int, int, float], slacks: tuple[Floats, Floats], price: Floats
    ) -> LinearProgram | None:
        """Build the search over some cells, all others fixed; None if the cell itself has no slack."""
        cell, sign, amount = asked
        down, up = np.minimum(slacks[0][cells], FAR), np.minimum(slacks[1][cells], FAR)
        place = int(np.searchsorted(cells, cell))
        low = np.zeros(2 * len(cells))
        # Columns: every cell up, then every cell down.
        wanted = place if sign > 0 else len(cells) + place
        ends = np.concatenate([up, down])
        if ends[wanted] < amount:
            return None
        low[wanted], ends[len(cells) + place if sign > 0 else place] = amount, 0.0
        relations = self._relations(cells)
        both = sparse.hstack([relations, -relations], format="csr")
        # A cell with little slack moves little: its price counts once, not per step.
        cost = np.tile(price[cells], 2) / np.minimum(np.maximum(ends, 1.0), amount)
        cost = level_prices(cost, (ends > 0) & np.tile(self._ordinary[cells], 2))
        return LinearProgram(cost, both, np.zeros(both.shape[0]), low, ends)

    def _least(self, program: LinearProgram) -> Solution:
        with open_program(program, work=self._work, dual=True) as warm:
            return warm.solve(program.cost, details=False)

    def _read(self, cells: Integers, solution: Solution | None, step: float = 1.0) -> Change | None:
        if solution is None or solution.x is None:
            return None
        return self.exact(cells, step * (solution.x[: len(cells)] - solution.x[len(cells) :]))


def level_prices(cost: Floats, ordinary: Mask) -> Floats:
    """Reduce the range of prices, relative to the most expensive ordinary cell."""
    most_expensive = float(cost[ordinary].max(initial=0.0)) or 1.0
    return np.clip(cost, CHEAPEST * most_expensive, DEAREST * most_expensive)


def _parts(program: LinearProgram) -> tuple[Any, ...]:
    return program.cost, program.relations, program.rhs, program.lower, program.upper
