"""Incidence against brute force: sparse formats, peeling, connected components, signs of networks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hitoku.feasibility import Incidence, parts_of

FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr")


@st.composite
def matrices(draw, max_rows=4, max_cells=6, entries=(-1, 0, 1)):
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, max_cells))
    listed = draw(
        st.lists(st.sampled_from(entries), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    )
    return np.array(listed, dtype=float).reshape(shape)


def dense(lines, n_lines, width):
    begins, places, data = lines
    found = np.zeros((n_lines, width))
    for line in range(n_lines):
        for k in range(begins[line], begins[line + 1]):
            found[line, places[k]] += data[k]
    return found


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, max_examples=30)
@given(matrix=matrices())
def test_every_format_gives_same_incidence(name, matrix):
    """Kernels check no bounds: arrays of columns passed as arrays of rows would be read outside."""
    incidence = Incidence.of(sparse.csr_array(matrix).asformat(name))
    n_rows, n_cells = matrix.shape
    assert (incidence.n_rows, incidence.n_cells) == matrix.shape
    assert np.array_equal(dense(incidence.by_row, n_rows, n_cells), matrix)
    assert np.array_equal(dense(incidence.by_cell, n_cells, n_rows), matrix.T)
    for lines in (incidence.by_row, incidence.by_cell):
        assert [part.dtype for part in lines] == [np.int64, np.int64, np.float64]


@given(matrix=matrices(), data=st.data())
def test_rows_of_and_cells_of_match_the_matrix(matrix, data):
    incidence = Incidence.of(sparse.csr_array(matrix))
    cells = np.array(data.draw(st.lists(st.integers(0, matrix.shape[1] - 1))), dtype=np.int64)
    rows = np.array(data.draw(st.lists(st.integers(0, matrix.shape[0] - 1))), dtype=np.int64)
    assert incidence.rows_of(cells).tolist() == [r for c in cells for r in np.flatnonzero(matrix[:, c])]
    assert incidence.cells_of(rows).tolist() == [c for r in rows for c in np.flatnonzero(matrix[r])]
    assert incidence.degree.tolist() == np.count_nonzero(matrix, axis=0).tolist()


@settings(deadline=None)
@given(matrix=matrices(), data=st.data())
def test_stuck_cells_match_repeated_search(matrix, data):
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=matrix.shape[1], max_size=matrix.shape[1])))
    incidence, left = Incidence.of(sparse.csr_array(matrix)), alive.copy()
    cells, relations = incidence.stuck(alive)
    for cell, relation in zip(cells, relations, strict=True):
        # Each is the last cell of its relation at its turn.
        assert np.flatnonzero((matrix[relation] != 0) & left).tolist() == [cell]
        left[cell] = False
    assert not np.any(np.count_nonzero(matrix[:, left], axis=1) == 1)
    assert np.array_equal(incidence.movable(alive), left & np.any(matrix != 0, axis=0))


def reached_from(matrix, cell):
    cells, before = {cell}, set()
    while cells != before:
        before = cells
        rows = np.flatnonzero((matrix[:, sorted(cells)] != 0).any(axis=1))
        cells = cells | set(np.flatnonzero((matrix[rows] != 0).any(axis=0)).tolist())
    return cells


@settings(deadline=None)
@given(matrix=matrices(max_rows=5, entries=(-1, 0, 0, 1)))
def test_components_match_a_search_from_every_cell(matrix):
    parts = parts_of(sparse.csr_array(matrix))
    for cell in range(matrix.shape[1]):
        assert set(np.flatnonzero(parts.cell == parts.cell[cell]).tolist()) == reached_from(matrix, cell)
        assert np.all(parts.row[matrix[:, cell] != 0] == parts.cell[cell])
    assert set(parts.row.tolist()) | set(parts.cell.tolist()) == set(range(parts.n))


def is_network(matrix):
    """Try all signs of relations: every cell then has at most one entry +1 and one entry -1."""
    return any(
        np.all((signed == 1).sum(axis=0) <= 1) and np.all((signed == -1).sum(axis=0) <= 1)
        for signs in itertools.product((1, -1), repeat=len(matrix))
        for signed in [np.array(signs)[:, None] * matrix]
    ) and bool(np.all(np.isin(matrix, (-1, 0, 1))))


@settings(deadline=None, max_examples=200)
@given(matrix=matrices(max_rows=5, max_cells=5, entries=(-1, 0, 0, 0, 1, 2)))
def test_networks_match_all_assignments_of_signs(matrix):
    parts = parts_of(sparse.csr_array(matrix))
    for number in range(parts.n):
        rows, cells = np.flatnonzero(parts.row == number), np.flatnonzero(parts.cell == number)
        inside = matrix[np.ix_(rows, cells)]
        assert bool(parts.network[number]) == is_network(inside)
        if parts.network[number]:
            signed = parts.sign[rows][:, None] * inside
            assert np.all((signed == 1).sum(axis=0) <= 1)
            assert np.all((signed == -1).sum(axis=0) <= 1)
