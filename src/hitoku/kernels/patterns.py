"""Cheapest safe patterns of small two-way tables with published margins: branch and bound over bit patterns.

Cells, lines and sets are as in :mod:`hitoku.kernels.line_masks`. Three facts prune the search:

* a line (row or column) whose suppressed cells cannot supply what an unsafe cell of it needs takes another;
* so does a line with a single suppressed cell that is not forced: alone it cannot move and protects nothing;
* if a flow is too small, one of the cells across its minimum cut must be suppressed (a cover inequality).

Each of these gives a set of cells of which one is needed. The search branches on them in turn, the later ones
without the earlier, so that no pattern is visited twice, and prunes by a dual bound. Patterns are compared by
weight (cost and tie-break in one number), then lexicographically, so that the result is deterministic.
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
# Slacks up and down, levels, weights; then by lines: cells with slack up and down, with levels, and forced.
Problem = tuple[Integers, Integers, Integers, Integers, Integers, Integers, Integers, Integers]

# Heavier than any pattern.
HEAVY = int(np.iinfo(np.int64).max)
# Results of a search: node limit reached, finished, and a better pattern found if any will do.
GAVE_UP, FINISHED, FOUND = range(-1, 2)


@compiled
def short_line(
    first: int, step: int, up: Integers, down: Integers, need: Integers, held: int, needy: int, rising: int,
    falling: int,
) -> tuple[bool, int]:  # fmt: skip
    """Return whether the suppressed cells of a line are too few for one of them, and which would help."""
    sum_up, sum_down = 0, 0
    while held != 0:
        k = first + step * lowest(held)
        held &= held - 1
        sum_up += up[k]
        sum_down += down[k]
    while needy != 0:
        k = first + step * lowest(needy)
        needy &= needy - 1
        # If this cell rises, others fall, and vice versa.
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
    """Return a lower bound on the weight that deficient lines need, from a dual solution: prices of lines."""
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
                # A cell counts for the other line only if it is one of its candidates.
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
    """Write candidates of deficient lines; return the line with fewest, -1 for none, -2 if infeasible."""
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
    """Turn the candidates of a line into a set of cells, and mark those that also serve their other line."""
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
    """Choose the cell to try: those that serve two lines first, then the lightest."""
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
    """Return whether a pattern is safe; otherwise write the cells to branch on.

    There are none if no cell helps, or if the dual bound exceeds ``most``.
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

    Returns how the search ended, the weight of ``best``, and the number of nodes used.
    """
    weight, forced = problem[3], problem[7]
    n, n_lines = rows * columns, rows + columns
    flow, scratch = np.empty(n, dtype=np.int64), np.empty((3, n_lines), dtype=np.int64)
    lines, found = np.empty((2, n_lines), dtype=np.int64), np.empty(rows, dtype=np.int64)
    # By level of the search: pattern, open cells (by lines), settled cells, candidates, those of two lines.
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
    """Build the input of a search: arrays over cells, and masks by lines."""
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
        Slack of each cell; ``FAR`` for no limit.
    need
        Cells by three: required rise, fall, and both together; forced cells only.
    weight
        Cost of suppressing each cell; zero for forced cells.
    forced, allowed
        Cells that must be suppressed, and cells that may be.
    nodes
        Maximum number of nodes.

    Returns
    -------
    Status (1: found, 0: none exists, -1: node limit reached), the pattern, and the number of nodes used.
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
