"""Changes that a method hands over, thinned out: for one cell at a time, as little of them as will do.

A method adds witnesses up to few changes that move many cells, so nearly every insider can object to each. A
part of one that moves the cell as far, every other cell no farther and in the same direction, is feasible as
the whole is. It is found among the cells of that change alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.attacks.least_change import CellChanges
from hitoku.model.arrays import Floats, Integers
from hitoku.model.moves import Moves

# A change of more cells is as hard to thin out as the table is.
MOST_CELLS = 2_000
# Sums of some whole numbers below this are exact in doubles.
LARGEST = 2**40


class HandedOver:
    """Changes that keep every relation; those that do not are left out.

    Parameters
    ----------
    moves
        What a method calls witnesses.
    relations
        Rows by cells.
    room
        How far each cell can go down and up; nowhere if it is published.
    weight
        What moves of cells cost, at most one.
    """

    def __init__(self, moves: Moves, relations: Any, room: tuple[Floats, Floats], weight: Floats) -> None:
        self._weight = weight
        self._by_column = sparse.csc_array(relations)
        self._changes: list[tuple[Integers, Floats, bool, bool]] = []
        self._moving: dict[int, list[tuple[int, float]]] = {}
        self._programs: dict[int, CellChanges] = {}
        for change in (moves[number] for number in np.flatnonzero(np.diff(moves.begins) <= MOST_CELLS)):
            cells = np.array(sorted(change), dtype=np.int64)
            steps = np.array([change[cell] for cell in cells.tolist()], dtype=np.int64)
            moved = np.zeros(len(weight))
            moved[cells] = steps
            if np.abs(steps).max(initial=0) < LARGEST and not np.any(relations @ moved):
                self._keep(cells, steps / moves.scale, room)

    def _keep(self, cells: Integers, amounts: Floats, room: tuple[Floats, Floats]) -> None:
        down, up = room[0][cells], room[1][cells]
        same = bool(np.all((amounts <= up) & (-amounts <= down)))
        opposite = bool(np.all((-amounts <= up) & (amounts <= down)))
        if same or opposite:
            for cell, amount in zip(cells.tolist(), amounts.tolist(), strict=True):
                self._moving.setdefault(cell, []).append((len(self._changes), amount))
            self._changes.append((cells, amounts, same, opposite))

    def of(self, cell: int, level: float, enough: float) -> Iterator[tuple[Integers, Floats]]:
        """Return parts of changes that take a cell to a level, up and down; no farther than is enough."""
        ways = {True: False, False: False}
        for number, amount in self._moving.get(cell, ()):
            cells, amounts, same, opposite = self._changes[number]
            served = [up for up, fits in ((amount > 0, same), (amount < 0, opposite)) if fits and not ways[up]]
            if abs(amount) < level or not served:
                continue
            way = min(enough, abs(amount))
            part = self._program(number).least(
                int(np.searchsorted(cells, cell)), way if amount > 0 else -way, 1.0,
                most_cells=len(cells), weight=self._weight[cells],
            )  # fmt: skip
            for up in served if len(part.cells) else ():
                ways[up] = True
                yield cells[part.cells], part.steps if up == (amount > 0) else -part.steps

    def _program(self, number: int) -> CellChanges:
        """Return the relations among the cells of a change, none of which goes farther than it does there."""
        if number not in self._programs:
            cells, amounts, _, _ = self._changes[number]
            matrix = sparse.csr_array(self._by_column[:, cells])
            matrix = sparse.csr_array(matrix[np.diff(matrix.indptr) > 0])
            ends = np.minimum(amounts, 0.0), np.maximum(amounts, 0.0)
            self._programs[number] = CellChanges.of(matrix, *ends)
        return self._programs[number]
