"""Halves of sums of rows: true for every whole point, violated at the point that was to be cut off."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles import halves

from hitoku.kernels import zero_half
from hitoku.methods.optimal import factor, zero_half_cuts
from hitoku.solver.master import SparseRows

POINTS = np.array(list(product([0, 1], repeat=6)), dtype=float)


def parts_of(rows):
    matrix = sparse.csr_array(rows)
    return SparseRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data)


@settings(max_examples=65)
@given(data=st.data())
def test_halved_rows_are_implied(data):
    n_rows = data.draw(st.integers(1, 8))
    coefficient = st.sampled_from([0.0, 0.0, 1.0, 0.5, 1 / 3])
    rows = np.array(
        data.draw(st.lists(st.lists(coefficient, min_size=6, max_size=6), min_size=n_rows, max_size=n_rows))
    )
    x = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 0.5, 1 / 3, 1.0]), min_size=6, max_size=6)))
    rows = rows[rows @ x >= 1 - 1e-9]
    matrix = parts_of(rows)
    times = np.array([factor(row[row > 0]) for row in rows], dtype=np.int64)
    fit = POINTS[np.all(POINTS @ rows.T >= 1 - 1e-9, axis=1)]
    for cells, c in zero_half_cuts(matrix, times, x):
        assert c @ x[cells] < 1
        assert np.all(fit[:, cells] @ c >= 1 - 1e-9)


def test_triangle_cut_is_found():
    # Each two of three: the point of halves meets all three rows, no whole point with one of three does.
    rows = parts_of([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    ((cells, c),) = zero_half_cuts(rows, np.ones(3, dtype=np.int64), np.full(3, 0.5))
    assert cells.tolist() == [0, 1, 2]
    np.testing.assert_allclose(c, 0.5)


def test_rows_without_small_denominators_are_skipped():
    assert factor(np.array([1.0, 0.123])) == 0
    assert factor(np.array([1.0, 0.01])) == 0


@given(seed=st.integers(0, 2**32 - 1))
def test_halved_sums_match_numpy(seed):
    rng = np.random.default_rng(seed)
    n_rows, n = int(rng.integers(1, 90)), int(rng.integers(1, 12))
    times = rng.integers(1, 4, n_rows)
    whole = rng.integers(0, 4, (n_rows, n)) * (rng.random((n_rows, n)) < 0.5)
    rows = parts_of(np.minimum(whole, times[:, None]) / times[:, None])
    whole = np.minimum(whole, times[:, None]).astype(float)
    usable = np.sort(rng.permutation(n_rows)[: int(rng.integers(1, n_rows + 1))])
    chosen = rng.random((8, len(usable))) < 3 / len(usable)
    members = np.zeros((8, -(-len(usable) // 64)), dtype=np.uint64)
    for k, r in zip(*np.nonzero(chosen), strict=True):
        members[k, r // 64] |= np.uint64(1) << np.uint64(r % 64)
    x = rng.choice([0.0, 0.25, 0.5, 0.6, 1.0], n)
    ptr, index, data, score = zero_half.halve_rows(members, tuple(rows), times, usable, x, 0.02)
    expected = halves.halved(chosen @ whole[usable], chosen @ times[usable], x, 0.02)
    assert len(score) == len(expected)
    for k, (c, depth) in enumerate(expected):
        here = slice(ptr[k], ptr[k + 1])
        np.testing.assert_array_equal(index[here], np.flatnonzero(c))
        np.testing.assert_allclose(data[here], c[c > 0])
        np.testing.assert_allclose(score[k], depth)


@given(seed=st.integers(0, 2**32 - 1))
def test_cheapest_expense_matches_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 130))
    columns = np.sort(rng.permutation(n)[: int(rng.integers(0, min(n, 7) + 1))])
    bits = np.zeros(-(-n // 64), dtype=np.uint64)
    for j in columns:
        bits[j // 64] |= np.uint64(1) << np.uint64(j % 64)
    x, odd = rng.random(n), bool(rng.integers(2))
    least = halves.cheapest_expense(columns, odd, x)
    assert zero_half.expense(bits, odd, x, np.inf) == (pytest.approx(least) if np.isfinite(least) else 2.0)
    # Beyond what is of interest it need not be worked out, but must not look cheap.
    assert (zero_half.expense(bits, odd, x, 0.3) > 0.3) == (least > 0.3)
