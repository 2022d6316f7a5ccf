"""Matching attack on small two-way counts: counts of suppressed cells in tables that lead to the pattern.

To search a box for a table that leads to the pattern, take any table of it. If it does not, some rival beats
it, together with a part of the box around it; cut that part off and continue with the rest. To find the
interval of a cell, search outside the counts met so far, until there is no such table.

Terms and inputs are those of :mod:`hitoku.kernels.rivals` and :mod:`hitoku.kernels.count_bounds`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled
from hitoku.kernels.count_bounds import squeeze, sums_of, table_in
from hitoku.kernels.line_masks import put
from hitoku.kernels.rivals import (
    COLUMNS,
    FIRST,
    MAX_RIVALS,
    ROWS,
    THRESHOLD,
    Game,
    beaten,
    exposed_by,
    game_of,
    keep_rival,
    look_at,
    rival_of,
    verdicts,
)
from hitoku.kernels.widening import widen

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Sums of the lines, and suppressed cells; least and largest counts of boxes; rivals; scratch space over
# lines, over cells (five), counts by lines, risky cells, one rival; remaining nodes and number of rivals.
Desk = tuple[
    Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers,
    Integers
]  # fmt: skip
LEFT, N_RIVALS = range(2)

# Maximum number of boxes on the stack.
MAX_BOXES = 4000
GAVE_UP, NOTHING, MATCH = range(-1, 2)


@compiled
def desk_of(rows: int, columns: int, values: Integers, withheld: Mask, nodes: int) -> Desk:
    """Allocate the state and scratch space of a search."""
    n, n_lines = rows * columns, rows + columns
    return (
        sums_of(rows, columns, values, withheld),
        np.flatnonzero(withheld),
        np.empty((MAX_BOXES, n), dtype=np.int64),
        np.empty((MAX_BOXES, n), dtype=np.int64),
        np.empty((MAX_RIVALS, n_lines + 1), dtype=np.int64),
        np.empty((3, n_lines), dtype=np.int64),
        np.empty((5, n), dtype=np.int64),
        np.empty(n_lines, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty(n_lines, dtype=np.int64),
        np.array([nodes, 0]),
    )


@compiled
def at_risk(game: Game, low: Integers, high: Integers, value_lines: Integers, risky: Integers) -> None:
    """Write masks by lines of counts that are positive throughout a box, and of cells that may be unsafe."""
    shape = game[0]
    rows, columns = shape[ROWS], shape[COLUMNS]
    value_lines[:] = 0
    risky[:] = 0
    for k in range(rows * columns):
        if low[k] > 0:
            put(rows, columns, value_lines, k)
        if low[k] < shape[THRESHOLD] and high[k] >= shape[FIRST]:
            risky[k // columns] |= 1 << (k % columns)


@compiled
def promising(game: Game, desk: Desk, low: Integers, high: Integers, x: Integers) -> bool:
    """Tighten a box and write one of its tables; False if it is empty or a rival beats all of it."""
    shape, pattern = game[0], game[1]
    sums, _, _, _, rivals, scratch, cells, value_lines, risky, _, numbers = desk
    rows, columns = shape[ROWS], shape[COLUMNS]
    if not squeeze(rows, columns, pattern, sums, low, high):
        return False
    at_risk(game, low, high, value_lines, risky)
    # A few rivals are tried on the whole box; the others only on one table of it.
    n_tried = min(numbers[N_RIVALS], 16)
    if beaten(game, rivals, n_tried, low, value_lines, risky, cells[0], scratch):
        return False
    return bool(table_in(rows, columns, pattern, sums, low, high, x, scratch))


@compiled
def judge(
    game: Game, desk: Desk, low: Integers, high: Integers, x: Integers, start: Integers, end: Integers
) -> int:
    """Return whether a table leads to the pattern; if not, write a part of the box in which none does."""
    shape = game[0]
    _, withheld, _, _, rivals, scratch, cells, value_lines, risky, rival, numbers = desk
    bare = exposed_by(game, x)
    if bare >= 0:
        # No table in which this cell is unsafe leads to the pattern.
        start[:] = low
        end[:] = high
        start[bare] = max(low[bare], shape[FIRST])
        end[bare] = min(high[bare], shape[THRESHOLD] - 1)
        return NOTHING
    look_at(game, x, value_lines, risky)
    if beaten(game, rivals, numbers[N_RIVALS], x, value_lines, risky, cells[0], scratch):
        rival[:] = rivals[0, :-1]
    else:
        ended, used = rival_of(game, x, value_lines, rival, numbers[LEFT])
        numbers[LEFT] -= used
        if ended != 1:
            return MATCH if ended == 0 else GAVE_UP
        numbers[N_RIVALS] = keep_rival(rivals, numbers[N_RIVALS], rival)
    widen(game, rival, withheld, low, high, x, start, end, cells, value_lines, scratch)
    return NOTHING


@compiled
def cut_off(desk: Desk, top: int, start: Integers, end: Integers) -> int:
    """Replace a box by the rest of it: below or above the part that is cut off, cell by cell."""
    withheld, lows, highs = desk[1], desk[2], desk[3]
    rest = top + 2 * len(withheld)
    lows[rest] = lows[top]
    highs[rest] = highs[top]
    for k in withheld:
        if start[k] > lows[rest, k]:
            lows[top] = lows[rest]
            highs[top] = highs[rest]
            highs[top, k] = start[k] - 1
            lows[rest, k] = start[k]
            top += 1
        if end[k] < highs[rest, k]:
            lows[top] = lows[rest]
            highs[top] = highs[rest]
            lows[top, k] = end[k] + 1
            highs[rest, k] = end[k]
            top += 1
    return top


@compiled
def search(
    game: Game, desk: Desk, low: Integers, high: Integers, cell: int, first: int, last: int, x: Integers
) -> int:
    """Search a box, with one cell between two counts, for a table that leads to the pattern, and write it."""
    withheld, lows, highs, numbers = desk[1], desk[2], desk[3], desk[10]
    start, end = desk[6][3], desk[6][4]
    lows[0] = low
    highs[0] = high
    lows[0, cell] = first
    highs[0, cell] = last
    top = 1
    while top > 0:
        top -= 1
        numbers[LEFT] -= 1
        if numbers[LEFT] < 0 or top + 2 * len(withheld) + 1 > len(lows):
            return GAVE_UP
        if promising(game, desk, lows[top], highs[top], x):
            verdict = judge(game, desk, lows[top], highs[top], x, start, end)
            if verdict != NOTHING:
                return int(verdict)
            top = cut_off(desk, top, start, end)
    return NOTHING


@compiled
def meet(withheld: Integers, x: Integers, least: Integers, most: Integers, seen: Mask) -> None:
    """Record the counts of a table that leads to the pattern."""
    for k in withheld:
        least[k] = min(least[k], x[k])
        most[k] = max(most[k], x[k])
        if seen.shape[1] > 0:
            seen[k, x[k]] = True


@compiled
def settle(
    game: Game, desk: Desk, low: Integers, high: Integers, least: Integers, most: Integers, seen: Mask, k:
    int, x: Integers,
) -> bool:  # fmt: skip
    """Search outside the range met of one cell until it is exact; False if the node limit is reached."""
    while low[k] < least[k]:
        ended = search(game, desk, low, high, k, low[k], least[k] - 1, x)
        if ended == MATCH:
            meet(desk[1], x, least, most, seen)
        elif ended == NOTHING:
            low[k] = least[k]
        else:
            return False
    while most[k] < high[k]:
        ended = search(game, desk, low, high, k, most[k] + 1, high[k], x)
        if ended == MATCH:
            meet(desk[1], x, least, most, seen)
        elif ended == NOTHING:
            high[k] = most[k]
        else:
            return False
    return True


@compiled
def inside(
    game: Game, desk: Desk, low: Integers, high: Integers, least: Integers, most: Integers, seen: Mask, k:
    int, x: Integers,
) -> bool:  # fmt: skip
    """Decide all counts between the ends of one cell; False if the node limit is reached."""
    count = least[k]
    while count <= most[k]:
        if seen[k, count]:
            count += 1
            continue
        last = count
        while not seen[k, last + 1]:
            last += 1
        ended = search(game, desk, low, high, k, count, last, x)
        if ended == GAVE_UP:
            return False
        if ended == MATCH:
            meet(desk[1], x, least, most, seen)
        else:
            count = last + 1
    return True


@compiled
def shave(
    shape: Integers, values: Integers, withheld: Mask, allowed: Mask, width: Integers, fixed: Integers,
    seen: Mask, nodes: int,
) -> tuple[bool, Integers, Integers, Integers, Integers, Mask, int]:  # fmt: skip
    """Find the least and largest count of every suppressed cell over tables that lead to the pattern.

    Parameters
    ----------
    shape
        Rows, columns, first unsafe count, first safe one above it, weight per count.
    values
        One table that fits, whether it leads to the pattern or not.
    withheld, allowed
        The pattern, and the cells that may be suppressed.
    width, fixed
        Required width of unsafe cells, and fixed weight of each cell.
    seen
        Output, cells by counts, all False at first: counts that occur in tables that lead to the pattern;
        none for a cell that was not finished. Without columns only the ends are computed.
    nodes
        Maximum number of nodes.

    Returns
    -------
    Whether any such table was found; least and largest counts found; proven bounds; cells that were not
    finished; remaining nodes.
    """
    game, low, high = game_of(shape, values, withheld, allowed, width, fixed)
    desk = desk_of(shape[ROWS], shape[COLUMNS], values, withheld, nodes)
    cells, n = desk[1], len(values)
    least, most, unknown = np.full(n, 2**60), np.full(n, -1), np.zeros(n, dtype=np.bool_)
    x = np.empty(n, dtype=np.int64)
    ended = search(game, desk, low, high, 0, low[0], high[0], x)
    if ended != MATCH:
        unknown[cells] = ended == GAVE_UP
        return False, least, most, low, high, unknown, desk[10][LEFT]
    meet(cells, x, least, most, seen)
    for k in cells:
        unknown[k] = not settle(game, desk, low, high, least, most, seen, k, x)
    if seen.shape[1] > 0:
        for k in cells:
            if unknown[k] or not inside(game, desk, low, high, least, most, seen, k, x):
                seen[k] = False
    return True, least, most, low, high, unknown, desk[10][LEFT]


@compiled
def outer(shape: Integers, values: Integers, withheld: Mask) -> tuple[Integers, Integers]:
    """Return the least and largest count of every cell over all tables that fit."""
    everything, nothing = np.ones(len(values), dtype=np.bool_), np.zeros(len(values), dtype=np.int64)
    _, low, high = game_of(shape, values, withheld, everything, nothing, nothing)
    return low, high


@compiled
def sift(
    shape: Integers, values: Integers, withheld: Mask, allowed: Mask, width: Integers, fixed: Integers,
    tables: Integers, nodes: int,
) -> Integers:  # fmt: skip
    """Return whether each table leads to the pattern: 1, 0, or -1 once the node limit is reached."""
    game, _, _ = game_of(shape, values, withheld, allowed, width, fixed)
    return np.asarray(verdicts(game, tables, nodes))


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    shape, one = np.array([2, 2, 0, 2, 0]), np.ones(4, dtype=np.int64)
    everything = np.ones(4, dtype=np.bool_)
    shave(shape, one, everything, everything, one, one, np.zeros((4, 0), dtype=np.bool_), 100)
    outer(shape, one, everything)
    sift(shape, one, everything, everything, one, one, one[None, :], 100)
