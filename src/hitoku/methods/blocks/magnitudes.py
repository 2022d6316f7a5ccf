"""Rectangles in tables of magnitudes: whose reader sees neither contributions nor how many there are.

Whether a cell is unsafe, and how far it must be blurred, depends on its contributions. The reader does not
know them: a table counts for him when *some* contributions lead to the release. So any positive value may be
unsafe, and any value may be safe, and a rectangle can be exchanged for nearly every other one with its sums.
That is why levels around the value can be promised here, not only widths: docs/explanation/blocks.md.

Values are whole numbers of a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.methods.blocks.reach import FAR, Local, Reach, reach_alone
from hitoku.methods.blocks.tree import Nodes
from hitoku.model import Integers, Mask

# A cell of one unit gives a leaf a reason, whoever contributes it: the ends of a class are such tables.
TINY = 1
# How often families of tables are given up whose single unit would not be blurred far enough.
ROUNDS = 3


@dataclass(frozen=True, eq=False)
class MagnitudeLevels:
    """What the contributions of every cell ask for, rows by columns, in units; zero where nothing.

    Parameters
    ----------
    unsafe
        Cells that are unsafe.
    lower, upper, width
        How far below and above their value they must be blurred, and how wide.
    sole
        The same three for a unit that a single contributor has.
    """

    unsafe: Mask
    lower: Integers
    upper: Integers
    width: Integers
    sole: tuple[int, int, int]

    def short(self, rows: Integers, columns: Integers, values: Integers, reach: Reach) -> Mask:
        """Tell of rectangles whether an unsafe cell of theirs does not go as far as it must."""
        place = rows[:, :, None], columns[:, None, :]
        unsafe, lower, upper, width = (a[place] for a in (self.unsafe, self.lower, self.upper, self.width))
        near = (values - reach.least < lower) | (reach.most - values < upper)
        return np.asarray((unsafe & (near | (reach.most - reach.least < width))).any(axis=(1, 2)))


def magnitude_pattern(
    levels: Sequence[Sequence[Nodes]], values: Integers, asked: MagnitudeLevels
) -> tuple[Mask, Mask]:
    """Withhold rectangles of a tree; also tell which roots call: there no rectangle is large enough.

    A leaf is withheld when a cell of it is unsafe, or is one unit. When an unsafe cell cannot go as far as it
    must within the sums of the leaf, the leaf calls, and the node above is withheld; and so on.

    Examples
    --------
    >>> from hitoku.methods.blocks.tree import tree
    >>> values = np.array([[20, 33, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> level = np.where(values == 25, 3, 0)
    >>> asked = MagnitudeLevels(level > 0, level, level, 0 * level, (1, 1, 0))
    >>> magnitude_pattern(tree(values, "count"), values, asked)[0].astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    withheld = np.zeros(values.shape, dtype=np.bool_)
    marked = asked.unsafe | (values == TINY)
    calls = np.zeros(1 + max(int(nodes.number.max()) for level in levels for nodes in level), dtype=np.bool_)
    for level in reversed(levels):
        for nodes in level:
            if nodes.axis < 0:
                hit = np.asarray(marked[nodes.rows[:, :, None], nodes.columns[:, None, :]].any(axis=(1, 2)))
            else:
                hit = np.asarray(calls[nodes.children].any(axis=1))
            if not hit.any():
                continue
            rows, columns = nodes.rows[hit], nodes.columns[hit]
            withheld[rows[:, :, None], columns[:, None, :]] = True
            local = values[rows[:, :, None], columns[:, None, :]]
            reach = reached(local.sum(axis=2), local.sum(axis=1), nodes.axis, nodes.cut, asked.sole)
            calls[nodes.number[hit]] = asked.short(rows, columns, local, reach)
    return withheld, calls[np.concatenate([nodes.number for nodes in levels[0]])]


def reached(rows: Integers, columns: Integers, axis: int, cut: int, sole: tuple[int, int, int]) -> Reach:
    """How far cells of rectangles go over the tables with their sums that have their reason.

    Of a leaf: some cell is one unit. Of an inner node: in one of its parts some line has a single unit, of a
    single contributor, which is unsafe and cannot move within the part, so that the part calls; in the node
    it can move as far as it must.

    Parameters
    ----------
    rows, columns
        Sums: rectangles by rows, rectangles by columns.
    axis, cut
        Where they are cut; axis -1 for leaves.
    sole
        What a unit of a single contributor asks for: below, above, width.
    """
    if axis == 0:
        turned = reached(columns, rows, 1, cut, sole)
        return Reach(turned.least.swapaxes(1, 2), turned.most.swapaxes(1, 2))
    shape = (*rows.shape, columns.shape[1])
    ones, far = np.ones(shape, dtype=np.int64), np.full(shape, FAR)
    local = Local(rows, columns, ones, ones, far, ones)
    if axis < 0:
        return reach_alone(local)
    parts = [np.arange(columns.shape[1]) < cut, np.arange(columns.shape[1]) >= cut]
    kept = np.ones((2, *rows.shape), dtype=np.bool_)
    empty = (rows[:, :, None] == 0) | (columns[:, None, :] == 0)
    below, above, width = sole
    for _ in range(ROUNDS):
        reach = Reach.nowhere(local)
        for inside, lines in zip(parts, kept, strict=True):
            reach.widen(local, inside, ones[:, :, 0], lines.astype(np.int64))
        fits = (reach.least <= 1 - below) & (reach.most >= 1 + above) & (reach.most - reach.least >= width)
        fewer = kept & np.stack([(fits | empty)[:, :, inside].all(axis=2) for inside in parts])
        settled = (fewer == kept).all(axis=(0, 2))[:, None, None]
        if settled.all():
            break
        kept = fewer
    # Nothing is promised for those that are not settled.
    return Reach(np.where(settled, reach.least, FAR), np.where(settled, reach.most, -FAR))
