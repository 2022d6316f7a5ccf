"""The tree of rectangles: made from what everybody expects, so that it tells nothing.

Every node is a set of rows by a set of columns. Its lines are put in the order of what is expected in them,
and it is cut in two, across its rows or its columns, as long as two lines are left on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.model import Integers

# A node with fewer lines than this is not cut across them.
LINES = 4


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of one shape at one depth.

    Parameters
    ----------
    number
        Their numbers in the tree; the root is 0.
    rows, columns
        Nodes by the rows and by the columns that they hold, in the order in which they are cut.
    axis, cut
        Whether they are cut across rows (0) or columns (1), and before which; -1 for leaves.
    children
        Nodes by their two parts; -1 for leaves.
    """

    number: Integers
    rows: Integers
    columns: Integers
    axis: int
    cut: int
    children: Integers


def tree(expected: Integers, split: str) -> list[list[Nodes]]:
    """Make the tree, from the root downwards; a list per depth.

    Parameters
    ----------
    expected
        Rows by columns, whole numbers.
    split
        Where a node is cut. "count": after two thirds of its lines, the smaller ones; small lines are where
        wide nodes are needed. "mass": into halves by what is expected in them.

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
            rows, columns, local = ordered(expected, some_rows, some_columns)
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


def ordered(expected: Integers, rows: Integers, columns: Integers) -> tuple[Integers, Integers, Integers]:
    """Put the lines of nodes in the order of what is expected in them; return that, too."""
    local = expected[rows[:, :, None], columns[:, None, :]]
    by_row = np.argsort(local.sum(axis=2), axis=1, kind="stable")
    by_column = np.argsort(local.sum(axis=1), axis=1, kind="stable")
    local = np.take_along_axis(local, by_row[:, :, None], axis=1)
    local = np.take_along_axis(local, by_column[:, None, :], axis=2)
    return np.take_along_axis(rows, by_row, axis=1), np.take_along_axis(columns, by_column, axis=1), local


def cuts(local: Integers, split: str) -> tuple[Integers, Integers]:
    """Decide how nodes of one shape are cut: the way that leaves the smallest line of a part largest."""
    n, n_rows, n_columns = local.shape
    ways = []
    for axis, size in ((0, n_rows), (1, n_columns)):
        if size >= LINES:
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
    # Lines that are not cut are the same either way; what is cut decides, and the longer side at a tie.
    across = (row_least > column_least) | ((row_least == column_least) & (n_rows >= n_columns))
    return np.where(across, 0, 1), np.where(across, row_cut, column_cut)


def middle(lines: Integers, split: str) -> Integers:
    """Where to cut lines with these sums: an even number of lines first, two at least on either side."""
    n, size = lines.shape
    if split == "mass":
        place = (2 * lines.cumsum(axis=1) < lines.sum(axis=1, keepdims=True)).sum(axis=1)
    else:
        place = np.full(n, 2 * size // 3)
    return np.asarray(np.clip(place - place % 2, 2, size - 2 - size % 2))
