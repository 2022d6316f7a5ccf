"""Statistics of cells against plain dicts and lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hitoku.kernels import topk

NO_WEIGHTS = np.empty(0)


def rows_of(n, width, top=None):
    state = np.zeros((n, width))
    if top is not None:
        state[:, -1] = top
    return state


# One variable of four leaves: 0 and 1 under code 4, 2 and 3 under code 5, all under code 6.
PARENTS = [[0, 4, 6], [1, 4, 6], [2, 5, 6], [3, 5, 6]]
ABOVE = np.array([code for codes in PARENTS for code in codes], dtype=np.int64)
ABOVE_START = np.arange(0, 13, 3, dtype=np.int64)
MEMBERS = [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]]
INDPTR = np.concatenate([[0], np.cumsum([len(m) for m in MEMBERS])]).astype(np.int64)
INDICES = np.array([leaf for leaves in MEMBERS for leaf in leaves], dtype=np.int64)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-2, 9)), max_size=40),
    st.integers(0, 3),
    st.booleans(),
)
def test_following_and_merging_give_the_statistics_of_every_cell(rows, top, absolute):
    rows = sorted(rows)
    key = np.array([who * 4 + leaf for who, leaf, _ in rows], dtype=np.uint64)
    x = np.array([x for *_, x in rows], dtype=np.float64)
    leaves, cells = rows_of(4, topk.FIRST + top), rows_of(7, topk.FIRST + top)
    shape = np.array([4], dtype=np.uint32)
    topk.rank_contributors(key, 2, x, NO_WEIGHTS, absolute, shape, ABOVE, ABOVE_START, leaves, cells)
    topk.settle(cells, False, absolute)
    topk.merge_axis(leaves, INDPTR, INDICES, cells, 1, 4, 1, False)
    for cell, members in enumerate(MEMBERS):
        totals = {}
        for who, leaf, amount in rows:
            if leaf in members:
                totals[who] = totals.get(who, 0) + amount
        ranked = [abs(t) if absolute else t for t in totals.values()]
        largest = [*sorted((t for t in ranked if t > 0), reverse=True), *[0] * top][:top]
        assert cells[cell, topk.COUNT] == len(totals)
        assert cells[cell, topk.SQUARES] == sum(t * t for t in totals.values())
        assert cells[cell, topk.SIZES] == (sum(ranked) if absolute else 0)
        assert cells[cell, topk.FIRST :].tolist() == largest


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.5])), max_size=12))
def test_ranks_are_units_of_weight(pairs):
    leaves = rows_of(1, topk.FIRST_WEIGHTED + 2 * 6 + 1, top=3)
    x, w = np.array([float(x) for x, _ in pairs]), np.array([w for _, w in pairs])
    if pairs:
        assert not topk.rank_records(np.zeros(len(pairs), dtype=np.uint64), x, w, False, leaves)
    largest = np.zeros((1, 3))
    topk.fill_ranks(leaves, largest)
    halves = sorted((x for x, w in pairs for _ in range(int(2 * w))), reverse=True) + [0] * 6
    assert_allclose(largest[0], [(halves[2 * r] + halves[2 * r + 1]) / 2 for r in range(3)], atol=1e-12)


def test_a_list_that_is_too_short_says_so():
    leaves = rows_of(1, topk.FIRST_WEIGHTED + 2 * 2 + 1, top=3)
    key, w = np.zeros(3, dtype=np.uint64), np.array([1.0, 1.0, 1.0])
    assert topk.rank_records(key, np.array([3.0, 2.0, 1.0]), w, False, leaves)
