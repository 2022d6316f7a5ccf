"""Sorting and adding against plain numpy and math.fsum."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hitoku.kernels import record_order

NO_WEIGHTS = np.empty(0)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 2**40 - 1), max_size=60))
def test_sort_pairs_is_a_stable_sort(keys):
    key = np.array(keys, dtype=np.uint64)
    order = np.argsort(key, kind="stable")
    found, load = record_order.sort_pairs(key.copy(), np.arange(len(key)), 40)
    assert_array_equal(found, key[order])
    assert_array_equal(load, order)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(0, 2)), max_size=60), st.booleans()
)
def test_sort_runs_orders_amounts_and_weights_within_a_key(rows, weighted):
    table = np.array(sorted(rows, key=lambda row: row[0]), dtype=np.float64).reshape(-1, 3)
    key, x, w = table[:, 0].astype(np.uint64), table[:, 1].copy(), table[:, 2].copy()
    record_order.sort_runs(key, x, w if weighted else NO_WEIGHTS)
    for one in np.unique(key):
        of_key = table[table[:, 0] == one]
        expected = of_key[np.lexsort((of_key[:, 2], of_key[:, 1]))]
        assert_array_equal(x[key == one], expected[:, 1])
        if weighted:
            assert_array_equal(w[key == one], expected[:, 2])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1e16, -1e16, 0.1, 1.0, 3.0])), max_size=40))
def test_leaf_sums_keep_what_rounding_loses(rows):
    key = np.array([leaf + 4 * 7 for leaf, _ in rows], dtype=np.uint64)  # the leaf stands in the low two bits
    amount = np.array([x for _, x in rows])
    sums, counts = np.zeros((4, 2)), np.zeros(4, dtype=np.int64)
    record_order.leaf_sums(key, 3, amount, sums)
    record_order.leaf_counts(key, 3, counts)
    for leaf in range(4):
        own = [x for place, x in rows if place == leaf]
        assert math.isclose(sums[leaf].sum(), math.fsum(own), rel_tol=1e-15, abs_tol=1e-14)
        assert counts[leaf] == len(own)
