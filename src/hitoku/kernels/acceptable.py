"""Count acceptable patterns of small two-way tables with published margins by size, or pick one by number.

A pattern is acceptable if it contains every cell that must be suppressed and leaves each of its cells a wide
enough interval. More cells make intervals wider, but each further cell has a required width of its own, so
neither subsets nor supersets of an acceptable pattern need be acceptable: patterns are enumerated. The search
visits each pattern once:

* where the interval of a suppressed cell is too narrow, a line or a minimum cut names cells of which one is
  required; they are tried in turn, the later ones without the earlier;
* where all intervals are wide enough, the pattern counts, and every open cell is tried in the same way;
* an interval that is wide enough stays so in every larger pattern, so it is tested once on each path.

Lines and sets are as in :mod:`hitoku.kernels.line_masks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import count, lowest
from hitoku.kernels.compiled import compiled
from hitoku.kernels.line_masks import FAR, WIDTH, cells_of, lines_of, put, smallest_cut

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Counts, slacks up, requirements, and by lines which cells can rise and which can fall.
Problem = tuple[Integers, Integers, Integers, Integers, Integers]
# By level of the search: pattern and open cells by lines, settled cells and cells to try by rows, and for
# every line the suppressed value in it and the largest required width.
Levels = tuple[Integers, Integers, Integers, Integers, Integers, Integers]
# Scratch space: deficient lines, cells found, a flow and its arrays, rows of an augmenting path.
Space = tuple[Integers, Integers, Integers, Integers, Integers]

# Classes of patterns.
DEAD, LACKING, ACCEPTABLE = range(-1, 2)


@compiled
def maximum_matching(rows: int, wants: Integers, partner: Integers, path: Integers, left: Integers) -> int:
    """Return the size of a maximum matching of deficient rows and columns (Kuhn's algorithm).

    A pair is a row and a column that one cell serves; ``partner`` is the row matched with each column.
    """
    partner[:] = -1
    n_pairs = 0
    for row in range(rows):
        if wants[row] == 0:
            continue
        # Depth-first search for an augmenting path; ``path`` holds its rows.
        fresh, depth = ~0, 0
        path[0], left[0] = row, wants[row]
        while depth >= 0:
            i = path[depth]
            columns = left[depth] & fresh
            if columns == 0:
                depth -= 1
                continue
            j = lowest(columns)
            fresh &= ~(1 << j)
            if (wants[rows + j] >> i) & 1 == 0:
                continue
            if partner[j] < 0:
                n_pairs += 1
                augment(partner, path, depth, j)
                break
            depth += 1
            path[depth], left[depth] = partner[j], wants[partner[j]]
    return n_pairs


@compiled
def augment(partner: Integers, path: Integers, depth: int, free: int) -> None:
    """Augment the matching: every row of the path takes the next column, the last row the free one."""
    while depth >= 0:
        before = -1
        for column in range(len(partner)):
            if partner[column] == path[depth]:
                before = column
        partner[free] = path[depth]
        free = before
        depth -= 1


@compiled
def deficient_lines(
    rows: int, held: Integers, most: Integers, pattern: Integers, open_cells: Integers, positive: Integers,
    wants: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Write the candidates of each deficient line; return the numbers of such lines, or ``DEAD``."""
    n_rows, n_columns = 0, 0
    for line in range(len(wants)):
        wants[line] = 0
        # A cell moves by at most the suppressed value in its line, and none moves alone.
        if most[line] > 0 and (held[line] < most[line] or pattern[line] & (pattern[line] - 1) == 0):
            wants[line] = open_cells[line] & (positive[line] if held[line] < most[line] else ~0)
            if wants[line] == 0:
                return DEAD, DEAD
            if line < rows:
                n_rows += 1
            else:
                n_columns += 1
    return n_rows, n_columns


@compiled
def branch_on_line(rows: int, wants: Integers, tries: Integers) -> None:
    """Branch on the deficient line with the fewest candidates."""
    best, fewest = 0, 64
    for line in range(len(wants)):
        if wants[line] != 0 and count(wants[line]) < fewest:
            best, fewest = line, count(wants[line])
    tries[:] = 0
    if best < rows:
        tries[best] = wants[best]
    else:
        for i in range(rows):
            tries[i] = ((wants[best] >> i) & 1) << (best - rows)


@compiled
def judge(
    rows: int, columns: int, problem: Problem, levels: Levels, depth: int, budget: int, space: Space
) -> int:
    """Classify the pattern at a level: dead end, acceptable, or lacking one of the cells in ``tries``."""
    patterns, opens, met, tries, held, most = levels
    wants, chains = space[0], space[4]
    n_rows, n_columns = deficient_lines(
        rows, held[depth], most[depth], patterns[depth], opens[depth], problem[4], wants
    )  # fmt: skip
    if n_rows == DEAD or max(n_rows, n_columns) > budget:
        return DEAD
    n_lines = n_rows + n_columns
    if n_lines > 0:
        # One cell serves at most one row and one column.
        if n_lines > budget:
            matched = maximum_matching(rows, wants, chains[0], chains[1], chains[2])
            if n_lines - matched > budget:
                return DEAD
        branch_on_line(rows, wants, tries[depth])
        return LACKING
    value, up, need, up_lines, positive = problem
    # For a pattern that may not grow, the first narrow interval decides.
    if smallest_cut(
        rows, columns, up, value, up_lines, positive, need, patterns[depth], patterns[depth], opens[depth],
        met[depth], budget == 0, tries[depth], space[1], space[2], space[3],
    ):  # fmt: skip
        return DEAD if budget == 0 else LACKING
    return ACCEPTABLE


@compiled
def descend(rows: int, columns: int, problem: Problem, levels: Levels, depth: int) -> bool:
    """Branch: suppress the next candidate one level down, and publish it in all later branches."""
    patterns, opens, met, tries, held, most = levels
    for i in range(rows):
        if tries[depth, i] != 0:
            j = lowest(tries[depth, i])
            tries[depth, i] &= ~(1 << j)
            opens[depth, i] &= ~(1 << j)
            opens[depth, rows + j] &= ~(1 << i)
            for level in (patterns, opens, held, most):
                level[depth + 1] = level[depth]
            met[depth + 1] = met[depth]
            add(rows, columns, problem, levels, depth + 1, i * columns + j)
            return True
    return False


@compiled
def add(rows: int, columns: int, problem: Problem, levels: Levels, depth: int, cell: int) -> None:
    """Suppress a cell at a level of the search."""
    held, most = levels[4], levels[5]
    put(rows, columns, levels[0][depth], cell)
    for line in (cell // columns, rows + cell % columns):
        held[depth, line] += problem[0][cell]
        most[depth, line] = max(most[depth, line], problem[2][cell, WIDTH])


@compiled
def worth_of(tally: Integers, worth: Floats) -> float:
    """Return the total worth of the patterns in a tally, always summed in the same order."""
    total = 0.0
    for cells in range(len(tally)):
        total += tally[cells] * worth[cells]
    return total


@compiled
def survey(
    rows: int, columns: int, value: Integers, width: Integers, forced: Mask, allowed: Mask, most_cells: int,
    tally: Integers, worth: Floats, enough: float, wanted: int, number: int, left: Integers,
) -> Mask:  # fmt: skip
    """Count the acceptable patterns with up to ``most_cells`` cells by size, or stop at one of them.

    Parameters
    ----------
    rows, columns
        Cell ``i * columns + j`` stands in row i and column j; at most 62 of each.
    value
        The counts; a cell cannot fall below zero, and only its line limits its rise.
    width
        Required width of the interval of each cell, if it is suppressed.
    forced, allowed
        Cells that must be suppressed, and cells that may be.
    most_cells
        Largest number of cells of a pattern.
    tally
        Filled with the number of patterns of each size.
    worth, enough
        Worth of a pattern by its size; the search stops once the sum exceeds ``enough``.
    wanted, number
        Stop at pattern ``number`` (from zero) of those with ``wanted`` cells; -1 to count all patterns.
    left
        One number: how many patterns may still be judged, complete or not. Below zero the search has stopped,
        and its counts mean nothing.

    Returns
    -------
    The pattern at which it stopped; the forced cells if it did not.
    """
    n, n_lines = rows * columns, rows + columns
    need = np.zeros((n, 3), dtype=np.int64)
    need[:, WIDTH] = width
    every = np.ones(n, dtype=np.bool_)
    problem = (
        value, np.full(n, FAR), need, lines_of(rows, columns, every), lines_of(rows, columns, value > 0)
    )  # fmt: skip
    space = (
        np.empty(n_lines, dtype=np.int64), np.empty(rows, dtype=np.int64), np.empty(n, dtype=np.int64),
        np.empty((3, n_lines), dtype=np.int64), np.empty((3, n_lines), dtype=np.int64),
    )  # fmt: skip
    levels = (
        np.zeros((n + 2, n_lines), dtype=np.int64), np.empty((n + 2, n_lines), dtype=np.int64),
        np.zeros((n + 2, rows), dtype=np.int64), np.zeros((n + 2, rows), dtype=np.int64),
        np.zeros((n + 2, n_lines), dtype=np.int64), np.zeros((n + 2, n_lines), dtype=np.int64),
    )  # fmt: skip
    patterns, opens, tries = levels[0], levels[1], levels[3]
    opens[0] = lines_of(rows, columns, allowed & ~forced)
    for k in np.flatnonzero(forced):
        add(rows, columns, problem, levels, 0, k)
    tally[:] = 0
    least = int(forced.sum())
    depth, fresh = 0 if least <= most_cells else -1, True
    while depth >= 0:
        if fresh:
            left[0] -= 1
            if left[0] < 0:
                break
            budget = most_cells - least - depth
            verdict = judge(rows, columns, problem, levels, depth, budget, space)
            if verdict == ACCEPTABLE:
                if least + depth == wanted and tally[wanted] == number:
                    break
                tally[least + depth] += 1
                if worth_of(tally, worth) > enough:
                    break
                tries[depth] = opens[depth, :rows]
            if verdict == DEAD or budget == 0:
                tries[depth] = 0
        fresh = descend(rows, columns, problem, levels, depth)
        depth += 1 if fresh else -1
    pattern: Mask = cells_of(rows, columns, patterns[max(depth, 0)])
    return pattern


@compiled
def weight(
    rows: int, columns: int, value: Integers, width: Integers, forced: Mask, allowed: Mask, extra: int,
    cells: int, worth: Floats, enough: float, tally: Integers, left: Integers,
) -> float:  # fmt: skip
    """Return the total worth of the smallest acceptable patterns of a table.

    Parameters
    ----------
    extra
        Largest number of cells that a pattern may have beyond the smallest one.
    cells
        Infinity is returned if no pattern of this size counts.
    worth, enough
        Worth of a pattern by its size; infinity is returned for a sum larger than ``enough``.
    tally
        Scratch space.
    left
        As for :func:`survey`.
    """
    n_cells = int((allowed | forced).sum())
    for most_cells in range(int(forced.sum()), n_cells + 1):
        survey(rows, columns, value, width, forced, allowed, most_cells, tally, worth, enough, -1, -1, left)
        if left[0] < 0:
            return np.inf
        if tally[most_cells] > 0:
            if most_cells + extra < cells or worth_of(tally, worth) > enough:
                return np.inf
            top = min(most_cells + extra, n_cells)
            survey(rows, columns, value, width, forced, allowed, top, tally, worth, enough, -1, -1, left)
            total: float = worth_of(tally, worth)
            return total if total <= enough and left[0] >= 0 else np.inf
    return np.inf


@compiled
def weights(
    rows: int, columns: int, values: Integers, width: Integers, forced: Mask, allowed: Mask, extra: int,
    cells: int, worth: Floats, least_only: bool, total: Floats, left: Integers,
) -> None:  # fmt: skip
    """Weigh several tables; with ``least_only``, tables that cannot have the least weight get infinity.

    It is faster if small sums come first. ``left`` is as for :func:`survey`.
    """
    tally = np.zeros(rows * columns + 1, dtype=np.int64)
    least = np.inf
    for t in range(len(values)):
        enough = least if least_only else np.inf
        total[t] = weight(
            rows, columns, values[t], width, forced[t], allowed, extra, cells, worth, enough, tally, left
        )  # fmt: skip
        least = min(least, total[t])


@compiled
def spread(
    rows: int, columns: int, values: Integers, width: Integers, forced: Mask, allowed: Mask, extra: int,
    cells: int, worth: Floats, enough: float, concerned: Mask, left: Integers,
) -> bool:  # fmt: skip
    """Return whether the tables that weigh at most ``enough`` differ by the width in each concerned cell.

    Only tables that widen an interval which is still too narrow are weighed. ``left`` is as for
    :func:`survey`; tables that it does not suffice for widen nothing.
    """
    n = rows * columns
    tally = np.zeros(n + 1, dtype=np.int64)
    low, high = np.full(n, FAR), np.full(n, -FAR)
    open_cells = int(concerned.sum())
    for t in range(len(values)):
        stretches = False
        for k in range(n):
            if concerned[k] and high[k] - low[k] < width[k]:
                stretches = stretches or values[t, k] < low[k] or values[t, k] > high[k]
        if not stretches:
            continue
        heavy = weight(
            rows, columns, values[t], width, forced[t], allowed, extra, cells, worth, enough, tally, left
        )  # fmt: skip
        if np.isinf(heavy):
            continue
        open_cells = 0
        for k in range(n):
            low[k], high[k] = min(low[k], values[t, k]), max(high[k], values[t, k])
            if concerned[k] and high[k] - low[k] < width[k]:
                open_cells += 1
        if open_cells == 0:
            break
    return open_cells == 0


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    values, cells = np.full((1, 4), 3, dtype=np.int64), np.ones((1, 4), dtype=np.bool_)
    problem = (2, 2, values, values[0], cells, cells[0], 1, 0, np.ones(5))
    left = np.full(1, FAR)
    weights(*problem, False, np.zeros(1), left)
    spread(*problem, np.inf, cells[0], left)
    tally = np.zeros(5, dtype=np.int64)
    survey(2, 2, values[0], values[0], cells[0], cells[0], 4, tally, np.ones(5), np.inf, -1, -1, left)
