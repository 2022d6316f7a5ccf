"""Witnesses made cheaper together: one linear program for each batch of needs, again and again.

A box is a short circulation; long ones are built by linear programs, if many needs share one. A *batch* is
one circulation that serves many claims of similar size. Its program moves as little as possible, priced so
that cells which other batches move anyway are cheap; after some sweeps the batches have gathered on common
cells. A solution counts only if it is whole and keeps every room and claim, so every state is safe, and the
cheapest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.methods.circulation.claims import Claims, Rooms
from hitoku.methods.circulation.reach import FAR, CellReach
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.moves import Moves
from hitoku.solver.linear import LinearProgram, opened

# How much a cell that nobody moves costs more than one that is moved by one unit: large first, then small.
SHARPNESS = (10.0, 1.0, 0.1, 0.01)
# Simplex steps of one batch: what needs more is left as it is.
STEPS = 30_000


@dataclass(eq=False)
class WitnessBatch:
    """One change of all cells, and the claims that it serves."""

    change: Floats
    served: Integers
    unit: float


class Sweeps:
    """The relations of a table as linear programs over all cells that may move both ways.

    Parameters
    ----------
    reach
        The relations in whole numbers.
    relations
        The same as the table has them.
    rooms, claims
        What may move, and what must.
    price
        Of each cell; zero where it is withheld in any case.
    """

    def __init__(
        self, reach: CellReach, relations: sparse.csr_array, rooms: Rooms, claims: Claims, price: Floats
    ) -> None:
        self._reach, self._price = reach, price
        n = len(claims.cells)
        self._level = np.zeros(len(price))
        self._level[claims.cells] = np.where(claims.even[:n], claims.amount[:n], 0.0)
        self._room = np.minimum(rooms.even, FAR)
        self._cells = np.flatnonzero(self._room > 0)
        part = sparse.csr_array(relations[:, self._cells])
        part = part[np.flatnonzero(np.diff(part.indptr))]
        self._both = sparse.hstack([part, -part], format="csr")

    def improved(self, moves: Moves, n_even: int) -> Moves:
        """Sweep over the first changes of a list, which fit both ways; return the cheapest list found."""
        dense = [self._dense(moves, number) for number in range(len(moves))]
        rest = dense[n_even:]
        batches = self._assigned(
            [WitnessBatch(change, np.zeros(0, dtype=np.int64), 1.0) for change in dense[:n_even]]
        )
        best, least = [batch.change for batch in batches] + rest, np.inf
        for sharpness in SHARPNESS:
            for batch in batches:
                self._solve(batch, batches, rest, sharpness)
            total = float(self._price[self._moved([b.change for b in batches] + rest)].sum())
            if total < least:
                best, least = [batch.change for batch in batches] + rest, total
            batches = self._assigned(batches)
        before = float(self._price[self._moved(dense)].sum())
        return _listed(best if least < before else dense, moves.scale)

    def _assigned(self, batches: list[WitnessBatch]) -> list[WitnessBatch]:
        """Give each claim to the first batch that serves it; batches that serve none are dropped."""
        open_cells = self._level > 0
        kept = []
        for batch in batches:
            served = np.flatnonzero(open_cells & (np.abs(batch.change) >= self._level))
            if len(served):
                open_cells[served] = False
                kept.append(WitnessBatch(batch.change, served, float(np.median(self._level[served]))))
        return kept

    def _moved(self, changes: list[Floats]) -> Mask:
        moved = np.zeros(len(self._price), dtype=bool)
        for change in changes:
            moved |= change != 0
        return moved

    def _solve(
        self, batch: WitnessBatch, batches: list[WitnessBatch], rest: list[Floats], sharpness: float
    ) -> None:
        """Look for a cheaper change that serves the same claims; keep it if it is whole and fits."""
        size = np.zeros(len(self._price))
        for other in batches:
            size += np.abs(other.change) / other.unit
        for change in rest:
            size += np.abs(change) / max(1.0, float(np.abs(change).max(initial=1.0)))
        weight = (self._price / (size + sharpness))[self._cells]
        n = len(self._cells)
        low, high = np.zeros(2 * n), np.tile(self._room[self._cells] / batch.unit, 2)
        place = np.searchsorted(self._cells, batch.served)
        rising = batch.change[batch.served] > 0
        low[np.where(rising, place, n + place)] = self._level[batch.served] / batch.unit
        high[np.where(rising, n + place, place)] = 0.0
        program = LinearProgram(np.tile(weight, 2), self._both, np.zeros(self._both.shape[0]), low, high)
        with opened(program, work_limit=STEPS, dual=True) as warm:
            x = warm.solve(program.cost, details=False)
        if not x.optimal or x.x is None:
            return
        steps = (x.x[:n] - x.x[n:]) * batch.unit
        found = self._reach.exact(self._cells, steps)
        if found is None:
            return
        change = np.zeros(len(self._price))
        change[found.cells] = found.amounts
        served = np.abs(change[batch.served]) >= self._level[batch.served]
        if np.all(np.abs(change) <= self._room) and served.all():
            batch.change = change

    def _dense(self, moves: Moves, number: int) -> Floats:
        part = slice(moves.begins[number], moves.begins[number + 1])
        change = np.zeros(len(self._price))
        change[moves.cells[part]] = moves.amounts[part]
        return change


def _listed(changes: list[Floats], scale: int) -> Moves:
    cells = [np.flatnonzero(change) for change in changes]
    nothing = np.zeros(0, dtype=np.int64)
    amounts = [change[moved].astype(np.int64) for change, moved in zip(changes, cells, strict=True)]
    ends = np.cumsum([0, *map(len, cells)]).astype(np.int64)
    return Moves(ends, np.concatenate([nothing, *cells]), np.concatenate([nothing, *amounts]), scale)
