"""Cheapest safe patterns of small two-way tables whose margins are published: a search over bit patterns.

Up to 64 inner cells; cell k is bit k. Everything is a whole number. A cell that moves up takes from others of
its row, which give to others of their columns, and so on: a flow from its row to its column. Three facts
prune the search:

* a line (row or column) whose withheld cells cannot supply what an unsafe cell of it needs takes another one;
* so does a line with a single withheld cell that nobody forced: alone it cannot move and protects nothing;
* where a flow falls short, one of the cells across its minimum cut must be withheld.

Each of these names a set of cells of which one is needed. The search tries them in turn, the later ones
without the earlier, so that no pattern is met twice. Patterns are compared by weight (cost and tie-break in
one number), then lexicographically, so the answer is a function of its input.

Lines are numbered rows first, then columns; they are also the nodes of the flows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

FAR = 2**40
HEAVY = 2**62
ONE = np.uint64(1)
NONE = np.uint64(0)
# What is needed of a cell: to rise, to fall, both together.
RISE, FALL, WIDTH = 0, 1, 2
# Parts of the scratch space over lines.
CAME, QUEUE, PRICE = 0, 1, 2


@compiled
def bit(k: int) -> np.uint64:
    return ONE << np.uint64(k)


@compiled
def has(mask: np.uint64, k: int) -> bool:
    return bool((mask >> np.uint64(k)) & ONE != NONE)


@compiled
def count(mask: np.uint64) -> int:
    total = 0
    while mask != NONE:
        mask &= mask - ONE
        total += 1
    return total


@compiled
def first_of(one: np.uint64, other: np.uint64) -> bool:
    """Tell whether ``one`` comes before ``other``: at the lowest bit where they differ it has a zero."""
    differ = one ^ other
    lowest = differ & (~differ + ONE)
    return bool(differ != NONE and (one & lowest) == NONE)


@compiled
def spread(
    rows: int, columns: int, give: Integers, take: Integers, pattern: np.uint64, cell: int, flow: Integers,
    scratch: Integers,
) -> bool:  # fmt: skip
    """Search breadth first for a way from the row of a cell to its column, past the cell itself."""
    came, queue = scratch[CAME], scratch[QUEUE]
    came[:] = -1
    source, sink = cell // columns, rows + cell % columns
    came[source] = rows * columns
    queue[0] = source
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        from_row = node < rows
        k = node * columns if from_row else node - rows
        for other in range(rows, rows + columns) if from_row else range(rows):
            if came[other] < 0 and k != cell and has(pattern, k):
                room = give[k] - flow[k] if from_row else take[k] + flow[k]
                if room > 0:
                    came[other] = k
                    if other == sink:
                        return True
                    queue[last] = other
                    last += 1
            k += 1 if from_row else columns
    return False


@compiled
def supply(
    rows: int, columns: int, give: Integers, take: Integers, pattern: np.uint64, cell: int, wanted: int,
    flow: Integers, scratch: Integers,
) -> int:  # fmt: skip
    """Send up to ``wanted`` from the row of a cell to its column; return how much went.

    Cells carry ``give`` from row to column and ``take`` back. Where less went than wanted, the lines with
    ``scratch[CAME] >= 0`` are the source's side of a minimum cut.
    """
    came = scratch[CAME]
    source, sink = cell // columns, rows + cell % columns
    flow[:] = 0
    sent = 0
    while sent < wanted and spread(rows, columns, give, take, pattern, cell, flow, scratch):
        amount = wanted - sent
        node = sink
        while node != source:
            k = came[node]
            amount = min(amount, give[k] - flow[k] if node >= rows else take[k] + flow[k])
            node = k // columns if node >= rows else rows + k % columns
        node = sink
        while node != source:
            k = came[node]
            flow[k] += amount if node >= rows else -amount
            node = k // columns if node >= rows else rows + k % columns
        sent += amount
    return sent


@compiled
def crossing(
    rows: int, columns: int, give: Integers, take: Integers, came: Integers, open_cells: np.uint64
) -> np.uint64:
    """Cells that would carry something across the cut that ``supply`` found."""
    found = NONE
    for k in range(rows * columns):
        if has(open_cells, k):
            near, far = came[k // columns] >= 0, came[rows + k % columns] >= 0
            if (near and not far and give[k] > 0) or (far and not near and take[k] > 0):
                found |= bit(k)
    return found


@compiled
def lacking(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, pattern: np.uint64,
    open_cells: np.uint64, cell: int, flow: Integers, scratch: Integers,
) -> tuple[bool, np.uint64]:  # fmt: skip
    """Tell whether a cell falls short of what it needs, and cells of which one is then required."""
    goal = min(max(need[cell, RISE], need[cell, WIDTH]), up[cell])
    rise = supply(rows, columns, down, up, pattern, cell, goal, flow, scratch)
    cut = NONE
    if rise < goal:
        cut = crossing(rows, columns, down, up, scratch[CAME], open_cells)
    if rise < need[cell, RISE]:
        return True, cut
    wanted = max(need[cell, FALL], need[cell, WIDTH] - rise)
    goal = min(wanted, down[cell])
    fall = supply(rows, columns, up, down, pattern, cell, goal, flow, scratch)
    if fall >= wanted:
        return False, NONE
    side = NONE
    if fall < goal:
        side = crossing(rows, columns, up, down, scratch[CAME], open_cells)
    # A fall that is required by itself takes a cell of its own cut; a width is served by either.
    return True, side if fall < need[cell, FALL] else cut | side


@compiled
def required(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, pattern: np.uint64,
    open_cells: np.uint64, flow: Integers, scratch: Integers,
) -> tuple[bool, np.uint64]:  # fmt: skip
    """Tell whether a pattern is safe; else the smallest set of cells of which one is required."""
    safe, smallest, size = True, NONE, 65
    for k in range(rows * columns):
        if need[k, RISE] + need[k, FALL] + need[k, WIDTH] > 0:
            short, cells = lacking(rows, columns, up, down, need, pattern, open_cells, k, flow, scratch)
            if short:
                safe = False
                if count(cells) < size:
                    smallest, size = cells, count(cells)
                if size == 0:
                    break
    return safe, smallest


@compiled
def wanting(
    first: int, step: int, length: int, up: Integers, down: Integers, need: Integers, pattern: np.uint64,
    open_cells: np.uint64, forced: np.uint64,
) -> tuple[bool, np.uint64]:  # fmt: skip
    """Tell whether one line takes another cell, and which ones would do."""
    sum_up, sum_down, n_withheld, last = 0, 0, 0, 0
    rising, falling = NONE, NONE
    for k in range(first, first + step * length, step):
        if has(pattern, k):
            sum_up += up[k]
            sum_down += down[k]
            n_withheld += 1
            last = k
        elif has(open_cells, k):
            rising |= bit(k) * np.uint64(up[k] > 0)
            falling |= bit(k) * np.uint64(down[k] > 0)
    if n_withheld == 1 and not has(forced, last):
        return True, rising | falling
    for k in range(first, first + step * length, step):
        if has(pattern, k):
            # Others fall for this one to rise, and the other way round. Safe cells need nothing.
            rise, fall = min(up[k], sum_down - down[k]), min(down[k], sum_up - up[k])
            if rise < need[k, RISE]:
                return True, falling
            if fall < need[k, FALL]:
                return True, rising
            if rise + fall < need[k, WIDTH]:
                return True, falling * np.uint64(rise < up[k]) | rising * np.uint64(fall < down[k])
    return False, NONE


@compiled
def still(rows: int, columns: int, weight: Integers, wants: Bits, by_row: bool, price: Integers) -> int:
    """Weight that the lines in want take at least: a price per line, no cell pays more than it weighs."""
    total = 0
    price[:] = 0
    for turn in range(2):
        over_rows = by_row == (turn == 0)
        for line in range(rows) if over_rows else range(rows, rows + columns):
            if wants[line] == NONE:
                continue
            least = HEAVY
            k = line * columns if over_rows else line - rows
            for other in range(rows, rows + columns) if over_rows else range(rows):
                if has(wants[line], k):
                    # A cell pays for another line only if it is among those that the other line takes.
                    paid = price[other] if has(wants[other], k) else 0
                    least = min(least, weight[k] - paid)
                k += 1 if over_rows else columns
            price[line] = max(least, 0)
            total += price[line]
    return total


@compiled
def lightest(mask: np.uint64, weight: Integers) -> int:
    best = -1
    for k in range(len(weight)):
        if has(mask, k) and (best < 0 or weight[k] < weight[best]):
            best = k
    return best


@compiled
def candidates(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, weight: Integers,
    pattern: np.uint64, open_cells: np.uint64, forced: np.uint64, most: int, wants: Bits, flow: Integers,
    scratch: Integers,
) -> tuple[bool, np.uint64]:  # fmt: skip
    """Tell whether a pattern is safe; else cells of which one is required, none when it is a dead end."""
    smallest, size, any_line = NONE, 65, False
    for line in range(rows + columns):
        if line < rows:
            short, cells = wanting(line * columns, 1, columns, up, down, need, pattern, open_cells, forced)
        else:
            short, cells = wanting(line - rows, columns, rows, up, down, need, pattern, open_cells, forced)
        wants[line] = cells
        any_line = any_line or short
        if short and count(cells) < size:
            smallest, size = cells, count(cells)
            if size == 0:
                return False, NONE
    if not any_line:
        safe, smallest = required(rows, columns, up, down, need, pattern, open_cells, flow, scratch)
        return safe, smallest
    for by_row in (True, False):
        if still(rows, columns, weight, wants, by_row, scratch[PRICE]) > most:
            return False, NONE
    return False, smallest


@compiled
def cheapest(
    rows: int, columns: int, up: Integers, down: Integers, need: Integers, weight: Integers,
    forced: np.uint64, allowed: np.uint64, nodes: int,
) -> tuple[int, np.uint64, int]:  # fmt: skip
    """Find the pattern of least weight, then lexicographically smallest.

    Parameters
    ----------
    rows, columns
        Cell ``i * columns + j`` stands in row i and column j.
    up, down
        How far each cell may rise and fall; ``FAR`` for no limit.
    need
        Cells by three: how far it must be able to rise, to fall, and both together.
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
    n = rows * columns
    flow, scratch = np.empty(n, dtype=np.int64), np.empty((3, rows + columns), dtype=np.int64)
    wants = np.empty(rows + columns, dtype=np.uint64)
    # A level of the search: the pattern, cells still open, cells left to try, weight so far.
    patterns, opens, tries = (
        np.empty(n + 2, dtype=np.uint64),
        np.empty(n + 2, dtype=np.uint64),
        np.empty(n + 2, dtype=np.uint64),
    )
    weights = np.empty(n + 2, dtype=np.int64)
    best, best_weight = NONE, HEAVY
    depth, used, fresh = 0, 0, True
    patterns[0], opens[0], weights[0] = forced, allowed & ~forced, 0
    while depth >= 0:
        if fresh:
            used += 1
            if used > nodes:
                return -1, best, used
            fresh = False
            safe, tries[depth] = candidates(
                rows, columns, up, down, need, weight, patterns[depth], opens[depth], forced,
                best_weight - weights[depth], wants, flow, scratch,
            )  # fmt: skip
            lighter = weights[depth] < best_weight
            if safe and (lighter or (weights[depth] == best_weight and first_of(patterns[depth], best))):
                best, best_weight = patterns[depth], weights[depth]
        # The lightest first: good patterns early.
        k = lightest(tries[depth], weight)
        if k < 0 or weights[depth] + weight[k] > best_weight:
            depth -= 1
            continue
        tries[depth] &= ~bit(k)
        opens[depth] &= ~bit(k)
        patterns[depth + 1] = patterns[depth] | bit(k)
        opens[depth + 1] = opens[depth]
        weights[depth + 1] = weights[depth] + weight[k]
        depth += 1
        fresh = True
    return (1 if best_weight < HEAVY else 0), best, used


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    room, need = np.ones(4, dtype=np.int64), np.zeros((4, 3), dtype=np.int64)
    cheapest(2, 2, room, room, need, room, NONE, NONE, 10)
