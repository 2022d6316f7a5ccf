"""The growing basis and the two passes, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.gauss import Reach, columns_of

from hitoku.kernels import basis
from hitoku.methods.gauss import CHOICES, eliminate, residues
from hitoku.model import Table


@st.composite
def matrices(draw):
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    entries = st.sampled_from([0, 0, 0, 1, -1, 2, 0.5])
    numbers = draw(st.lists(entries, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return np.array(numbers, dtype=float).reshape(shape)


@given(matrix=matrices(), c=st.sampled_from(CHOICES))
@settings(max_examples=98, deadline=None)
def test_basis_accepts_independent_columns(matrix, c):
    columns, spread = residues(matrix, c)
    n_rows, n = matrix.shape
    grown, space = basis.empty_basis(n_rows, min(n_rows, n), 4)
    size, grown, number, _, moved = basis.fixed_basis(
        columns, spread, np.arange(n), grown, space, np.uint64(c), np.uint64(7)
    )
    reach = Reach()
    taken, rational = [], columns_of(matrix)
    for j in range(n):
        if not reach.holds(rational[j]):
            reach.add(rational[j])
            taken.append(j)
    assert np.flatnonzero(number >= 0).tolist() == taken
    assert size == len(taken)
    assert not space[0].any(), "the room to work in is left clean"
    assert not space[1].any()
    # A basis column takes part in a dependency exactly when the others reach the same without it.
    for j in taken:
        others = Reach([rational[i] for i in range(n) if i != j])
        assert (moved[number[j]] != 0) == others.holds(rational[j])


@given(matrix=matrices(), c=st.sampled_from(CHOICES), data=st.data())
@settings(max_examples=65, deadline=None)
def test_solution_recovers_the_combination(matrix, c, data):
    columns, spread = residues(matrix, c)
    n_rows, n = matrix.shape
    empty, space = basis.empty_basis(n_rows, min(n_rows, n), 4)
    size, grown, number, _, _ = basis.fixed_basis(
        columns, spread, np.arange(n), empty, space, np.uint64(c), np.uint64(7)
    )
    prime = 2**61 - c
    weights = data.draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    vector = np.zeros(n_rows, dtype=np.uint64)
    taken = np.flatnonzero(number >= 0)
    for row in range(n_rows):
        exact = sum(w * Fraction(matrix[row, j]) for w, j in zip(weights, taken, strict=True))
        vector[row] = exact.numerator * pow(exact.denominator, -1, prime) % prime
    found = basis.solve_with_basis(size, grown, vector, np.uint64(c))
    assert [int(x) for x in found[number[taken]]] == [w % prime for w in weights]


@pytest.mark.parametrize("c", CHOICES)
def test_basis_grows_beyond_its_allocation(c):
    table = Table.from_array(np.arange(3**4).reshape(3, 3, 3, 3))
    unsafe = (table.value % 7 == 1) & table.inner
    order = np.flatnonzero(~unsafe)[::-1].copy()
    nothing = np.zeros(table.n_cells, dtype=bool)
    answers = [eliminate(table.relations, order, unsafe, nothing, c=choice) for choice in CHOICES]
    assert answers[0].secondary.tolist() == answers[1].secondary.tolist()
    again = eliminate(table.relations, order[:0], unsafe, answers[0].secondary, c=c)
    assert not again.exposed.any()
    assert again.moves == answers[0].moves
