"""Witnesses added up to few common tables, for the audit."""

from __future__ import annotations

import numpy as np

from hitoku.feasibility.hypercubes.claims import Rooms
from hitoku.feasibility.hypercubes.hypercube_search import Boxes
from hitoku.model import Integers, Moves

# Common tables that are filled at once; what fits in none of them is handed over alone.
MAX_PACKS = 48


def packed(boxes: Boxes, rooms: Rooms, spread: float = np.inf) -> tuple[Moves, int]:
    """Add witnesses up while sums keep all rooms and every claim stays met; positions become cells.

    Witnesses that fit both ways share tables of their own, which come first: their opposites prove the other
    side. Claims without a witness are left out. Returns also how many tables fit both ways.

    Parameters
    ----------
    boxes, rooms
        The witnesses, and what cells may move.
    spread
        Claims share a table while the largest is at most so many times the smallest.
    """
    from hitoku.kernels.packing import pack  # noqa: PLC0415 - loads numba

    cover, claims = boxes.cover, boxes.claims
    claim, cell, amount = boxes.shown_entries()
    used = np.unique(cell)
    place = np.full(len(cover.position), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    begins = np.searchsorted(claim, np.arange(len(claims.amount) + 1))
    owner = place[np.concatenate([claims.cells, claims.cells])]
    tables: list[tuple[Integers, Integers]] = []
    n_even = 0
    made = claims.made[begins[claims.made + 1] > begins[claims.made]]
    made = made[np.lexsort((made, -claims.amount[made]))]
    for even in (True, False):
        order = made[claims.even[made] == even]
        if len(order) == 0:
            continue
        room = (rooms.even[used], rooms.even[used]) if even else (rooms.down[used], rooms.up[used])
        n = min(MAX_PACKS, len(order))
        sums, held = np.zeros((n, len(used)), dtype=np.int64), np.zeros((n, len(used)), dtype=np.int8)
        numbers = np.full(len(claims.amount), -1, dtype=np.int64)
        entries = begins, place[cell], amount
        pack(entries, order, owner, claims.sign, claims.amount, room, even, spread, sums, held, numbers)
        for total in sums:
            moved = np.flatnonzero(total)
            if len(moved):
                tables.append((used[moved], total[moved]))
        for loose in order[numbers[order] < 0].tolist():
            part = slice(begins[loose], begins[loose + 1])
            tables.append((cell[part], amount[part]))
        n_even = len(tables) if even else n_even
    return Moves.of(tables, int(rooms.scale)), n_even
