"""Sorting and counting against plain numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hitoku.kernels import record_order


@settings(deadline=None, max_examples=32)
@given(st.lists(st.integers(0, 2**40 - 1), max_size=60))
def test_sort_pairs_is_a_stable_sort(keys):
    key = np.array(keys, dtype=np.uint64)
    order = np.argsort(key, kind="stable")
    found, load = record_order.sort_pairs(key.copy(), np.arange(len(key)), 40)
    assert_array_equal(found, key[order])
    assert_array_equal(load, order)


@settings(deadline=None, max_examples=13)
@given(st.lists(st.integers(0, 2), max_size=40))
def test_leaf_counts_match_expected(leaves):
    key = np.array([leaf + 4 * 7 for leaf in leaves], dtype=np.uint64)  # the leaf stands in the low two bits
    counts = np.zeros(4, dtype=np.int64)
    record_order.leaf_counts(key, 3, counts)
    assert counts.tolist() == [leaves.count(leaf) for leaf in range(4)]
