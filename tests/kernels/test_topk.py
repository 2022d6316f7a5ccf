"""Statistics of cells against plain dicts and lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hitoku.kernels import cell_rows, topk

NO_WEIGHTS = np.empty(0)


# Whole numbers: nothing is lost behind the point. With weights, halves of halves.
FINE = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
FINE_WEIGHTED = np.array([1.0, 4.0, 1.0, 4.0, 16.0, 4.0])


def words(row, at):
    """An integer of two words."""
    high, low = row.view(np.int64)[at : at + 2]
    return (int(high) << 62) + int(low)


# One variable of four leaves: 0 and 1 under code 4, 2 and 3 under code 5, all under code 6.
PARENTS = [[0, 4, 6], [1, 4, 6], [2, 5, 6], [3, 5, 6]]
ABOVE = np.array([code for codes in PARENTS for code in codes], dtype=np.int64)
ABOVE_START = np.arange(0, 13, 3, dtype=np.int64)
MEMBERS = [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]]
INDPTR = np.concatenate([[0], np.cumsum([len(m) for m in MEMBERS])]).astype(np.int64)
INDICES = np.array([leaf for leaves in MEMBERS for leaf in leaves], dtype=np.int64)


@settings(deadline=None, max_examples=39)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-2, 9)), max_size=40),
    st.integers(0, 3),
    st.booleans(),
)
def test_merged_states_match_cell_statistics(rows, top, absolute):
    rows = sorted(rows)
    key = np.array([who * 4 + leaf for who, leaf, _ in rows], dtype=np.uint64)
    x = np.array([x for *_, x in rows], dtype=np.float64)
    end = cell_rows.FIRST + top
    leaves, cells = np.zeros((4, end + 2 * absolute)), np.zeros((7, end + 2 * absolute))
    shape = np.array([4], dtype=np.uint32)
    n = topk.add_up(key, x, NO_WEIGHTS, FINE, x)
    key, parts = key[:n], x[:n]
    topk.rank_contributors(key, 2, parts, absolute, FINE, shape, ABOVE, ABOVE_START, leaves, cells)
    topk.settle(cells, parts, absolute, FINE)
    cell_rows.merge_axis(leaves, INDPTR, INDICES, cells, 1, 4, 1, False, absolute)
    for cell, members in enumerate(MEMBERS):
        totals = {}
        for who, leaf, amount in rows:
            if leaf in members:
                totals[who] = totals.get(who, 0) + amount
        ranked = [abs(t) if absolute else t for t in totals.values()]
        largest = [*sorted((t for t in ranked if t > 0), reverse=True), *[0] * top][:top]
        assert cells[cell, cell_rows.COUNT] == len(totals)
        assert words(cells[cell], cell_rows.SQUARES) == sum(t * t for t in totals.values())
        if absolute:
            assert words(cells[cell], end) == sum(ranked)
        assert cells[cell, cell_rows.FIRST : end].tolist() == largest


@settings(deadline=None, max_examples=39)
@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.5])), max_size=12))
def test_ranks_are_units_of_weight(pairs):
    end = cell_rows.FIRST_WEIGHTED + 2 * 7  # six fill three ranks, and one tells that there were more
    leaves = np.zeros((1, end))
    x, w = np.array([float(x) for x, _ in pairs]), np.array([w for _, w in pairs])
    if pairs:
        topk.rank_records(np.zeros(len(pairs), dtype=np.uint64), x, w, False, FINE_WEIGHTED, leaves)
    largest = np.zeros((1, 3))
    assert not cell_rows.fill_ranks(leaves, end, largest)
    halves = sorted((x for x, w in pairs for _ in range(int(2 * w))), reverse=True) + [0] * 6
    assert_allclose(largest[0], [(halves[2 * r] + halves[2 * r + 1]) / 2 for r in range(3)], atol=1e-12)


@settings(deadline=None, max_examples=26)
@given(
    st.lists(st.tuples(st.integers(-2, 4), st.sampled_from([0.25, 0.5, 1.0, 2.5])), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
    st.integers(1, 11),
    st.booleans(),
)
def test_states_are_independent_of_order_and_batches(pairs, random, cut, absolute):
    end = cell_rows.FIRST_WEIGHTED + 2 * 4
    whole = np.zeros((1, end + 2 * absolute))
    rank(pairs, absolute, whole)
    shuffled = random.sample(pairs, len(pairs))
    merged = np.zeros_like(whole)
    for part in (shuffled[cut:], shuffled[:cut]):
        state = np.zeros_like(whole)
        rank(part, absolute, state)
        cell_rows.merge_rows(state, np.zeros(1, dtype=np.int64), merged, True, absolute)
    assert merged.tobytes() == whole.tobytes()


def rank(pairs, absolute, leaves):
    x, w = np.array([float(x) for x, _ in pairs]), np.array([float(w) for _, w in pairs])
    key = np.zeros(len(pairs), dtype=np.uint64)
    if pairs:
        topk.rank_records(key, x, w, absolute, FINE_WEIGHTED, leaves)


@pytest.mark.parametrize(("weights", "short"), [((1, 1, 1), True), ((1, 2, 1), False), ((1, 1), False)])
def test_short_list_is_reported(weights, short):
    end = cell_rows.FIRST_WEIGHTED + 2 * 3  # two fill ranks, the third tells that there was one more
    leaves, key = np.zeros((1, end)), np.zeros(len(weights), dtype=np.uint64)
    x = np.array([3.0, 2.0, 1.0][: len(weights)])
    topk.rank_records(key, x, np.array(weights, dtype=float), False, FINE_WEIGHTED, leaves)
    assert cell_rows.fill_ranks(leaves, end, np.zeros((1, 3))) is short
