"""Extend one table that a rival beats to a box of tables that it beats.

The rival beats a table if counts along the flows by which it protects cells are large enough, and no other
cell becomes unsafe; see :mod:`hitoku.kernels.rivals`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import lowest
from hitoku.kernels.compiled import compiled
from hitoku.kernels.line_masks import augment, precedes, put, reopen_residual
from hitoku.kernels.rivals import (
    COLUMNS,
    FIRST,
    PER_VALUE,
    ROWS,
    THRESHOLD,
    Game,
    game_of,
    heavier,
    look_at,
    protects,
)

Integers = NDArray[np.int64]


@compiled
def afford(
    game: Game, rival: Integers, cell: int, base: Integers, top: Integers, rise: Integers, fall: Integers,
    scratch: Integers,
) -> None:  # fmt: skip
    """Raise the counts ``base`` towards ``top`` until the rival also protects a cell there."""
    shape, width, up = game[0], game[3], game[5]
    rows, columns = shape[ROWS], shape[COLUMNS]
    row, column = cell // columns, cell % columns
    rise[:] = 0
    fall[:] = 0
    risen, fallen = 0, 0
    for counts in (base, top):
        lacks = width[cell] - risen - fallen
        if lacks > 0:
            reopen_residual(rows, columns, counts, up, rival, cell, rise, scratch)
            sent, _, _ = augment(rows, columns, counts, up, row, column, lacks, rise, scratch)
            risen += sent
            lacks = min(lacks - sent, counts[cell] - fallen)
        if lacks > 0:
            reopen_residual(rows, columns, up, counts, rival, cell, fall, scratch)
            sent, _, _ = augment(rows, columns, up, counts, row, column, lacks, fall, scratch)
            fallen += sent
    base[cell] = max(base[cell], fallen)
    for i in range(rows):
        held = rival[i]
        while held != 0:
            k = i * columns + lowest(held)
            held &= held - 1
            base[k] = max(base[k], rise[k], -fall[k])


@compiled
def spare(game: Game, rival: Integers, withheld: Integers, base: Integers, floor: Integers) -> None:
    """Lower the counts of cells that only the pattern has, as long as the rival is preferred."""
    shape, pattern = game[0], game[1]
    rows, columns = shape[ROWS], shape[COLUMNS]
    slack = -heavier(game, rival, base) - (0 if precedes(rows, rival, pattern) else 1)
    for k in withheld:
        if (rival[k // columns] >> (k % columns)) & 1 == 0:
            less = min(base[k] - floor[k], slack // shape[PER_VALUE])
            base[k] -= less
            slack -= less * shape[PER_VALUE]


@compiled
def begin(
    game: Game, rival: Integers, withheld: Integers, low: Integers, high: Integers, x: Integers, start:
    Integers, end: Integers, floor: Integers,
) -> None:  # fmt: skip
    """Start from the entire box, but keep cells without the rival safe, and safe zeros at zero."""
    shape = game[0]
    columns, threshold = shape[COLUMNS], shape[THRESHOLD]
    start[:] = low
    end[:] = high
    for k in withheld:
        if (rival[k // columns] >> (k % columns)) & 1 == 0:
            floor[k] = max(low[k], threshold) if x[k] >= threshold else low[k]
            start[k] = x[k] if shape[PER_VALUE] != 0 else floor[k]
        if x[k] < shape[FIRST]:
            end[k] = x[k]
    if shape[PER_VALUE] != 0:
        spare(game, rival, withheld, start, floor)


@compiled
def widen(
    game: Game, rival: Integers, withheld: Integers, low: Integers, high: Integers, x: Integers, start:
    Integers, end: Integers, cells: Integers, value_lines: Integers, scratch: Integers,
) -> None:  # fmt: skip
    """Write a part of a box around ``x``, from ``start`` to ``end``, in which a rival beats all tables."""
    shape = game[0]
    rows, columns, threshold = shape[ROWS], shape[COLUMNS], shape[THRESHOLD]
    flow, fall, floor = cells[0], cells[1], cells[2]
    begin(game, rival, withheld, low, high, x, start, end, floor)
    for k in withheld:
        if shape[FIRST] <= x[k] < threshold:
            afford(game, rival, k, start, x, flow, fall, scratch)
    look_at(game, start, value_lines, floor)
    for k in withheld:
        # Cells that are safe in the table and may be unsafe elsewhere: protected, or excluded.
        large, zero = x[k] >= threshold > start[k], end[k] < high[k]
        within = (rival[k // columns] >> (k % columns)) & 1 == 1
        if within and (large or zero):
            covered = protects(game, rival, start, value_lines, k, flow, scratch)
            if covered and zero:
                end[k] = high[k]
            if not covered and large:
                start[k] = threshold
                put(rows, columns, value_lines, k)


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    shape, one = np.array([2, 2, 0, 2, 0]), np.ones(4, dtype=np.int64)
    everything = np.ones(4, dtype=np.bool_)
    game, _, _ = game_of(shape, one, everything, everything, one, one)
    cells, lines = np.ones((3, 4), dtype=np.int64), np.full(4, 3)
    start, end, zero = one.copy(), one.copy(), 0 * one
    widen(game, lines, np.arange(4), zero, one, one, start, end, cells, lines.copy(), cells.copy())
