"""Patterns of a two-way table with published margins as one bit mask per line, and how far cells can move.

Lines are the rows, then the columns. A pattern is a mask per line: bit j of row i and bit i of column j stand
for the same cell, ``i * columns + j``. A set of cells is a mask per row. Rooms, levels and weights are arrays
over cells, all whole numbers.

A cell that moves up takes from others of its row, which give to others of their columns, and so on: a flow
from its row to its column. Masks tell where such a flow can still go, so a search looks at whole lines at
once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.bits import count, lowest
from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]

FAR = 2**40
# What is needed of a cell: to rise, to fall, both together.
RISE, FALL, WIDTH = 0, 1, 2
# Parts of the scratch space over lines: where a search came from, its queue, where flows can go.
CAME, QUEUE, OPEN = 0, 1, 2


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
def first_of(rows: int, one: Integers, other: Integers) -> bool:
    """Tell whether a pattern comes before another: at the first cell where they differ it has none."""
    for i in range(rows):
        differ = one[i] ^ other[i]
        if differ != 0:
            return bool(one[i] & (differ & -differ) == 0)
    return False


@compiled
def reach(rows: int, source: int, sink: int, scratch: Integers) -> tuple[bool, int, int]:
    """Search breadth first for a way from a row to a column; return the rows and columns met as masks."""
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
def ready(
    rows: int, columns: int, give_lines: Integers, take_lines: Integers, pattern: Integers, cell: int,
    scratch: Integers,
) -> None:  # fmt: skip
    """Open the ways of a flow from the row of a cell to its column, past the cell itself."""
    ways = scratch[OPEN]
    source, sink = cell // columns, cell % columns
    for i in range(rows):
        ways[i] = pattern[i] & give_lines[i]
    for j in range(rows, rows + columns):
        ways[j] = pattern[j] & take_lines[j]
    ways[source] &= ~(1 << sink)
    ways[rows + sink] &= ~(1 << source)


@compiled
def reopen(
    rows: int, columns: int, give: Integers, take: Integers, pattern: Integers, cell: int, flow: Integers,
    scratch: Integers,
) -> None:  # fmt: skip
    """Open the ways along which a flow that has begun can go on, past one cell; -1 for none."""
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
def push(
    rows: int, columns: int, give: Integers, take: Integers, source: int, sink: int, wanted: int, flow:
    Integers, scratch: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Send up to ``wanted`` more from a row to a column along ways that are open; see :func:`supply`."""
    came, ways = scratch[CAME], scratch[OPEN]
    sent = 0
    while sent < wanted:
        found, seen_rows, seen_columns = reach(rows, source, sink, scratch)
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
def supply(
    rows: int, columns: int, give: Integers, take: Integers, give_lines: Integers, take_lines: Integers,
    pattern: Integers, cell: int, wanted: int, flow: Integers, scratch: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Send up to ``wanted`` from the row of a cell to its column, past the cell itself.

    Cells carry ``give`` from row to column and ``take`` back; the lines show which carry anything. Returns
    how much went, and, where that is less than wanted, the rows and columns on the source's side of a
    minimum cut.
    """
    ready(rows, columns, give_lines, take_lines, pattern, cell, scratch)
    flow[:] = 0
    sent, seen_rows, seen_columns = push(
        rows, columns, give, take, cell // columns, cell % columns, wanted, flow, scratch
    )
    return sent, seen_rows, seen_columns


@compiled
def crossing(
    rows: int, give_lines: Integers, take_lines: Integers, seen_rows: int, seen_columns: int,
    open_cells: Integers, found: Integers,
) -> None:  # fmt: skip
    """Add to a set the open cells that would carry something across a cut."""
    for i in range(rows):
        if (seen_rows >> i) & 1:
            found[i] |= open_cells[i] & give_lines[i] & ~seen_columns
        else:
            found[i] |= open_cells[i] & take_lines[i] & seen_columns


@compiled
def lacking(
    rows: int, columns: int, up: Integers, down: Integers, up_lines: Integers, down_lines: Integers,
    need: Integers, pattern: Integers, cell: int, open_cells: Integers, found: Integers, flow: Integers,
    scratch: Integers,
) -> bool:  # fmt: skip
    """Tell whether a cell falls short of what it needs; ``found`` are then cells of which one is required."""
    found[:] = 0
    goal = min(max(need[cell, RISE], need[cell, WIDTH]), up[cell])
    rise, near, far = supply(
        rows, columns, down, up, down_lines, up_lines, pattern, cell, goal, flow, scratch
    )  # fmt: skip
    if rise >= need[cell, WIDTH] and rise >= need[cell, RISE] and need[cell, FALL] == 0:
        return False
    if rise < goal:
        crossing(rows, down_lines, up_lines, near, far, open_cells, found)
    if rise < need[cell, RISE]:
        return True
    wanted = max(need[cell, FALL], need[cell, WIDTH] - rise)
    goal = min(wanted, down[cell])
    fall, near, far = supply(
        rows, columns, up, down, up_lines, down_lines, pattern, cell, goal, flow, scratch
    )  # fmt: skip
    if fall >= wanted:
        return False
    if fall < need[cell, FALL]:
        # A fall that is required by itself takes a cell of its own cut; a width is served by either.
        found[:] = 0
    if fall < goal:
        crossing(rows, up_lines, down_lines, near, far, open_cells, found)
    return True


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    lines_of(2, 2, np.ones(4, dtype=np.bool_))
