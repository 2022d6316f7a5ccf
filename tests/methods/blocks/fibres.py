"""All tables with the totals of one, grouped by what the method of blocks publishes of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice

import numpy as np
from tests.oracles import blocks as oracle

from hitoku.errors import NeedError
from hitoku.methods.blocks import Nodes, Terms, expectation, pattern, tree
from hitoku.methods.flagged_groups import closure, flag_groups, groups_of, suppress_with_witnesses


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


def witnessed_fibres(example, threshold, width, *, zeros=False, expected=None, size=2, count=1):
    """The same for flagged groups; also what is shown, flags and verdict of every table.

    Groups are those of tables that are published.
    """
    terms = Terms.below(example.shape, threshold, width, zeros=zeros)
    plan = expectation(example.sum(axis=1), example.sum(axis=0), expected)
    found, verdicts = defaultdict(list), defaultdict(set)
    for cells in oracle.tables(example.sum(axis=1).tolist(), example.sum(axis=0).tolist()):
        values = np.array(cells)
        marked = flag_groups(groups_of(plan, size), terms.unsafe(values))
        hidden = closure(marked, plan, width, count) if marked.any() else marked
        shown = np.where(hidden, -1, values).tobytes()
        try:
            again, _ = suppress_with_witnesses(values, terms, plan, size, count)
        except NeedError:
            verdicts[shown, marked.tobytes()].add("refused")
            continue
        assert np.array_equal(again, hidden)
        verdicts[shown, marked.tobytes()].add("published")
        found[shown].append(values)
    return terms, [np.array(group) for group in found.values()], verdicts


def too_narrow(terms, groups):
    """Count unsafe cells, and those that the attacker who knows the method brings below their width."""
    cells = narrow = 0
    for group in groups:
        width = group.max(axis=0) - group.min(axis=0)
        unsafe = terms.unsafe(group)
        cells += int(unsafe.sum())
        narrow += int((unsafe & (width < terms.width)).sum())
    return cells, narrow


# Totals with more tables than this are not listed; with structural zeros each of them takes flows.
MOST, MAX_BESIDE_ZEROS = 30_000, 300


def random_examples(seed, *, structural=False):
    """Draw small tables without end, each with what :func:`fibres` takes; none whose totals are refused."""
    rng = np.random.default_rng(seed)
    while True:
        shape = tuple(rng.integers(2, 7, 2))
        size = int(np.prod(shape))
        most = {4: 14, 6: 9, 8: 6, 9: 5, 10: 4, 12: 3}.get(size, 2 if size <= 16 else 1)
        example = rng.integers(0, most + 1, shape)
        threshold, width = int(rng.integers(2, 5)), int(rng.integers(2, 7))
        free = rng.random(shape) > 0.12 if structural else None
        example = example if free is None else example * free
        row, column, n = example.sum(axis=1)[:, None], example.sum(axis=0)[None], example.sum()
        if np.any(np.minimum(row, column) - np.maximum(0, row + column - n) < width) or n > 24:
            continue
        limit = MAX_BESIDE_ZEROS if structural else MOST
        listed = list(islice(oracle.tables(row.ravel().tolist(), column.ravel().tolist()), limit + 1))
        if len(listed) > limit:
            continue
        zeros, split = bool(rng.random() < 0.2), ("count", "mass")[int(rng.integers(2))]
        expected = rng.integers(0, 9, shape) if rng.random() < 0.3 else None
        if free is not None:
            left = np.array(listed)
            left = left[~np.any(left * ~free, axis=(1, 2))]
            if free.all() or np.any(np.ptp(left, axis=0)[free] < width):
                continue
        yield example, {
            "threshold": threshold, "width": width, "zeros": zeros, "split": split, "expected": expected,
            "free": free,
        }  # fmt: skip
