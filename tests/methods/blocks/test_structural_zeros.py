"""Blocks beside structural zeros: the test by listing tables, the theorem by listing all of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.blocks.fibres import fibres, too_narrow
from tests.methods.blocks.test_blocks import RULES, refused
from tests.oracles import blocks as oracle

import hitoku as ht
from hitoku.methods.blocks import FAR, Rectangle, beside_zeros, push_beside, reach, wide_around_zeros
from hitoku.model import Dimension, add_up


@st.composite
def with_zeros(draw, shapes, most):
    rows, columns = draw(st.sampled_from(shapes))
    n = rows * columns
    cells = np.array(draw(st.lists(st.integers(0, most), min_size=n, max_size=n))).reshape(rows, columns)
    free = np.array(draw(st.lists(st.sampled_from([True, True, True, False]), min_size=n, max_size=n)))
    free = free.reshape(rows, columns)
    return cells * free, free


def rectangle(values, free, rule):
    parts = (np.full(values.shape, part, dtype=np.int64) for part in (rule.first, rule.last, FAR, rule.width))
    return Rectangle(values, *parts, free=free)


def places(free):
    return frozenset((int(i), int(j)) for i, j in np.argwhere(~free))


@settings(deadline=None, max_examples=26)
@given(case=with_zeros([(2, 3), (3, 2), (3, 3)], 3), rule=RULES)
def test_leaf_verdict_matches_enumeration(case, rule):
    values, free = case
    sums = values.sum(axis=1).tolist(), values.sum(axis=0).tolist()
    expected = oracle.is_wide_beside_zeros(*sums, places(free), None, rule)
    assert wide_around_zeros(rectangle(values, free, rule), -1, -1) == expected


@settings(deadline=None, max_examples=26)
@given(case=with_zeros([(2, 4), (4, 2), (3, 4), (4, 3)], 2), rule=RULES)
def test_inner_node_verdict_matches_enumeration(case, rule):
    values, free = case
    axis = 0 if values.shape[0] == 4 else 1
    sums = values.sum(axis=1).tolist(), values.sum(axis=0).tolist()
    expected = oracle.is_wide_beside_zeros(*sums, places(free), (axis, 2), rule)
    assert wide_around_zeros(rectangle(values, free, rule), axis, 2) == expected


@settings(deadline=None, max_examples=16)
@given(case=with_zeros([(3, 3), (2, 4)], 3), data=st.data())
def test_attainable_range_matches_enumeration(case, data):
    values, free = case
    row, column = data.draw(st.integers(0, len(values) - 1)), data.draw(st.integers(0, values.shape[1] - 1))
    sums = values.sum(axis=1), values.sum(axis=0)
    listed = [np.array(t) for t in oracle.tables(*(part.tolist() for part in sums))]
    found = [int(t[row, column]) for t in listed if not np.any(t * ~free)]
    if free[row, column]:
        down, up = reach(values, free, row, column, 99, 99)
        assert (values[row, column] - down, values[row, column] + up) == (min(found), max(found))
    moved = values.copy()
    n = push_beside(moved, free, 0, 1, 2)
    assert (moved.sum(axis=0) == sums[1]).all()
    assert (moved.sum(axis=1) - sums[0]).tolist() == [-n, n, *[0] * (len(values) - 2)]
    assert np.all(moved >= 0)
    assert not np.any(moved * ~free)


# Counts, and structural zeros marked by -1.
EXAMPLES = {
    "corner": ([[-1, 3, 2], [2, 4, 1], [1, 2, 4]], 3, 3, False),
    "long": ([[-1, 3, 2, 4], [4, 2, 3, 1]], 3, 4, False),
    "unsafe zeros": ([[3, 0, 2], [1, -1, 2], [2, 3, 1]], 2, 3, True),
    "diagonal": ([[-1, 1, 2, 1], [1, -1, 1, 2], [2, 1, -1, 1]], 2, 2, False),
    "one leaf without": ([[2, 6, -1, 5], [5, 3, 6, 4]], 2, 3, False),
}


@cache
def listed(name):
    marked, threshold, width, zeros = EXAMPLES[name]
    free = np.array(marked) >= 0
    return fibres(np.array(marked) * free, threshold, width, zeros=zeros, free=free)


@pytest.mark.parametrize("name", EXAMPLES)
def test_attacker_knowing_the_method_keeps_the_width(name):
    terms, groups = listed(name)
    every = np.concatenate(groups)
    can = terms.unsafe(every).any(axis=0)
    # Totals that leave a cell too little are refused before anything is withheld.
    assert np.all(np.ptp(every, axis=0)[can] >= EXAMPLES[name][2])
    cells, narrow = too_narrow(terms, groups)
    assert cells > 30
    assert narrow == 0


def test_some_examples_are_not_fully_suppressed():
    assert max(len(listed(name)[1]) for name in EXAMPLES) > 3


def table_of(values, free):
    dimensions = tuple(
        Dimension.of(name, ht.Hierarchy.flat([f"{name}{k}" for k in range(n)]))
        for name, n in zip("rc", values.shape, strict=True)
    )
    fixed = np.zeros(np.add(values.shape, 1), dtype=bool)
    fixed[:-1, :-1] = ~free
    value = add_up(values, dimensions)
    return ht.Table(
        value=value,
        dimensions=dimensions,
        frequency=value,
        integer=True,
        measure="count",
        fixed=fixed.ravel(),
        upper=np.where(fixed.ravel(), 0.0, np.inf),
    )


def test_large_table_is_wide_with_zeros_published():
    rng = np.random.default_rng(4)
    rate = np.outer(rng.lognormal(0, 1, 24), rng.lognormal(0, 1, 24))
    free = rng.random((24, 24)) > 0.05
    values = (rng.poisson(rate * 60 / rate.mean()) + 1) * free
    table = table_of(values, free)
    rules = [ht.MinFrequency(5)]
    need = ht.assess(table, rules, width=6)
    protection = ht.Blocks(rules=rules, width=6, split="count").protect(table, need)
    assert need.unsafe.sum() > 10
    assert not np.any(protection.withheld & table.fixed)
    assert protection.withheld.sum() < table.inner.sum() / 2
    bounds = ht.Interval().bounds(ht.Release.of(table, protection))
    assert np.all(bounds.width[need.unsafe] >= 6)
    assert ht.audit(table, need, ht.Release.of(table, protection)).safe


def test_ranges_with_zeros_match_enumeration():
    values, free = np.array([[0, 3, 2], [2, 4, 1]]), np.array([[False, True, True], [True, True, True]])
    low, high = beside_zeros(table_of(values, free), (2, 3))
    listed = np.array(list(oracle.tables(values.sum(axis=1).tolist(), values.sum(axis=0).tolist())))
    listed = listed[~np.any(listed * ~free, axis=(1, 2))]
    assert (low == listed.min(axis=0)).all()
    assert (high == listed.max(axis=0)).all()


def test_revealing_totals_with_zeros_raise():
    # The only other cell of the column is a zero that everybody knows: the count is its total.
    values = np.array([[0, 30, 20], [3, 40, 10], [9, 12, 25]])
    free = np.array([[False, True, True], [True, True, True], [False, True, True]])
    table = table_of(values * free, free)
    assert "totals" in refused(table, [ht.MinFrequency(5)], 6)
