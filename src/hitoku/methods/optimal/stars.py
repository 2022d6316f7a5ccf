"""Cuts that need no search: a cell moves only if the others in each of its relations make up for it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.cuts import CutRows, capacity_rows
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.pushing import GRID, Pushed, parts
from hitoku.model.arrays import Floats, Integers


def star_rows(instance: Instance) -> CutRows:
    """Return the capacity row of every level and every relation of its cell."""
    columns = sparse.csc_array(instance.relations)
    level, sense = parts(instance, np.arange(len(instance.levels)))
    cell = instance.levels.cell[level]
    count = np.diff(columns.indptr)[cell]
    everything = np.ones(len(instance.levels), dtype=bool)
    made: dict[tuple[bytes, bytes], tuple[Integers, Floats]] = {}
    for k in range(count.max(initial=0)):
        has = np.flatnonzero(count > k)
        at = columns.indptr[cell[has]] + k
        # The multiplier that takes the cell itself out; any other would be true too, but weaker.
        y = np.rint(-sense[has] * GRID / columns.data[at]).astype(np.int64)
        shape = (len(has), instance.relations.shape[0])
        multipliers = sparse.csr_array((y, (np.arange(len(has)), columns.indices[at])), shape=shape)
        pushed = Pushed(level[has], sense[has], np.zeros(len(has)), multipliers, None, GRID, None)
        for row in capacity_rows(instance, pushed, everything):
            made.setdefault((row[0].tobytes(), row[1].tobytes()), row)
    return CutRows.of(list(made.values()))
