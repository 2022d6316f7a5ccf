from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.enumeration import determined, echelon

from hitoku.kernels.propagate import peel, propagate
from hitoku.kernels.residues import PRIMES, inverse, multiply, null_vector

RESIDUES = st.integers(0, 2**61 - 32)


@pytest.mark.parametrize("c", PRIMES)
@settings(deadline=None, max_examples=130)
@given(a=RESIDUES, b=RESIDUES)
def test_products_and_inverses_match_python(c, a, b):
    prime = 2**61 - c
    assert int(multiply(np.uint64(a), np.uint64(b), np.uint64(c))) == a * b % prime
    if a:
        assert int(inverse(np.uint64(a), np.uint64(c))) == pow(a, -1, prime)


@pytest.mark.parametrize("c", PRIMES)
def test_largest_residues_do_not_overflow(c):
    prime = 2**61 - c
    for a in (prime - 1, prime - 2, 2**60, 2**31, 2**31 - 1, 2**30):
        for b in (prime - 1, 2**60 + 1, 2**31 - 1, 1, 0):
            assert int(multiply(np.uint64(a), np.uint64(b), np.uint64(c))) == a * b % prime


@pytest.mark.parametrize("c", PRIMES)
def test_moduli_are_prime(c):
    # Miller and Rabin with these twelve witnesses decides every number below 3.3e24.
    prime = 2**61 - c
    odd, twos = prime - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        powers = [pow(witness, odd * 2**k, prime) for k in range(twos)]
        assert powers[0] == 1 or prime - 1 in powers


def small_matrix(seed, *, zero=0.5):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 8), rng.integers(1, 12)
    return rng.integers(-2, 3, shape) * (rng.random(shape) > zero)


def residues(matrix, c):
    rows = sparse.csr_array(matrix)
    data = np.array([int(a) % (2**61 - c) for a in rows.data], dtype=np.uint64)
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), data


@pytest.mark.parametrize("c", PRIMES)
@settings(deadline=None, max_examples=65)
@given(seed=st.integers(0, 2**32 - 1))
def test_rank_and_fixed_coordinates_match_fractions(c, seed):
    matrix = small_matrix(seed)
    rank, vector = null_vector(*residues(matrix, c), matrix.shape[1], np.uint64(c), np.uint64(7))
    assert rank == len(echelon(matrix))
    assert np.array_equal(vector == 0, determined(matrix))
    prime = 2**61 - c
    for row in matrix:
        assert sum(int(a) * int(z) for a, z in zip(row, vector, strict=True)) % prime == 0


def test_wide_matrix_fills_in_correctly():
    rng = np.random.default_rng(11)
    matrix = rng.integers(-1, 2, (90, 200)) * (rng.random((90, 200)) < 0.3)
    rank, vector = null_vector(*residues(matrix, 1), 200, np.uint64(1), np.uint64(0))
    assert rank == np.linalg.matrix_rank(matrix)
    prime = 2**61 - 1
    assert all(sum(int(a) * int(z) for a, z in zip(row, vector, strict=True)) % prime == 0 for row in matrix)


def parts(matrix):
    rows = sparse.csr_array(np.asarray(matrix, dtype=float))
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data


def peeled(matrix, rhs, known=()):
    matrix = np.asarray(matrix, dtype=float)
    n = matrix.shape[1]
    value, mask, row_of = np.zeros(n), np.zeros(n, dtype=bool), np.full(n, -1)
    for column, number in known:
        value[column], mask[column] = number, True
    rhs = np.array(rhs, dtype=float)
    peel(parts(matrix), parts(matrix.T), rhs, value, mask, row_of)
    return value, mask, row_of, rhs


@pytest.mark.parametrize(
    ("matrix", "rhs", "known", "value", "row_of"),
    [
        pytest.param([[1, 1]], [5], (), {}, [-1, -1], id="two open cells stay"),
        pytest.param([[1, 0], [1, 1]], [2, 5], (), {0: 2, 1: 3}, [0, 1], id="one gives the next away"),
        pytest.param([[1, 1], [0, 1]], [5, 2], (), {0: 3, 1: 2}, [0, 1], id="also against the order"),
        pytest.param([[1, 1, 1]], [9], ((0, 4), (2, 3)), {0: 4, 1: 2, 2: 3}, [-1, 0, -1], id="known before"),
        pytest.param([[-2, 0], [1, 1]], [6, 0], (), {0: -3, 1: 3}, [0, 1], id="other coefficients"),
        pytest.param([[1], [1]], [4, 4], (), {0: 4}, [0], id="two relations say the same"),
    ],
)
def test_peeling_solves_triangular_rows(matrix, rhs, known, value, row_of):
    found, mask, rows, _ = peeled(matrix, rhs, known)
    assert {int(j): found[j] for j in np.flatnonzero(mask)} == value
    assert rows.tolist() == row_of


def test_peeling_keeps_contradicting_right_hand_side():
    assert peeled([[1], [1]], [4, 6])[3].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("matrix", "rhs", "lower", "upper", "expected"),
    [
        pytest.param([[1, 1]], [5], [0, 0], [np.inf, np.inf], ([0, 0], [5, 5]), id="parts below their sum"),
        pytest.param([[1, 1]], [5], [0, 0], [np.inf, 2], ([3, 0], [5, 2]), id="the other is at most 2"),
        pytest.param([[1, -1]], [0], [0, 3], [7, np.inf], ([3, 3], [7, 7]), id="total above its parts"),
        pytest.param([[1, 1]], [5], [-np.inf, 0], [np.inf, 9], ([-4, 0], [5, 9]), id="no lower bound"),
        pytest.param([[1, 1, 1]], [5], [-np.inf] * 3, [np.inf] * 3, ([-np.inf] * 3, [np.inf] * 3), id="open"),
        pytest.param([[2, 1]], [6], [0, 0], [np.inf, np.inf], ([0, 0], [3, 6]), id="coefficient 2"),
        pytest.param([[1, 1]], [0], [0, 0], [np.inf, np.inf], ([0, 0], [0, 0]), id="nothing left"),
    ],
)
def test_propagation_narrows_bounds(matrix, rhs, lower, upper, expected):
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    assert propagate(*parts(matrix), np.array(rhs, dtype=float), low, high, np.zeros(len(low)), 0.0, 5)
    assert (low.tolist(), high.tolist()) == expected


@settings(deadline=None, max_examples=65)
@given(seed=st.integers(0, 2**32 - 1))
def test_propagation_keeps_feasible_points(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, (3, 5)).astype(float)
    truth = rng.integers(0, 9, 5).astype(float)
    lower = np.where(rng.random(5) < 0.3, -np.inf, truth - rng.integers(0, 4, 5))
    upper = np.where(rng.random(5) < 0.3, np.inf, truth + rng.integers(0, 4, 5))
    low, high = lower.copy(), upper.copy()
    assert propagate(*parts(matrix), matrix @ truth, low, high, np.zeros(5), 0.0, 20)
    assert np.all(lower <= low)
    assert np.all(low <= truth)
    assert np.all(truth <= high)
    assert np.all(high <= upper)


@pytest.mark.parametrize(
    ("rhs", "slack", "fits"),
    [
        pytest.param([5, 2], 0, True, id="2 + 3, and 2"),
        pytest.param([5, 6], 0, False, id="a part above its total"),
        pytest.param([5, 5 + 1e-9], 0, False, id="a little above counts"),
        pytest.param([5, 5 + 1e-9], 1e-6, True, id="unless it is rounding"),
    ],
)
def test_propagation_finds_contradictions(rhs, slack, fits):
    low, high = np.zeros(2), np.full(2, np.inf)
    matrix = parts([[1, 1], [1, 0]])
    assert propagate(*matrix, np.array(rhs, dtype=float), low, high, np.full(2, slack), 0.0, 50) is fits
    assert np.all(low <= high)


def test_bounds_crossing_by_rounding_stay_close():
    # Three pairwise sums that miss a solution by 1e-9: every round would push the bounds further.
    low, high = np.ones(3), np.ones(3)
    matrix = parts([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert propagate(*matrix, np.array([2, 2, 2 + 1e-9]), low, high, np.full(3, 1e-6), 0.0, 200)
    assert np.abs(low - 1).max() <= 1e-8
    assert np.array_equal(low, high)
