"""Halves of sums of rows: true for every whole point, violated at the point that was to be cut off."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hitoku.methods.optimal.zero_half_cuts import factor, zero_half_cuts

POINTS = np.array(list(product([0, 1], repeat=6)), dtype=float)


@settings(max_examples=65)
@given(data=st.data())
def test_halves_hold_wherever_their_rows_hold(data):
    n_rows = data.draw(st.integers(1, 8))
    coefficient = st.sampled_from([0.0, 0.0, 1.0, 0.5, 1 / 3])
    rows = np.array(
        data.draw(st.lists(st.lists(coefficient, min_size=6, max_size=6), min_size=n_rows, max_size=n_rows))
    )
    x = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 0.5, 1 / 3, 1.0]), min_size=6, max_size=6)))
    rows = rows[rows @ x >= 1 - 1e-9]
    matrix = sparse.csr_array(rows)
    times = np.array([factor(row[row > 0]) for row in rows], dtype=np.int64)
    fit = POINTS[np.all(POINTS @ rows.T >= 1 - 1e-9, axis=1)]
    for cells, c in zero_half_cuts(matrix, times, x):
        assert c @ x[cells] < 1
        assert np.all(fit[:, cells] @ c >= 1 - 1e-9)


def test_a_triangle_is_cut_off():
    # Each two of three: the point of halves meets all three rows, no whole point with one of three does.
    rows = sparse.csr_array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    ((cells, c),) = zero_half_cuts(rows, np.ones(3, dtype=np.int64), np.full(3, 0.5))
    assert cells.tolist() == [0, 1, 2]
    np.testing.assert_allclose(c, 0.5)


def test_rows_without_small_denominators_are_left_alone():
    assert factor(np.array([1.0, 0.123])) == 0
    assert factor(np.array([1.0, 0.01])) == 0
