"""The short way for small two-way tables with published margins: bit patterns in compiled code."""

from __future__ import annotations

import numpy as np

from hitoku.methods.costs import Grid
from hitoku.methods.optimal.instance import DOWN, UP, WIDTH
from hitoku.methods.optimal.presolve import levels_of
from hitoku.methods.optimal.tie_break import NUMBERS, numbers
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.need import Need
from hitoku.model.table import Table

MOST_CELLS = 64
# Beyond this the search is not small, and the general way may be quicker.
NODES = 200_000
# Rooms and levels up to here are whole numbers in doubles, and sums of them fit the kernel's integers.
LARGEST = 2.0**40


def fits(table: Table, keep: Mask) -> bool:
    """Tell whether a table is two-way, flat, small and whole, with all its margins published."""
    if len(table.dimensions) != 2 or not table.integer or any(len(d.groups) != 1 for d in table.dimensions):
        return False
    rows, columns = (len(d.leaves) for d in table.dimensions)
    n = rows * columns
    plain = table.relations.shape[0] == rows + columns + 2 and table.relations.nnz == 2 * table.n_cells
    if n > MOST_CELLS or not plain or not keep[~table.inner].all():
        return False
    ends = np.concatenate([table.lower, table.upper])
    ends = ends[np.isfinite(ends)]
    return bool(np.array_equal(ends, np.rint(ends)) and np.abs(table.value).max() < LARGEST)


def pattern_of_small(table: Table, need: Need, cost: Floats, keep: Mask, withhold: Mask) -> Mask | None:
    """Return the cheapest pattern; None when there is none, or when the search takes too long."""
    inner = np.flatnonzero(table.inner)
    forced = (need.unsafe | withhold)[inner]
    up, down = (table.upper - table.value)[inner], (table.value - table.lower)[inner]
    allowed = (~keep[inner] & ((up > 0) | (down > 0))) | forced
    free = allowed & ~forced
    grid = Grid.of(cost[inner[free]])
    multiple = NUMBERS * len(inner)
    if not grid.whole or grid.weight.sum() * multiple > 2.0**61:
        return None
    weight = np.zeros(len(inner), dtype=np.int64)
    weight[free] = grid.weight.astype(np.int64) * multiple + numbers(table.labels, inner[free])
    levels = levels_of(table, need)
    if np.any(levels.amount >= LARGEST):
        return None
    wanted = np.zeros((len(inner), 3), dtype=np.int64)
    place = np.zeros(table.n_cells, dtype=np.int64)
    place[inner] = np.arange(len(inner))
    for at, side in enumerate((UP, DOWN, WIDTH)):
        mine = levels.side == side
        # Flows of whole rooms are whole: a level between two whole numbers takes the upper one.
        wanted[place[levels.cell[mine]], at] = np.ceil(levels.amount[mine] - 1e-9).astype(np.int64)
    from hitoku.kernels.patterns import FAR, cheapest  # noqa: PLC0415 - numba takes a second to load

    rooms = [np.minimum(room, FAR).astype(np.int64) for room in (up, down)]
    rows, columns = (len(d.leaves) for d in table.dimensions)
    status, found, _ = cheapest(rows, columns, *rooms, wanted, weight, _bits(forced), _bits(allowed), NODES)
    if status != 1:
        return None
    withheld = need.unsafe | withhold
    withheld[inner[_cells(found, len(inner))]] = True
    return withheld


def _bits(mask: Mask) -> np.uint64:
    return np.uint64(sum(1 << int(k) for k in np.flatnonzero(mask)))


def _cells(bits: int, n: int) -> Integers:
    return np.flatnonzero([(int(bits) >> k) & 1 for k in range(n)])
