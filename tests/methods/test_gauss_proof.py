"""Whole-number proofs: they hold without any prime, and there is none where there should be none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import SolverError
from hitoku.methods.gauss import Gauss
from hitoku.methods.gauss.proof import _fraction, proof
from hitoku.model.table import Table
from hitoku.rules.min_frequency import MinFrequency


def check(table, withheld, unsafe, moves):
    """Every move keeps all sums and all published cells; together they change every unsafe cell."""
    changed = set()
    for move in moves:
        whole = [0] * table.n_cells
        for cell, change in move.items():
            assert withheld[cell]
            whole[cell] = change
            changed.add(cell)
        for row in range(table.relations.shape[0]):
            part = slice(table.relations.indptr[row], table.relations.indptr[row + 1])
            cells, signs = table.relations.indices[part], table.relations.data[part]
            assert sum(int(s) * whole[c] for c, s in zip(cells, signs, strict=True)) == 0
    assert set(np.flatnonzero(unsafe).tolist()) <= changed


@given(data=st.data(), shape=st.sampled_from([(4, 4), (3, 3, 3), (2, 3, 2, 2)]))
@settings(max_examples=40, deadline=None)
def test_what_gauss_withholds_can_be_proved(data, shape):
    size = int(np.prod(shape))
    counts = data.draw(st.lists(st.integers(0, 20), min_size=size, max_size=size))
    table = Table.from_array(np.array(counts).reshape(shape))
    need = MinFrequency(5).assess(table)
    withheld = Gauss().protect(table, need).withheld
    check(table, withheld, need.unsafe, proof(table.relations, withheld, need.unsafe))
    secondary = np.flatnonzero(withheld & ~need.unsafe)
    if len(secondary):
        fewer = withheld.copy()
        fewer[secondary[0]] = False
        with pytest.raises(SolverError, match="not moved"):
            proof(table.relations, fewer, need.unsafe)


def test_numbers_that_do_not_fit_one_prime_are_lifted():
    """A chain in which every cell is three times the one before: the last is 3**79 times the first."""
    n = 80
    chain = np.zeros((n - 1, n))
    chain[np.arange(n - 1), np.arange(n - 1)] = 3
    chain[np.arange(n - 1), np.arange(1, n)] = -1
    everything = np.ones(n, dtype=bool)
    (move,) = proof(chain, everything, everything)
    assert [move[i] for i in range(n)] == [move[0] * 3**i for i in range(n)]


def test_a_dense_table_of_four_dimensions():
    rng = np.random.default_rng(5)
    table = Table.from_array(rng.poisson(9.0, size=(6, 6, 6, 6)))
    need = MinFrequency(4).assess(table)
    withheld = Gauss().protect(table, need).withheld
    moves = proof(table.relations, withheld, need.unsafe)
    check(table, withheld, need.unsafe, moves)
    assert np.array_equal(Gauss(prove=True).protect(table, need).withheld, withheld)


def test_relations_with_fractions_are_left_to_the_audit():
    with pytest.raises(SolverError, match="fractions"):
        proof(np.array([[0.5, -1.0]]), np.ones(2, dtype=bool), np.ones(2, dtype=bool))


@pytest.mark.parametrize(("above", "below"), [(0, 1), (5, 1), (-5, 1), (3, 7), (-22, 7)])
def test_a_fraction_is_read_off_its_residue(above, below):
    modulus = 2**61 - 1
    assert _fraction(above * pow(below, -1, modulus) % modulus, modulus, 2**30) == (above, below)
