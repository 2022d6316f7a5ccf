"""Patterns of a two-way table with published margins as one bit mask per line, and flows in them.

Lines are the rows, then the columns. A pattern is a mask per line: bit j of row i and bit i of column j stand
for the same cell, ``i * columns + j``. A set of cells is a mask per row. Slacks, levels and weights are
integer arrays over cells.

The lines are the nodes of a bipartite network, and the suppressed cells its arcs. If a cell rises, others of
its row fall, others of their columns rise, and so on: a flow from its row to its column, found by augmenting
paths (Ford and Fulkerson). Masks hold the arcs of the residual network, so that a search processes a line at
once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import count, lowest
from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]

# Stands for an unlimited slack.
FAR = 2**40
# Requirements of a cell: to rise, to fall, both together.
RISE, FALL, WIDTH = range(3)
# Parts of the scratch space over lines: predecessors in a search, its queue, arcs of the residual network.
CAME, QUEUE, OPEN = range(3)


@compiled
def put(rows: int, columns: int, lines: Integers, cell: int) -> None:
    """Add a cell to a pattern."""
    lines[cell // columns] |= 1 << (cell % columns)
    lines[rows + cell % columns] |= 1 << (cell // columns)


@compiled
def lines_of(rows: int, columns: int, cells: NDArray[np.bool_]) -> Integers:
    """Turn a mask over cells into a mask per line."""
    lines = np.zeros(rows + columns, dtype=np.int64)
    for k in range(rows * columns):
        if cells[k]:
            put(rows, columns, lines, k)
    return lines


@compiled
def cells_of(rows: int, columns: int, lines: Integers) -> NDArray[np.bool_]:
    """Turn a mask per row (or line) into a mask over cells."""
    cells = np.zeros(rows * columns, dtype=np.bool_)
    for i in range(rows):
        for j in range(columns):
            cells[i * columns + j] = (lines[i] >> j) & 1 == 1
    return cells


@compiled
def size(rows: int, cells: Integers) -> int:
    """Count the cells in a set."""
    total = 0
    for i in range(rows):
        total += count(cells[i])
    return total


@compiled
def precedes(rows: int, one: Integers, other: Integers) -> bool:
    """Return whether a pattern precedes another: at the first cell in which they differ it has none."""
    for i in range(rows):
        differ = one[i] ^ other[i]
        if differ != 0:
            return bool(one[i] & (differ & -differ) == 0)
    return False


@compiled
def find_augmenting_path(rows: int, source: int, sink: int, scratch: Integers) -> tuple[bool, int, int]:
    """Search breadth first for an augmenting path from a row to a column; return whether there is one.

    Also returns the rows and columns reached, as masks: without a path, the source's side of a minimum cut.
    """
    came, queue, ways = scratch[CAME], scratch[QUEUE], scratch[OPEN]
    seen_rows, seen_columns = 1 << source, 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        i = queue[first]
        first += 1
        new = ways[i] & ~seen_columns
        if (new >> sink) & 1:
            came[rows + sink] = i
            return True, seen_rows, seen_columns
        seen_columns |= new
        while new != 0:
            j = lowest(new)
            new &= new - 1
            came[rows + j] = i
            fresh = ways[rows + j] & ~seen_rows
            seen_rows |= fresh
            while fresh != 0:
                row = lowest(fresh)
                fresh &= fresh - 1
                came[row] = j
                queue[last] = row
                last += 1
    return False, seen_rows, seen_columns


@compiled
def open_residual(
    rows: int, columns: int, give_lines: Integers, take_lines: Integers, pattern: Integers, cell: int,
    scratch: Integers,
) -> None:  # fmt: skip
    """Write the residual network of the zero flow from the row of a cell to its column, without the cell."""
    ways = scratch[OPEN]
    source, sink = cell // columns, cell % columns
    for i in range(rows):
        ways[i] = pattern[i] & give_lines[i]
    for j in range(rows, rows + columns):
        ways[j] = pattern[j] & take_lines[j]
    ways[source] &= ~(1 << sink)
    ways[rows + sink] &= ~(1 << source)


@compiled
def reopen_residual(
    rows: int, columns: int, give: Integers, take: Integers, pattern: Integers, cell: int, flow: Integers,
    scratch: Integers,
) -> None:  # fmt: skip
    """Write the residual network of a flow, without one cell (-1: none)."""
    ways = scratch[OPEN]
    ways[:] = 0
    for i in range(rows):
        held = pattern[i]
        while held != 0:
            j = lowest(held)
            held &= held - 1
            k = i * columns + j
            if k != cell:
                ways[i] |= int(flow[k] < give[k]) << j
                ways[rows + j] |= int(take[k] + flow[k] > 0) << i


@compiled
def augment(
    rows: int, columns: int, give: Integers, take: Integers, source: int, sink: int, wanted: int, flow:
    Integers, scratch: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Send up to ``wanted`` more along augmenting paths; returns the same as :func:`send_flow`."""
    came, ways = scratch[CAME], scratch[OPEN]
    sent = 0
    while sent < wanted:
        found, seen_rows, seen_columns = find_augmenting_path(rows, source, sink, scratch)
        if not found:
            return sent, seen_rows, seen_columns
        amount = wanted - sent
        j = sink
        while True:
            i = came[rows + j]
            amount = min(amount, give[i * columns + j] - flow[i * columns + j])
            if i == source:
                break
            j = came[i]
            amount = min(amount, take[i * columns + j] + flow[i * columns + j])
        j = sink
        while True:
            i = came[rows + j]
            k = i * columns + j
            flow[k] += amount
            ways[rows + j] |= 1 << i
            if flow[k] == give[k]:
                ways[i] &= ~(1 << j)
            if i == source:
                break
            j = came[i]
            k = i * columns + j
            flow[k] -= amount
            ways[i] |= 1 << j
            if take[k] + flow[k] == 0:
                ways[rows + j] &= ~(1 << i)
        sent += amount
    return sent, 0, 0


@compiled
def send_flow(
    rows: int, columns: int, give: Integers, take: Integers, give_lines: Integers, take_lines: Integers,
    pattern: Integers, cell: int, wanted: int, flow: Integers, scratch: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Send a flow of up to ``wanted`` from the row of a cell to its column, without the cell.

    Capacities are ``give`` from row to column and ``take`` in reverse; the lines show where they are
    positive. Returns the flow and, if it is smaller than wanted, the rows and columns on the source's side of
    a minimum cut.
    """
    open_residual(rows, columns, give_lines, take_lines, pattern, cell, scratch)
    flow[:] = 0
    sent, seen_rows, seen_columns = augment(
        rows, columns, give, take, cell // columns, cell % columns, wanted, flow, scratch
    )
    return sent, seen_rows, seen_columns


@compiled
def add_cut_cells(
    rows: int, give_lines: Integers, take_lines: Integers, seen_rows: int, seen_columns: int,
    open_cells: Integers, found: Integers,
) -> None:  # fmt: skip
    """Add to a set the open cells that would raise the capacity of a cut."""
    for i in range(rows):
        if (seen_rows >> i) & 1:
            found[i] |= open_cells[i] & give_lines[i] & ~seen_columns
        else:
            found[i] |= open_cells[i] & take_lines[i] & seen_columns


@compiled
def falls_short(
    rows: int, columns: int, up: Integers, down: Integers, up_lines: Integers, down_lines: Integers,
    need: Integers, pattern: Integers, cell: int, open_cells: Integers, found: Integers, flow: Integers,
    scratch: Integers,
) -> bool:  # fmt: skip
    """Return whether a cell misses its levels; ``found`` are then the cells across its minimum cuts."""
    found[:] = 0
    goal = min(max(need[cell, RISE], need[cell, WIDTH]), up[cell])
    rise, near, far = send_flow(
        rows, columns, down, up, down_lines, up_lines, pattern, cell, goal, flow, scratch
    )  # fmt: skip
    if rise >= need[cell, WIDTH] and rise >= need[cell, RISE] and need[cell, FALL] == 0:
        return False
    if rise < goal:
        add_cut_cells(rows, down_lines, up_lines, near, far, open_cells, found)
    if rise < need[cell, RISE]:
        return True
    wanted = max(need[cell, FALL], need[cell, WIDTH] - rise)
    goal = min(wanted, down[cell])
    fall, near, far = send_flow(
        rows, columns, up, down, up_lines, down_lines, pattern, cell, goal, flow, scratch
    )  # fmt: skip
    if fall >= wanted:
        return False
    if fall < need[cell, FALL]:
        # A required fall needs a cell of its own cut; for a width either cut will do.
        found[:] = 0
    if fall < goal:
        add_cut_cells(rows, up_lines, down_lines, near, far, open_cells, found)
    return True


@compiled
def smallest_cut(
    rows: int, columns: int, up: Integers, down: Integers, up_lines: Integers, down_lines: Integers,
    need: Integers, pattern: Integers, cells: Integers, open_cells: Integers, met: Integers,
    first_will_do: bool, tries: Integers, found: Integers, flow: Integers, scratch: Integers,
) -> bool:  # fmt: skip
    """Return whether a cell misses its levels; ``tries`` is then the smallest set of which one is needed.

    Cells in ``met`` reach their levels, and do so in every larger pattern: they are skipped, and cells found
    to reach theirs are added. With ``first_will_do`` the first cell that misses its levels decides.
    """
    short, fewest = False, rows * columns + 1
    for i in range(rows):
        left = cells[i] & ~met[i]
        while left != 0:
            j = lowest(left)
            left &= left - 1
            if not falls_short(
                rows, columns, up, down, up_lines, down_lines, need, pattern, i * columns + j, open_cells,
                found, flow, scratch,
            ):  # fmt: skip
                met[i] |= 1 << j
                continue
            short = True
            n = size(rows, found)
            if n < fewest:
                fewest = n
                tries[:] = found
            if first_will_do or n == 0:
                return True
    return short


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    lines_of(2, 2, np.ones(4, dtype=np.bool_))
