"""Rivals of a pattern: patterns that are preferred to it and are also safe for a table of counts.

The tables are two-way counts with published margins, in which a count of at least ``first`` and less than
``threshold`` is unsafe and needs an interval of a given width. The method chooses the lightest safe pattern,
then the lexicographically smallest; a cell weighs ``fixed + per_value * count``.

The safety of a rival is monotone in the counts: a pattern that protects a cell at some counts protects it at
all larger ones. A rival that is safe at the lower corner of a box of counts, for every cell that may be
unsafe somewhere in the box, therefore beats the pattern throughout the box.

Cells, lines and sets are as in :mod:`hitoku.kernels.line_masks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import lowest
from hitoku.kernels.compiled import compiled
from hitoku.kernels.line_masks import FAR, WIDTH, lines_of, precedes, put, send_flow
from hitoku.kernels.patterns import FOUND, GAVE_UP, improve

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Rows, columns, first, threshold and per_value in one array; then the pattern by lines, allowed cells by
# lines, widths, fixed weights, slack up over cells and by lines, cells that the pattern does not protect.
Game = tuple[Integers, Integers, Integers, Integers, Integers, Integers, Integers, Mask]
ROWS, COLUMNS, FIRST, THRESHOLD, PER_VALUE = range(5)

# Maximum number of rivals that are kept; those that beat a table last come first.
MAX_RIVALS = 200


@compiled
def game_of(
    shape: Integers, values: Integers, withheld: Mask, allowed: Mask, width: Integers, fixed: Integers
) -> tuple[Game, Integers, Integers]:
    """Build the input of the attack; return it with the least and largest count of each cell.

    ``values`` is one table that fits; the ranges that the pattern leaves are the same for all of them.
    """
    rows, columns = shape[ROWS], shape[COLUMNS]
    n = rows * columns
    pattern = lines_of(rows, columns, withheld)
    up, up_lines = np.full(n, FAR), lines_of(rows, columns, np.ones(n, dtype=np.bool_))
    down_lines = lines_of(rows, columns, values > 0)
    flow, scratch = np.empty(n, dtype=np.int64), np.empty((3, rows + columns), dtype=np.int64)
    low, high = values.copy(), values.copy()
    bare = np.zeros(n, dtype=np.bool_)
    for k in np.flatnonzero(withheld):
        rise, _, _ = send_flow(
            rows, columns, values, up, down_lines, up_lines, pattern, k, FAR, flow, scratch
        )  # fmt: skip
        fall, _, _ = send_flow(
            rows, columns, up, values, up_lines, down_lines, pattern, k, values[k], flow, scratch
        )  # fmt: skip
        low[k], high[k] = values[k] - fall, values[k] + rise
        bare[k] = rise + fall < width[k]
    game = (shape, pattern, lines_of(rows, columns, allowed), width, fixed, up, up_lines, bare)
    return game, low, high


@compiled
def heavier(game: Game, rival: Integers, values: Integers) -> int:
    """Return how much more a rival weighs than the pattern at some counts."""
    shape, pattern, _, _, fixed, _, _, _ = game
    more = 0
    for i in range(shape[ROWS]):
        differ = rival[i] ^ pattern[i]
        while differ != 0:
            j = lowest(differ)
            differ &= differ - 1
            k = i * shape[COLUMNS] + j
            weight = fixed[k] + shape[PER_VALUE] * values[k]
            more += weight if (rival[i] >> j) & 1 else -weight
    return more


@compiled
def protects(
    game: Game, rival: Integers, values: Integers, value_lines: Integers, cell: int, flow: Integers,
    scratch: Integers,
) -> bool:  # fmt: skip
    """Return whether a rival leaves a cell its width, at some counts and therefore at all larger ones."""
    shape, _, _, width, _, up, up_lines, _ = game
    rows, columns = shape[ROWS], shape[COLUMNS]
    rise, _, _ = send_flow(
        rows, columns, values, up, value_lines, up_lines, rival, cell, width[cell], flow, scratch
    )  # fmt: skip
    wanted = width[cell] - rise
    if wanted <= 0 or wanted > values[cell]:
        return bool(wanted <= 0)
    fall, _, _ = send_flow(
        rows, columns, up, values, up_lines, value_lines, rival, cell, wanted, flow, scratch
    )  # fmt: skip
    return bool(fall >= wanted)


@compiled
def beats(
    game: Game, rival: Integers, values: Integers, value_lines: Integers, risky: Integers, suspect: int,
    flow: Integers, scratch: Integers,
) -> int:  # fmt: skip
    """Return -1 if a rival is preferred and protects all risky cells, at some counts and all larger ones.

    Otherwise returns a cell that it does not protect, or ``suspect`` if it is not preferred. The suspect is
    tested before the other cells.
    """
    shape, pattern = game[0], game[1]
    rows, columns = shape[ROWS], shape[COLUMNS]
    for i in range(rows):
        if risky[i] & ~rival[i] != 0:
            return int(i * columns + lowest(risky[i] & ~rival[i]))
    if shape[PER_VALUE] != 0:
        more = heavier(game, rival, values)
        if more > 0 or (more == 0 and not precedes(rows, rival, pattern)):
            return suspect
    risks = (risky[suspect // columns] >> (suspect % columns)) & 1 == 1
    if risks and not protects(game, rival, values, value_lines, suspect, flow, scratch):
        return suspect
    for i in range(rows):
        left = risky[i]
        while left != 0:
            k = i * columns + lowest(left)
            left &= left - 1
            if k != suspect and not protects(game, rival, values, value_lines, k, flow, scratch):
                return int(k)
    return -1


@compiled
def beaten(
    game: Game, rivals: Integers, n_rivals: int, values: Integers, value_lines: Integers, risky: Integers,
    flow: Integers, scratch: Integers,
) -> bool:  # fmt: skip
    """Return whether a known rival beats the pattern; it is moved to the front of the list.

    The last entry of a rival is the cell that it most recently failed to protect.
    """
    for place in range(n_rivals):
        rival = rivals[place]
        failing = beats(game, rival, values, value_lines, risky, rival[-1], flow, scratch)
        if failing < 0:
            for line in range(rivals.shape[1]):
                front = rivals[place, line]
                for other in range(place, 0, -1):
                    rivals[other, line] = rivals[other - 1, line]
                rivals[0, line] = front
            return True
        rival[-1] = failing
    return False


@compiled
def look_at(game: Game, values: Integers, value_lines: Integers, unsafe: Integers) -> None:
    """Write masks by lines of positive and of unsafe counts."""
    shape = game[0]
    rows, columns = shape[ROWS], shape[COLUMNS]
    value_lines[:] = 0
    unsafe[:] = 0
    for k in range(rows * columns):
        if values[k] > 0:
            put(rows, columns, value_lines, k)
        if shape[FIRST] <= values[k] < shape[THRESHOLD]:
            unsafe[k // columns] |= 1 << (k % columns)


@compiled
def rival_of(
    game: Game, values: Integers, value_lines: Integers, rival: Integers, nodes: int
) -> tuple[int, int]:
    """Search for a rival at some counts; return 1 (written), 0 (none) or -1 (gave up), and nodes used."""
    shape, pattern, allowed, width, fixed, up, up_lines, _ = game
    rows, columns = shape[ROWS], shape[COLUMNS]
    n = rows * columns
    need = np.zeros((n, 3), dtype=np.int64)
    weight = np.empty(n, dtype=np.int64)
    forced = np.zeros(rows + columns, dtype=np.int64)
    total = 0
    for k in range(n):
        weight[k] = fixed[k] + shape[PER_VALUE] * values[k]
        if shape[FIRST] <= values[k] < shape[THRESHOLD]:
            need[k, WIDTH] = width[k]
            weight[k] = 0
            put(rows, columns, forced, k)
        elif (pattern[k // columns] >> (k % columns)) & 1:
            total += weight[k]
    problem = (up, values, need, weight, up_lines, value_lines, forced, forced)
    rival[:] = pattern
    ended, _, used = improve(rows, columns, problem, allowed, rival, total, True, nodes)
    return (1 if ended == FOUND else -1 if ended == GAVE_UP else 0), used


@compiled
def keep_rival(rivals: Integers, n_rivals: int, rival: Integers) -> int:
    """Insert a new rival at the front; the last one is dropped if there are too many."""
    n_rivals = min(n_rivals + 1, len(rivals))
    for place in range(n_rivals - 1, 0, -1):
        rivals[place] = rivals[place - 1]
    rivals[0, :-1] = rival
    rivals[0, -1] = 0
    return n_rivals


@compiled
def exposed_by(game: Game, values: Integers) -> int:
    """Return the first cell that is unsafe at these counts and not protected by the pattern; -1 for none."""
    shape, bare = game[0], game[7]
    for k in range(len(values)):
        if bare[k] and shape[FIRST] <= values[k] < shape[THRESHOLD]:
            return k
    return -1


@compiled
def verdicts(game: Game, tables: Integers, nodes: int) -> Integers:
    """Return whether each table leads to the pattern: 1, 0, or -1 once the node limit is reached."""
    shape = game[0]
    rows, columns = shape[ROWS], shape[COLUMNS]
    flow, scratch = np.empty(rows * columns, dtype=np.int64), np.empty((3, rows + columns), dtype=np.int64)
    rivals, n_rivals = np.empty((MAX_RIVALS, rows + columns + 1), dtype=np.int64), 0
    value_lines, unsafe = np.empty(rows + columns, dtype=np.int64), np.empty(rows, dtype=np.int64)
    rival = np.empty(rows + columns, dtype=np.int64)
    found = np.full(len(tables), -1)
    for place in range(len(tables)):
        values = tables[place]
        if exposed_by(game, values) >= 0:
            found[place] = 0
            continue
        look_at(game, values, value_lines, unsafe)
        if beaten(game, rivals, n_rivals, values, value_lines, unsafe, flow, scratch):
            found[place] = 0
            continue
        ended, used = rival_of(game, values, value_lines, rival, nodes)
        nodes -= used
        if ended < 0:
            break
        found[place] = 1 - ended
        if ended == 1:
            n_rivals = keep_rival(rivals, n_rivals, rival)
    return found


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    shape, one = np.array([2, 2, 0, 2, 0]), np.ones(4, dtype=np.int64)
    everything = np.ones(4, dtype=np.bool_)
    game_of(shape, one, everything, everything, one, one)
