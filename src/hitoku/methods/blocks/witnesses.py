"""Tables of which the method of blocks publishes the same: witnesses for the reader who knows it.

The theorem says that there are such tables; these are some. Each rectangle that is done is exchanged for a
table with the same sums and its reason, such that an unsafe cell goes as far as it must. Rectangles do not
overlap, so one witness exchanges all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from hitoku.methods.blocks.pattern import settled
from hitoku.methods.blocks.structural_zeros import Rectangle, push_beside
from hitoku.methods.blocks.terms import Terms
from hitoku.methods.blocks.tree import Nodes
from hitoku.model import Integers, Mask, Moves

# With more unsafe cells than this it takes too long; the theorem needs no witness.
MOST_UNSAFE = 200
# Rectangles with more cells than this would take too many flows.
MOST_CELLS = 400


def same_release(
    levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms
) -> Sequence[Mapping[int, int]]:
    """Return changes of a table, by position among all its cells; none where it is large.

    Nothing is promised: whoever uses them runs the method on them again.
    """
    if int(terms.unsafe(values).sum()) > MOST_UNSAFE:
        return []
    found: list[list[dict[int, int]]] = []
    for nodes, one in _done(levels, values, terms):
        rows, columns = nodes.rows[one], nodes.columns[one]
        if rows.size * columns.size > MOST_CELLS:
            return []
        at = np.ix_(rows, columns)
        parts = [part[at] for part in (values, terms.first, terms.last, terms.large, terms.width)]
        free = np.ones(parts[0].shape, dtype=np.bool_) if terms.free is None else terms.free[at]
        rectangle = Rectangle(*parts, free=free)
        across = values.shape[1] + 1
        changes = []
        for table in _tables(rectangle, nodes.axis, nodes.cut):
            moved = np.argwhere(table != parts[0])
            changes.append(
                {
                    int(rows[i] * across + columns[j]): int(table[i, j] - parts[0][i, j])
                    for i, j in moved.tolist()
                }
            )
        found.append(changes)
    witnesses = [
        {cell: amount for change in some if change for cell, amount in change.items()}
        for some in zip_longest(*found)
    ]
    cells = [np.array(sorted(one), dtype=np.int64) for one in witnesses]
    amounts = [np.array([one[cell] for cell in sorted(one)], dtype=np.int64) for one in witnesses]
    begins = np.cumsum([0, *map(len, cells)])
    return Moves(begins, np.concatenate(cells), np.concatenate(amounts), scale=1) if cells else []


def _done(levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms) -> Iterator[tuple[Nodes, int]]:
    """List the largest rectangles that are withheld whole; nothing where even the root is not enough."""
    n = 1 + max(int(nodes.number.max()) for level in levels for nodes in level)
    hit, calls, inside = (np.zeros(n, dtype=np.bool_) for _ in range(3))
    unsafe = terms.unsafe(values)
    for level in reversed(levels):
        for nodes in level:
            mine: Mask = np.asarray(
                unsafe[nodes.rows[:, :, None], nodes.columns[:, None, :]].any(axis=(1, 2))
                if nodes.axis < 0
                else calls[nodes.children].any(axis=1)
            )
            hit[nodes.number] = mine
            if mine.any():
                calls[nodes.number[mine]] = ~settled(nodes, terms, values, mine)
    for level in levels:
        for nodes in level:
            if nodes.axis >= 0:
                above = (inside | hit)[nodes.number]
                inside[nodes.children] = above[:, None]
            for one in np.flatnonzero(hit[nodes.number] & ~inside[nodes.number] & ~calls[nodes.number]):
                yield nodes, int(one)


def _tables(rectangle: Rectangle, axis: int, cut: int) -> list[Integers]:
    """Find tables with the sums and the reason of a rectangle over which its unsafe cells are wide."""
    if axis == 0:
        return [table.T for table in _tables(rectangle.transposed, 1, cut)]
    values, width = rectangle.values, rectangle.width
    small = (values >= rectangle.first) & (values <= rectangle.last) & rectangle.free
    waiting = small | ((values >= rectangle.large) & rectangle.free)
    found: list[Integers] = []
    low, high = values.copy(), values.copy()
    for family, free, split, inside in rectangle.families(None if axis < 0 else cut, both=True):
        for row, column in np.argwhere(waiting).tolist():
            if high[row, column] - low[row, column] >= width[row, column]:
                continue
            place = row if row != split or inside[column] else len(values)
            for up in (True, False):
                table = _end(family, free, place, column, int(width[row, column]), up=up)
                whole = table[:-1].copy()
                whole[split] += table[-1]
                if whole[row, column] > high[row, column] or whole[row, column] < low[row, column]:
                    found.append(whole)
                    np.maximum(high, whole, out=high)
                    np.minimum(low, whole, out=low)
    return found


def _end(values: Integers, free: Mask, row: int, column: int, most: int, *, up: bool) -> Integers:
    """Take a cell as far up or down as it goes, no farther than asked."""
    table, open_cells = values.copy(), free.copy()
    own = int(table[row, column])
    table[row, column], open_cells[row, column] = 0, False
    lines = (row, len(values) + column)
    source, sink = lines if up else lines[::-1]
    moved = push_beside(table, open_cells, source, sink, most if up else min(most, own))
    table[row, column] = own + (moved if up else -moved)
    return table
