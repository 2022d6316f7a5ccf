"""Claims that cost nothing: cells which are withheld in any case often move each other far enough.

Where such cells form a network, as in two-way tables, a few flows through them serve all claims that can be
served in this way, and nothing more is withheld for these. Elsewhere nothing is said here.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.boxes.claims import Claims, Rooms
from hitoku.feasibility.circulation import NetworkCirculation
from hitoku.model.arrays import Integers, Mask
from hitoku.model.protection import Moves
from hitoku.solver.work import CountedWork

# So many open claims are pushed one by one when flows for all together have no more to give.
FEW = 2_000
# What flows may look at: some ten seconds. Claims that are left are served by boxes and programs.
MAX_WORK = 2e9


def free_moves(relations: sparse.csr_array, rooms: Rooms, claims: Claims, held: Mask) -> Moves:
    """Serve claims through cells that are withheld in any case; what is served is claimed no more.

    Parameters
    ----------
    relations
        Of the table.
    rooms, claims
        What may move, and what must; the amounts of claims that are served become zero.
    held
        Cells that are withheld in any case.
    """
    cells = _loose(relations, held & (rooms.down + rooms.up > 0))
    n, place = len(claims.cells), np.searchsorted(cells, claims.cells)
    loose = np.isin(claims.cells, cells)
    asked, needs = np.zeros(len(cells), dtype=bool), np.zeros((3, len(cells)))
    asked[place[loose]] = True
    needs[:, place[loose]] = [level[loose] for level in (claims.lower, claims.upper, claims.width)]
    found: list[tuple[Integers, Integers]] = []
    network = NetworkCirculation.of(
        sparse.csr_array(relations[:, cells]),
        (-rooms.down[cells], rooms.up[cells]),
        needs,
        asked,
        CountedWork(MAX_WORK),
    )
    if network is not None:
        for change in network.changes(FEW):
            moved = np.flatnonzero(change)
            found.append((cells[network.cells[moved]], change[moved].astype(np.int64)))
        lacking = network.lacking
        served = cells[network.cells[network.asked & ~(lacking[0] | lacking[1])]]
        free = np.flatnonzero(np.isin(claims.cells, served))
        claims.amount[free] = claims.amount[n + free] = 0.0
    return Moves.of(found, int(rooms.scale))


def _loose(relations: sparse.csr_array, held: Mask) -> Integers:
    """List held cells but those that are alone in a relation, and those that are alone without them."""
    entry, held = (relations != 0).astype(np.int64), held.copy()
    while True:
        alone = (entry @ held.astype(np.int64)) == 1
        stuck = held & ((entry.T @ alone.astype(np.int64)) > 0)
        if not stuck.any():
            return np.flatnonzero(held)
        held &= ~stuck
