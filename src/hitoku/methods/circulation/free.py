"""Claims that cost nothing: cells which are withheld in any case often move each other far enough.

Where such cells form a network, as in two-way tables, a few flows through them serve all claims that can be
served in this way, and nothing more is withheld for these. Elsewhere nothing is said here.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.feasibility import Incidence, Levels, NetworkCirculation, Problem
from hitoku.feasibility.hypercubes import Claims, Rooms
from hitoku.model import Integers, Mask, Moves
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
    cells = np.flatnonzero(Incidence.of(relations).movable(held & (rooms.down + rooms.up > 0)))
    n, place = len(claims.cells), np.searchsorted(cells, claims.cells)
    loose = np.isin(claims.cells, cells)
    levels = Levels.none(len(cells))
    levels.required[place[loose]] = True
    levels.down[place[loose]], levels.up[place[loose]] = claims.lower[loose], claims.upper[loose]
    levels.width[place[loose]] = claims.width[loose]
    found: list[tuple[Integers, Integers]] = []
    part = sparse.csr_array(relations[:, cells])
    problem = Problem.differences(part, -rooms.down[cells], rooms.up[cells])
    network = NetworkCirculation.of(problem, levels, CountedWork(MAX_WORK))
    if network is not None:
        for change in network.changes(FEW):
            moved = np.flatnonzero(change)
            found.append((cells[network.cells[moved]], change[moved].astype(np.int64)))
        lacking = network.lacking
        served = cells[network.cells[network.levels.required & ~(lacking[0] | lacking[1])]]
        free = np.flatnonzero(np.isin(claims.cells, served))
        claims.amount[free] = claims.amount[n + free] = 0.0
    return Moves.of(found, int(rooms.scale))
