"""Which rectangles of a tree are withheld: for reasons of their own, one level after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hitoku.methods.blocks.reach import wide_alone, wide_together
from hitoku.methods.blocks.structural_zeros import Rectangle, wide_around_zeros
from hitoku.methods.blocks.terms import Terms
from hitoku.methods.blocks.tree import Nodes
from hitoku.model import Integers, Mask


def pattern(levels: Sequence[Sequence[Nodes]], values: Integers, terms: Terms) -> Mask:
    """Withhold rectangles of a tree; rows by columns.

    A leaf is withheld when it holds an unsafe cell. Where its sums do not leave its cells wide enough it
    *calls*, and the node above is withheld whole; that one calls in turn, as its sums decide. When even the
    sums of the root are not enough, everything is withheld, whatever the values are. There may be several
    trees, over different cells.

    Examples
    --------
    >>> from hitoku.methods.blocks.tree import tree
    >>> values = np.array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> pattern(tree(values, "count"), values, Terms.below((4, 4), 5, 9)).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    withheld = np.zeros(values.shape, dtype=np.bool_)
    for roots in levels[0]:
        lost = ~settled(roots, terms, values, np.ones(len(roots.number), dtype=np.bool_))
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
                calls[nodes.number[hit]] = ~settled(nodes, terms, values, hit)
    return withheld if terms.free is None else withheld & terms.free


def settled(nodes: Nodes, terms: Terms, values: Integers, chosen: Mask) -> Mask:
    """Tell of the chosen nodes whether their sums leave their cells wide enough."""
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
