"""Initial cuts, one per relation of an unsafe cell: it moves only if other cells of the relation do.

Capacity constraints whose multipliers pick a single relation; in a network, the cut around one node.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.attacker_subproblems import GRID
from hitoku.methods.optimal.cuts import Cuts, capacity_cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.pushes import Pushed, pushes_for
from hitoku.model import Floats, Integers
from hitoku.solver.covering import SparseRows


def star_cuts(instance: Instance) -> Cuts:
    """Return the capacity constraint of every level and every relation of its cell."""
    columns = sparse.csc_array(instance.relations)
    level, sense = pushes_for(instance, np.arange(len(instance.levels)))
    cell = instance.levels.cell[level]
    count = np.diff(columns.indptr)[cell]
    everything = np.ones(len(instance.levels), dtype=bool)
    made: dict[tuple[bytes, bytes], tuple[Integers, Floats]] = {}
    for k in range(count.max(initial=0)):
        has = np.flatnonzero(count > k)
        at = columns.indptr[cell[has]] + k
        # The multiplier that takes the cell itself out; any other would be true too, but weaker.
        y = np.rint(-sense[has] * GRID / columns.data[at]).astype(np.int64)
        multipliers = SparseRows(np.arange(len(has) + 1), columns.indices[at].astype(np.int64), y)
        pushed = Pushed(level[has], sense[has], np.zeros(len(has)), multipliers, None, GRID, None)
        for row in capacity_cuts(instance, pushed, everything):
            made.setdefault((row[0].tobytes(), row[1].tobytes()), row)
    return Cuts.of(list(made.values()))
