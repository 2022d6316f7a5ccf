"""What boxes cannot reach is reached by linear programs, over a neighbourhood that grows as long as it must.

A claim asks for a circulation: a change of cells that may move, which cancels in every relation, keeps all
rooms and takes one cell as far as it must go. The cheapest is taken, rounded, and checked in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.table import Table
from hitoku.solver import integer
from hitoku.solver.linear import LinearProgram, Solution, solve

# Off a whole number by more than this, a vertex is not whole.
WHOLE = 1e-3
# Nodes of an integer program over a neighbourhood; the last neighbourhood is everything and gets more.
NODES, NODES_LAST = 200, 20_000
# Rooms beyond this count as this: no claim is larger, and sums stay exact.
FAR = 2.0**51


@dataclass(frozen=True, eq=False)
class Change:
    """Some cells, and by how many steps they change."""

    cells: Integers
    amounts: Integers


class CellReach:
    """The relations of a table, asked for circulations through one cell after the other.

    Parameters
    ----------
    table
        Its relations count, and whether differences must be whole steps.
    movable
        Cells that may be withheld.
    """

    def __init__(self, table: Table, movable: Mask) -> None:
        self._rows: Any = table.relations
        self._columns: Any = table.relations.tocsc()
        self._movable = movable
        self._integer = table.integer
        whole = bool(np.all(self._rows.data == np.rint(self._rows.data)))
        self._whole: Any = self._columns.astype(np.int64) if whole else None

    def change(
        self, cell: int, sign: int, amount: float, rooms: tuple[Floats, Floats], price: Floats
    ) -> Change | None:
        """Find a cheap change that takes a cell so far up (or down); None where there is none.

        Parameters
        ----------
        cell, sign, amount
            Which cell, which way, how many steps.
        rooms
            How far all cells may go down and up.
        price
            What it costs to move each cell.
        """
        near = np.array([cell])
        while True:
            wider = self._wider(near)
            last = len(wider) == len(near)
            if not last:
                near = wider
            found = self._cheapest(near, cell, sign, amount, rooms, price, last=last)
            if found is not None or last:
                return found

    def farthest(self, cell: int, rooms: tuple[Floats, Floats], cap: float) -> tuple[float, float]:
        """Measure how far a cell can go down and up when everything may move, up to a cap, in whole steps."""
        near = np.array([cell])
        while len(wider := self._wider(near)) > len(near):
            near = wider
        low, high = -np.minimum(rooms[0][near], FAR), np.minimum(rooms[1][near], FAR)
        place = int(np.searchsorted(near, cell))
        low[place], high[place] = max(low[place], -cap), min(high[place], cap)
        relations, cost = self._relations(near), np.zeros(len(near))
        ends = []
        for sense in (1.0, -1.0):
            cost[place] = sense
            program = LinearProgram(cost, relations, np.zeros(relations.shape[0]), low, high)
            if self._integer:
                x = integer.solve(integer.IntegerProgram(*_parts(program)), work_limit=NODES_LAST).x
            else:
                x = solve(program).x
            ends.append(0.0 if x is None else float(np.floor(abs(x[place]) + WHOLE)))
        return ends[0], ends[1]

    def exact(self, cells: Integers, change: Floats) -> Change | None:
        """Turn a change in steps into whole numbers that cancel in every relation; None where that fails."""
        near = np.rint(change)
        if np.abs(change - near).max(initial=0.0) > WHOLE or np.abs(near).max(initial=0.0) > FAR:
            return None
        moved = np.flatnonzero(near)
        amounts = near[moved].astype(np.int64)
        return Change(cells[moved], amounts) if self.cancels(cells[moved], amounts) else None

    def cancels(self, cells: Integers, amounts: Integers) -> bool:
        """Tell whether a change of whole numbers is zero in every relation."""
        if self._whole is not None:
            return not np.any(self._whole[:, cells] @ amounts)
        part = self._columns[:, cells]
        return bool(np.all(np.abs(part @ amounts) <= 1e-12 * (abs(part) @ np.abs(amounts))))

    def _wider(self, cells: Integers) -> Integers:
        """Add the cells that share a relation with these."""
        rows = np.unique(self._columns[:, cells].indices)
        reached = np.unique(self._rows[rows].indices)
        return np.union1d(cells, reached[self._movable[reached]])

    def _relations(self, cells: Integers) -> sparse.csr_array:
        part = sparse.csr_array(self._columns[:, cells])
        return part[np.flatnonzero(np.diff(part.indptr))]

    def _cheapest(
        self,
        cells: Integers,
        cell: int,
        sign: int,
        amount: float,
        rooms: tuple[Floats, Floats],
        price: Floats,
        *,
        last: bool,
    ) -> Change | None:
        """Solve over some cells, all others held."""
        down, up = np.minimum(rooms[0][cells], FAR), np.minimum(rooms[1][cells], FAR)
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
        # A cell that has little room is moved by little: its price counts once, not per step.
        cost = np.tile(price[cells], 2) / np.minimum(np.maximum(ends, 1.0), amount)
        program = LinearProgram(cost, both, np.zeros(both.shape[0]), low, ends)
        solution = solve(program)
        found = self._read(cells, solution)
        if found is None and solution.x is not None and self._integer:
            limit = NODES_LAST if last else NODES
            found = self._read(
                cells, integer.solve(integer.IntegerProgram(*_parts(program)), gap=0.1, work_limit=limit)
            )
        return found

    def _read(self, cells: Integers, solution: Solution) -> Change | None:
        if solution.x is None:
            return None
        return self.exact(cells, solution.x[: len(cells)] - solution.x[len(cells) :])


def _parts(program: LinearProgram) -> tuple[Any, ...]:
    return program.cost, program.relations, program.rhs, program.lower, program.upper
