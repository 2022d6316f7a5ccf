"""All tables with the totals of one, grouped by what the method of blocks publishes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.oracles import blocks as oracle

from hitoku.methods.blocks.expectation import expectation
from hitoku.methods.blocks.pattern import pattern
from hitoku.methods.blocks.terms import Terms
from hitoku.methods.blocks.tree import Nodes, tree


def forest(levels, n, n_rows):
    """Repeat a tree: one for each of many tables that stand below each other."""
    offset = n_rows * np.arange(n)
    size = 1 + max(int(nodes.number.max()) for depth in levels for nodes in depth)

    def repeated(nodes):
        number = (nodes.number[None] + size * np.arange(n)[:, None]).ravel()
        rows = (nodes.rows[None] + offset[:, None, None]).reshape(-1, nodes.rows.shape[1])
        children = np.where(nodes.children[None] < 0, -1, nodes.children + size * np.arange(n)[:, None, None])
        return Nodes(
            number, rows, np.tile(nodes.columns, (n, 1)), nodes.axis, nodes.cut, children.reshape(-1, 2)
        )

    return [[repeated(nodes) for nodes in depth] for depth in levels]


def patterns(levels, terms, tables):
    """Protect many tables by one tree."""
    n, n_rows, n_columns = tables.shape
    parts = (np.tile(part, (n, 1)) for part in (terms.first, terms.last, terms.large, terms.width))
    tall = Terms(*parts, free=None if terms.free is None else np.tile(terms.free, (n, 1)))
    return pattern(forest(levels, n, n_rows), tables.reshape(-1, n_columns), tall).reshape(tables.shape)


def fibres(example, threshold, width, *, zeros=False, split="count", expected=None, free=None):
    """Protect every table with the totals of an example; group them by what is published.

    ``free`` are the cells that are no structural zeros.
    """
    terms = replace(Terms.below(example.shape, threshold, width, zeros=zeros), free=free)
    plan = expectation(example.sum(axis=1), example.sum(axis=0), expected)
    levels = tree(plan if free is None else plan * free, split)
    tables = np.array(list(oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist())))
    if free is not None:
        tables = tables[~np.any(tables * ~free, axis=(1, 2))]
    hidden = patterns(levels, terms, tables)
    shown = np.where(hidden, -1, tables).reshape(len(tables), -1)
    _, group = np.unique(shown, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    return terms, np.split(tables[order], np.flatnonzero(np.diff(group[order])) + 1)


def too_narrow(terms, groups):
    """Count unsafe cells, and those that the reader who knows the method brings below their width."""
    cells = narrow = 0
    for group in groups:
        width = group.max(axis=0) - group.min(axis=0)
        unsafe = terms.unsafe(group)
        cells += int(unsafe.sum())
        narrow += int((unsafe & (width < terms.width)).sum())
    return cells, narrow
