"""Capacity constraints in compiled code against dense arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.capacity import capacity_row, without

from hitoku.kernels.capacity_cuts import capacity_rows, multipliers_of_sides

GRID = 12


def parts_of(matrix, data):
    made = sparse.csr_array(matrix)
    return made.indptr.astype(np.int64), made.indices.astype(np.int64), made.data.astype(data)


@given(seed=st.integers(0, 2**32 - 1))
def test_rows_match_dense_arrays(seed):
    rng = np.random.default_rng(seed)
    n_relations, n, n_pushes = 5, 12, 6
    relations = rng.choice([0, 0, 1, -1], (n_relations, n))
    # The last two cells are peeled: the first of them by a relation that the second is in, too.
    relations[:, -2:] = 0
    relations[0, -2:], relations[1, -1] = [1, rng.choice([0, 1])], -1
    peeled = [(n - 1, 1), (n - 2, 0)]
    multipliers = rng.integers(-GRID, GRID + 1, (n_pushes, n_relations)) * (
        rng.random((n_pushes, n_relations)) < 0.6
    )
    cell, sense = rng.integers(0, n, n_pushes), rng.choice([-1, 1], n_pushes)
    ends = np.array([0, 1, 3, 4, 6])
    amount, rooms = rng.integers(1, 9, 4).astype(float), rng.integers(0, 7, (2, n)).astype(float)
    forced = rng.random(n) < 0.2
    out = tuple(np.array([pair[k] for pair in peeled]) for k in (0, 1))
    ptr, index, data = capacity_rows(
        parts_of(multipliers, np.int64), parts_of(relations, np.float64),
        (*out, np.array([float(relations[row, c]) for c, row in peeled])), (cell, sense), ends, float(GRID),
        0.0, rooms, amount, forced, (1e-9, 1e-6),
    )  # fmt: skip
    y = without(relations, multipliers, GRID, cell, sense, peeled)
    expected = []
    for k, level in enumerate(amount):
        here = slice(ends[k], ends[k + 1])
        row = capacity_row(relations, y[here], GRID, cell[here], sense[here], rooms, level, forced)
        expected += [] if row is None else [row]
    assert len(ptr) - 1 == len(expected)
    for k, row in enumerate(expected):
        made = np.zeros(n)
        made[index[ptr[k] : ptr[k + 1]]] = data[ptr[k] : ptr[k + 1]]
        np.testing.assert_allclose(made, row, atol=1e-7)
        assert np.all(np.diff(index[ptr[k] : ptr[k + 1]]) > 0)


@given(seed=st.integers(0, 2**32 - 1))
def test_side_multipliers_ignore_outside(seed):
    rng = np.random.default_rng(seed)
    sides, sign = rng.random((4, 6)) < 0.5, rng.choice([-1, 1], 5)
    ptr, index, data = multipliers_of_sides(sides, sign)
    for k, side in enumerate(sides):
        dense = np.zeros(5)
        dense[index[ptr[k] : ptr[k + 1]]] = data[ptr[k] : ptr[k + 1]]
        np.testing.assert_array_equal(dense, sign * (side[:-1].astype(int) - int(side[-1])))
