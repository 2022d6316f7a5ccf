"""Packing of witnesses into few sums, for the audit."""

from __future__ import annotations

import numpy as np

from hitoku.feasibility.hypercubes.hypercube_search import HypercubeSearch
from hitoku.feasibility.hypercubes.requirements import Slacks
from hitoku.model import Deviations, Integers

# Maximum number of sums that are filled at once; a witness that fits in none remains on its own.
MAX_PACKS = 48


def pack_witnesses(
    hypercubes: HypercubeSearch, slacks: Slacks, spread: float = np.inf
) -> tuple[Deviations, int]:
    """Add witnesses up while sums stay within all slacks and every requirement stays met.

    Witnesses that are feasible in both directions share separate sums, which come first: their opposites
    prove the other side. Requirements without a witness are omitted. Returns the sums, by cells, and the
    number that are feasible in both directions.

    Parameters
    ----------
    hypercubes, slacks
        The witnesses, and the slacks of cells.
    spread
        Largest ratio of two requirements that share a sum.
    """
    from hitoku.kernels.packing import pack  # noqa: PLC0415 - loads numba

    cross_table, requirements = hypercubes.cross_table, hypercubes.requirements
    requirement, cell, amount = hypercubes.shown_entries()
    used = np.unique(cell)
    place = np.full(len(cross_table.position), -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    begins = np.searchsorted(requirement, np.arange(len(requirements.amount) + 1))
    owner = place[np.concatenate([requirements.cells, requirements.cells])]
    tables: list[tuple[Integers, Integers]] = []
    n_even = 0
    made = requirements.made[begins[requirements.made + 1] > begins[requirements.made]]
    made = made[np.lexsort((made, -requirements.amount[made]))]
    for even in (True, False):
        order = made[requirements.even[made] == even]
        if len(order) == 0:
            continue
        room = (slacks.even[used], slacks.even[used]) if even else (slacks.down[used], slacks.up[used])
        n = min(MAX_PACKS, len(order))
        sums, held = np.zeros((n, len(used)), dtype=np.int64), np.zeros((n, len(used)), dtype=np.int8)
        numbers = np.full(len(requirements.amount), -1, dtype=np.int64)
        entries = begins, place[cell], amount
        pack(
            entries,
            order,
            owner,
            requirements.sign,
            requirements.amount,
            room,
            even,
            spread,
            sums,
            held,
            numbers,
        )
        for total in sums:
            moved = np.flatnonzero(total)
            if len(moved):
                tables.append((used[moved], total[moved]))
        for loose in order[numbers[order] < 0].tolist():
            part = slice(begins[loose], begins[loose + 1])
            tables.append((cell[part], amount[part]))
        n_even = len(tables) if even else n_even
    return Deviations.of(tables, int(slacks.scale)), n_even
