"""Rectangles: the tree into which a table is cut, the suppressed ones, and tables with the same release.

The theorem says that there are tables for which the method publishes the same; the last part finds some. Each
settled rectangle is exchanged for a table with the same sums and its reason, such that an unsafe cell moves
as far as required. Rectangles do not overlap, so one witness exchanges all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from hitoku.methods.blocks.attainable_range import wide_alone, wide_together
from hitoku.methods.blocks.structural_zeros import Rectangle, push_beside, wide_around_zeros
from hitoku.methods.blocks.terms import Terms
from hitoku.model import Deviations, Integers, Mask


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of one shape at one depth."""

    number: Integers  # Their numbers in the tree; the root is 0.
    # rows, columns: rows and columns of each node, in the order in which they are cut.
    rows: Integers
    columns: Integers
    # axis, cut: whether they are cut across rows (0) or columns (1), and the position of the cut; -1 for
    # leaves.
    axis: int
    cut: int
    children: Integers  # Numbers of both parts of each node; -1 for leaves.


def tree(expected: Integers, split: str) -> list[list[Nodes]]:
    """Build the tree, from the root downwards; one list per depth.

    Parameters
    ----------
    expected
        Rows by columns, integers.
    split
        Position of cuts. "count": after two thirds of the lines, smaller lines first; small lines are where
        wide nodes are needed. "mass": into halves of the expected sum.

    Examples
    --------
    >>> [[(len(n.number), n.rows.shape[1], n.columns.shape[1]) for n in depth]
    ...  for depth in tree(np.ones((4, 5), dtype=np.int64), "count")]
    [[(1, 4, 5)], [(1, 4, 2), (1, 4, 3)], [(2, 2, 2), (2, 2, 3)]]
    """
    n_rows, n_columns = expected.shape
    waiting = [(np.array([0]), np.arange(n_rows)[None, :], np.arange(n_columns)[None, :])]
    found: list[list[Nodes]] = []
    n = 1
    while waiting:
        depth: list[Nodes] = []
        parts: dict[tuple[int, int], list[tuple[Integers, Integers, Integers]]] = {}
        for number, some_rows, some_columns in waiting:
            rows, columns, local = sort_lines(expected, some_rows, some_columns)
            axis, cut = cuts(local, split)
            for way in np.unique(np.stack([axis, cut]), axis=1).T:
                mine = (axis == way[0]) & (cut == way[1])
                children = np.full((int(mine.sum()), 2), -1)
                if way[0] >= 0:
                    children = n + np.arange(2 * len(children)).reshape(-1, 2)
                    n += children.size
                    for side in (0, 1):
                        half = slice(None, way[1]) if side == 0 else slice(way[1], None)
                        part = (
                            children[:, side],
                            rows[mine][:, half] if way[0] == 0 else rows[mine],
                            columns[mine][:, half] if way[0] == 1 else columns[mine],
                        )
                        parts.setdefault((part[1].shape[1], part[2].shape[1]), []).append(part)
                depth.append(
                    Nodes(number[mine], rows[mine], columns[mine], int(way[0]), int(way[1]), children)
                )
        found.append(depth)
        waiting = [joined(group) for _, group in sorted(parts.items())]
    return found


def joined(group: Sequence[tuple[Integers, Integers, Integers]]) -> tuple[Integers, Integers, Integers]:
    numbers, rows, columns = (np.concatenate([part[k] for part in group]) for k in range(3))
    return numbers, rows, columns


def sort_lines(expected: Integers, rows: Integers, columns: Integers) -> tuple[Integers, Integers, Integers]:
    """Sort the lines of nodes by their expected sum; return that, too."""
    local = expected[rows[:, :, None], columns[:, None, :]]
    by_row = np.argsort(local.sum(axis=2), axis=1, kind="stable")
    by_column = np.argsort(local.sum(axis=1), axis=1, kind="stable")
    local = np.take_along_axis(local, by_row[:, :, None], axis=1)
    local = np.take_along_axis(local, by_column[:, None, :], axis=2)
    return np.take_along_axis(rows, by_row, axis=1), np.take_along_axis(columns, by_column, axis=1), local


def cuts(local: Integers, split: str) -> tuple[Integers, Integers]:
    """Decide how nodes of one shape are cut: maximise the smallest line of a part."""
    n, n_rows, n_columns = local.shape
    ways = []
    for axis, size in ((0, n_rows), (1, n_columns)):
        # At least two lines on either side of a cut.
        if size >= 4:
            turned = local if axis == 0 else local.swapaxes(1, 2)
            cut = middle(turned.sum(axis=2), split)
            upper = np.take_along_axis(turned.cumsum(axis=1), (cut - 1)[:, None, None], axis=1)[:, 0]
            least = np.minimum(upper, turned.sum(axis=1) - upper).min(axis=1)
            ways.append((axis, cut, least))
    if not ways:
        return np.full(n, -1), np.full(n, -1)
    if len(ways) == 1:
        return np.full(n, ways[0][0]), ways[0][1]
    (_, row_cut, row_least), (_, column_cut, column_least) = ways
    # Lines that are not cut are the same either way; cut lines decide, and the longer side breaks ties.
    across = (row_least > column_least) | ((row_least == column_least) & (n_rows >= n_columns))
    return np.where(across, 0, 1), np.where(across, row_cut, column_cut)


def middle(lines: Integers, split: str) -> Integers:
    """Return where to cut lines with these sums: an even number of lines first, at least two per side."""
    n, size = lines.shape
    if split == "mass":
        place = (2 * lines.cumsum(axis=1) < lines.sum(axis=1, keepdims=True)).sum(axis=1)
    else:
        place = np.full(n, 2 * size // 3)
    return np.asarray(np.clip(place - place % 2, 2, size - 2 - size % 2))


def pattern(levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms) -> Mask:
    """Suppress rectangles of a tree; rows by columns.

    A leaf is suppressed if it has an unsafe cell. If its sums do not leave its cells wide enough it *calls*,
    and the node above is suppressed whole; that one calls in turn, depending on its sums. If even the
    sums of the root are not enough, everything is suppressed, for any values. There may be several
    trees, over different cells.

    Examples
    --------
    >>> from hitoku.methods.blocks import tree
    >>> values = np.array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> pattern(tree(values, "count"), values, Terms.below((4, 4), 5, 9)).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    withheld = np.zeros(values.shape, dtype=np.bool_)
    for roots in levels[0]:
        lost = ~wide_enough(roots, terms, values, np.ones(len(roots.number), dtype=np.bool_))
        withheld[roots.rows[lost][:, :, None], roots.columns[lost][:, None, :]] = True
    unsafe = terms.unsafe(values)
    calls = np.zeros(1 + max(int(nodes.number.max()) for level in levels for nodes in level), dtype=np.bool_)
    for level in reversed(levels):
        for nodes in level:
            if nodes.axis < 0:
                hit = np.asarray(unsafe[nodes.rows[:, :, None], nodes.columns[:, None, :]].any(axis=(1, 2)))
            else:
                hit = np.asarray(calls[nodes.children].any(axis=1))
            if hit.any():
                withheld[nodes.rows[hit][:, :, None], nodes.columns[hit][:, None, :]] = True
                calls[nodes.number[hit]] = ~wide_enough(nodes, terms, values, hit)
    return withheld if terms.free is None else withheld & terms.free


def wide_enough(nodes: Nodes, terms: Terms, values: Integers, chosen: Mask) -> Mask:
    """Return for the chosen nodes whether their sums leave their cells wide enough."""
    rows, columns = nodes.rows[chosen], nodes.columns[chosen]
    local = values[rows[:, :, None], columns[:, None, :]]
    known = terms.at(rows, columns, local.sum(axis=2), local.sum(axis=1))
    wide = wide_alone(known) if nodes.axis < 0 else wide_together(known, nodes.axis, nodes.cut)
    if terms.free is not None:
        free = terms.free[rows[:, :, None], columns[:, None, :]]
        for one in np.flatnonzero(~free.all(axis=(1, 2))):
            parts = (part[one] for part in (local, known.first, known.last, known.large, known.width))
            wide[one] = wide_around_zeros(Rectangle(*parts, free=free[one]), nodes.axis, nodes.cut)
    return wide


# Above this number of unsafe cells the search takes too long; the theorem needs no witness.
MAX_UNSAFE = 200
# Rectangles with more cells than this would need too many flows.
MAX_CELLS = 400


def same_release(
    levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms
) -> Sequence[Mapping[int, int]]:
    """Return deviations that lead to the same release, by position among all cells; none for large tables.

    They are not guaranteed: the caller must run the method on the changed tables.
    """
    if int(terms.unsafe(values).sum()) > MAX_UNSAFE:
        return []
    found: list[list[dict[int, int]]] = []
    for nodes, one in _done(levels, values, terms):
        rows, columns = nodes.rows[one], nodes.columns[one]
        if rows.size * columns.size > MAX_CELLS:
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
    return Deviations(begins, np.concatenate(cells), np.concatenate(amounts), scale=1) if cells else []


def _done(levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms) -> Iterator[tuple[Nodes, int]]:
    """List the largest rectangles that are suppressed whole; none if even the root is not enough."""
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
                calls[nodes.number[mine]] = ~wide_enough(nodes, terms, values, mine)
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
    """Move a cell up or down as far as possible, but no further than ``most``."""
    table, open_cells = values.copy(), free.copy()
    own = int(table[row, column])
    table[row, column], open_cells[row, column] = 0, False
    lines = (row, len(values) + column)
    source, sink = lines if up else lines[::-1]
    moved = push_beside(table, open_cells, source, sink, most if up else min(most, own))
    table[row, column] = own + (moved if up else -moved)
    return table
