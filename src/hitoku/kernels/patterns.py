"""Cheapest safe patterns of small two-way tables with published margins: branch and bound over bit patterns.

Cells, lines and sets are as in :mod:`hitoku.kernels.line_masks`. Three facts prune the search:

* a line (row or column) whose withheld cells cannot supply what an unsafe cell of it needs takes another one;
* so does a line with a single withheld cell that nobody forced: alone it cannot move and protects nothing;
* where a flow falls short, one of the cells across its minimum cut must be withheld (a cover inequality).

Each of these names a set of cells of which one is needed. The search branches on them in turn, the later ones
without the earlier, so that no pattern is met twice, and prunes by a dual bound. Patterns are compared by
weight (cost and tie-break in one number), then lexicographically: the answer is a function of its input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import count, lowest
from hitoku.kernels.compiled import compiled
from hitoku.kernels.line_masks import FALL, FAR, RISE, WIDTH, cells_of, lines_of, precedes, put, smallest_cut

__all__ = ["FAR", "FINISHED", "FOUND", "GAVE_UP", "cheapest", "improve", "problem_of"]

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Rooms up and down, levels, weights; then by lines: rooms up and down, cells with levels, cells forced.
Problem = tuple[Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers]

HEAVY = int(np.iinfo(np.int64).max)
# How a search ends: all is known, a better pattern is found where any will do, the nodes are used up.
GAVE_UP, FINISHED, FOUND = range(-1, 2)


@compiled
def short_line(
    first: int, step: int, up: Integers, down: Integers, need: Integers, held: int, needy: int, rising: int,
    falling: int,
) -> tuple[bool, int]:  # fmt: skip
    """Tell whether a line withholds too little for one of its cells, and which cells would help."""
    sum_up, sum_down = 0, 0
    while held != 0:
        k = first + step * lowest(held)
        held &= held - 1
        sum_up += up[k]
        sum_down += down[k]
    while needy != 0:
        k = first + step * lowest(needy)
        needy &= needy - 1
        # Others fall for this one to rise, and the other way round.
        rise, fall = min(up[k], sum_down - down[k]), min(down[k], sum_up - up[k])
        if rise < need[k, RISE]:
            return True, falling
        if fall < need[k, FALL]:
            return True, rising
        if rise + fall < need[k, WIDTH]:
            return True, falling * int(rise < up[k]) | rising * int(fall < down[k])
    return False, 0


@compiled
def dual_bound(
    rows: int, columns: int, weight: Integers, wants: Integers, by_row: bool, price: Integers
) -> int:
    """Least weight that the deficient lines take: a dual solution, prices of lines that no cell exceeds."""
    total = 0
    price[:] = 0
    for turn in range(2):
        over_rows = by_row == (turn == 0)
        for line in range(rows) if over_rows else range(rows, rows + columns):
            left = wants[line]
            if left == 0:
                continue
            least = HEAVY
            while left != 0:
                place = lowest(left)
                left &= left - 1
                if over_rows:
                    k, other, mine = line * columns + place, rows + place, line
                else:
                    k, other, mine = place * columns + line - rows, place, line - rows
                # A cell pays for another line only if it is among those that the other line takes.
                paid = price[other] if (wants[other] >> mine) & 1 else 0
                least = min(least, weight[k] - paid)
            if least > 0:
                price[line] = least
                total += least
    return total


@compiled
def smallest_line(
    rows: int, columns: int, problem: Problem, pattern: Integers, opens: Integers, wants: Integers
) -> int:
    """Write the candidates of each deficient line; return the line with fewest, -1 for none, -2: hopeless."""
    up, down, need, _, up_lines, down_lines, needy_lines, forced_lines = problem
    best, fewest = -1, 64
    for line in range(rows + columns):
        held = pattern[line]
        rising, falling = opens[line] & up_lines[line], opens[line] & down_lines[line]
        short, cells = False, 0
        if held != 0 and held & (held - 1) == 0 and held & forced_lines[line] == 0:
            short, cells = True, rising | falling
        elif needy_lines[line] != 0:
            first, step = (line * columns, 1) if line < rows else (line - rows, columns)
            short, cells = short_line(first, step, up, down, need, held, needy_lines[line], rising, falling)
        wants[line] = cells
        if short and cells == 0:
            return -2
        if short and count(cells) < fewest:
            best, fewest = line, count(cells)
    return best


@compiled
def line_cells(rows: int, line: int, wants: Integers, tries: Integers, both: Integers) -> None:
    """Turn the candidates of a line into a set of cells, and mark those that serve their other line too."""
    tries[:] = 0
    both[:] = 0
    left = wants[line]
    if line < rows:
        tries[line] = left
        while left != 0:
            j = lowest(left)
            left &= left - 1
            both[line] |= ((wants[rows + j] >> line) & 1) << j
    else:
        j = line - rows
        while left != 0:
            i = lowest(left)
            left &= left - 1
            tries[i] = 1 << j
            both[i] = ((wants[i] >> j) & 1) << j


@compiled
def next_cell(rows: int, columns: int, tries: Integers, both: Integers, weight: Integers) -> int:
    """Choose the cell to try: one that serves two lines, then the lightest; good patterns early."""
    best, least, doubly = -1, HEAVY, False
    for i in range(rows):
        left = tries[i]
        while left != 0:
            j = lowest(left)
            left &= left - 1
            k, two = i * columns + j, (both[i] >> j) & 1 == 1
            if (two and not doubly) or (two == doubly and weight[k] < least):
                best, least, doubly = k, weight[k], two
    return best


@compiled
def branch(
    rows: int, columns: int, problem: Problem, pattern: Integers, opens: Integers, met: Integers, most: int,
    tries: Integers, both: Integers, lines: Integers, found: Integers, flow: Integers, scratch: Integers,
) -> bool:  # fmt: skip
    """Tell whether a pattern is safe; else write the cells to branch on.

    There are none where nothing helps, or the dual bound of what is still to come exceeds ``most``.
    """
    up, down, need, weight, up_lines, down_lines, needy_lines, _ = problem
    wants, price = lines[0], lines[1]
    tries[:] = 0
    both[:] = 0
    line = smallest_line(rows, columns, problem, pattern, opens, wants)
    if line == -1:
        if not smallest_cut(
            rows, columns, up, down, up_lines, down_lines, need, pattern, needy_lines, opens, met, False,
            tries, found, flow, scratch,
        ):  # fmt: skip
            tries[:] = 0
            return True
    elif line >= 0 and not (
        dual_bound(rows, columns, weight, wants, True, price) > most
        or dual_bound(rows, columns, weight, wants, False, price) > most
    ):
        line_cells(rows, line, wants, tries, both)
    return False


@compiled
def improve(
    rows: int, columns: int, problem: Problem, allowed: Integers, best: Integers, best_weight: int,
    any_will_do: bool, nodes: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Improve the incumbent ``best`` in place by branch and bound.

    Returns how the search ended, the weight of the pattern that ``best`` now is, and the nodes used.
    """
    weight, forced = problem[3], problem[7]
    n, n_lines = rows * columns, rows + columns
    flow, scratch = np.empty(n, dtype=np.int64), np.empty((3, n_lines), dtype=np.int64)
    lines, found = np.empty((2, n_lines), dtype=np.int64), np.empty(rows, dtype=np.int64)
    # A level of the search: the pattern, cells still open (by lines), cells met, to try, serving two lines.
    deepest = n + 2
    patterns, opens = (
        np.empty((deepest, n_lines), dtype=np.int64),
        np.empty((deepest, n_lines), dtype=np.int64),
    )
    met, tries, both = (
        np.empty((deepest, rows), dtype=np.int64),
        np.empty((deepest, rows), dtype=np.int64),
        np.empty((deepest, rows), dtype=np.int64),
    )
    weights = np.zeros(deepest, dtype=np.int64)
    patterns[0] = forced
    opens[0] = allowed & ~forced
    met[0] = 0
    depth, used, fresh = 0, 0, True
    while depth >= 0:
        if fresh:
            used += 1
            if used > nodes:
                return GAVE_UP, best_weight, used
            fresh = False
            most = best_weight - weights[depth]
            safe = branch(
                rows, columns, problem, patterns[depth], opens[depth], met[depth], most, tries[depth],
                both[depth], lines, found, flow, scratch,
            )  # fmt: skip
            if safe and (most > 0 or (most == 0 and precedes(rows, patterns[depth], best))):
                best[:] = patterns[depth]
                best_weight = weights[depth]
                if any_will_do:
                    return FOUND, best_weight, used
        k = next_cell(rows, columns, tries[depth], both[depth], weight)
        if k < 0:
            depth -= 1
            continue
        i, j = k // columns, k % columns
        tries[depth, i] &= ~(1 << j)
        opens[depth, i] &= ~(1 << j)
        opens[depth, rows + j] &= ~(1 << i)
        if weights[depth] + weight[k] > best_weight:
            continue
        patterns[depth + 1] = patterns[depth]
        put(rows, columns, patterns[depth + 1], k)
        opens[depth + 1] = opens[depth]
        met[depth + 1] = met[depth]
        weights[depth + 1] = weights[depth] + weight[k]
        depth += 1
        fresh = True
    return FINISHED, best_weight, used


@compiled
def problem_of(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, weight: Integers, forced: Mask
) -> Problem:
    """Put together what a search takes: arrays over cells, and the same by lines."""
    needy = (need[:, RISE] > 0) | (need[:, FALL] > 0) | (need[:, WIDTH] > 0)
    return (
        up,
        down,
        need,
        weight,
        lines_of(rows, columns, up > 0),
        lines_of(rows, columns, down > 0),
        lines_of(rows, columns, needy),
        lines_of(rows, columns, forced),
    )


@compiled
def cheapest(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, weight: Integers, forced: Mask,
    allowed: Mask, nodes: int,
) -> tuple[int, Mask, int]:  # fmt: skip
    """Find the pattern of least weight, then lexicographically smallest.

    Parameters
    ----------
    rows, columns
        Cell ``i * columns + j`` stands in row i and column j; at most 62 of each.
    up, down
        How far each cell may rise and fall; ``FAR`` for no limit.
    need
        Cells by three: how far it must be able to rise, to fall, and both together; forced cells only.
    weight
        What withholding costs; nothing for forced cells.
    forced, allowed
        Cells withheld in any case, and cells that may be.
    nodes
        Give up after so many.

    Returns
    -------
    1 and the pattern; 0 when there is none; -1 when it gave up; then the nodes used.
    """
    problem = problem_of(rows, columns, up, down, need, weight, forced)
    best = np.zeros(rows + columns, dtype=np.int64)
    ended, best_weight, used = improve(
        rows, columns, problem, lines_of(rows, columns, allowed), best, HEAVY, False, nodes
    )  # fmt: skip
    status = -1 if ended == GAVE_UP else 1 if best_weight < HEAVY else 0
    return status, cells_of(rows, columns, best), used


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    room, need = np.ones(4, dtype=np.int64), np.zeros((4, 3), dtype=np.int64)
    nothing = np.zeros(4, dtype=np.bool_)
    cheapest(2, 2, room, room, need, room, nothing, nothing, 10)
