"""Whole-number proofs: they hold without any prime, and there is none where there should be none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import SolverError
from hitoku.evidence import audit
from hitoku.evidence.verify import prove
from hitoku.methods.gauss import Gauss, proof
from hitoku.methods.gauss.proof import _fraction
from hitoku.model import Need, Release, Table
from hitoku.rules import MinFrequency


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
@settings(max_examples=26, deadline=None)
def test_gauss_pattern_can_be_proved(data, shape):
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


def test_large_numbers_are_lifted_to_several_primes():
    """A chain in which every cell is three times the one before: the last is 3**79 times the first."""
    n = 80
    chain = np.zeros((n - 1, n))
    chain[np.arange(n - 1), np.arange(n - 1)] = 3
    chain[np.arange(n - 1), np.arange(1, n)] = -1
    everything = np.ones(n, dtype=bool)
    (move,) = proof(chain, everything, everything)
    assert [move[i] for i in range(n)] == [move[0] * 3**i for i in range(n)]


def test_dense_four_way_table_is_proved():
    rng = np.random.default_rng(5)
    table = Table.from_array(rng.poisson(9.0, size=(6, 6, 6, 6)))
    need = MinFrequency(4).assess(table)
    withheld = Gauss().protect(table, need).withheld
    moves = proof(table.relations, withheld, need.unsafe)
    check(table, withheld, need.unsafe, moves)
    assert np.array_equal(Gauss(prove=True).protect(table, need).withheld, withheld)


def test_audit_uses_given_proof_without_solver():
    """Amounts that need not be whole, nothing at zero: one other table shows that no cell is known."""
    # Of three variables: a two-way table is a network, which needs no solver anyway.
    table = Table.from_array(np.random.default_rng(2).uniform(5.0, 50.0, size=(4, 4, 3)).round(1))
    need = Need(unsafe=table.inner & (table.value < 12))
    protection = Gauss(prove=True).protect(table, need)
    assert protection.deviations
    release = Release.of(table, protection)
    alone, helped = (audit(table, need, release, deviations=moves) for moves in ((), protection.deviations))
    assert alone.safe
    assert helped.safe
    assert (alone.summary["programs"] > 0, helped.summary["programs"]) == (True, 0)
    assert helped.summary["witnesses"] == len(protection.deviations) == 1


@given(data=st.data())
@settings(max_examples=35, deadline=None)
def test_audit_is_independent_of_given_deviations(data):
    """Moves may be wrong, or of published cells: they are tried, never trusted."""
    counts = data.draw(st.lists(st.integers(0, 20), min_size=12, max_size=12))
    table = Table.from_array(np.array(counts).reshape(3, 4))
    need = Need(unsafe=(table.value > 0) & (table.value < 5), width=data.draw(st.sampled_from([0, 3])))
    protection = Gauss().protect(table, need)
    entries = st.dictionaries(st.integers(0, table.n_cells - 1), st.integers(-3, 3), min_size=1, max_size=6)
    moves = [*data.draw(st.lists(entries, max_size=3)), *Gauss(prove=True).protect(table, need).deviations]
    release = Release.of(table, protection)
    alone, helped = audit(table, need, release), audit(table, need, release, deviations=moves)
    assert helped.outcomes == alone.outcomes
    if helped.certificate is not None:
        said = "are safe" if need.unsafe.any() else "no cell is listed as unsafe"
        assert said in prove(dict(helped.certificate.content))


def test_fractional_relations_are_left_to_the_audit():
    with pytest.raises(SolverError, match="fractions"):
        proof(np.array([[0.5, -1.0]]), np.ones(2, dtype=bool), np.ones(2, dtype=bool))


@pytest.mark.parametrize(("above", "below"), [(0, 1), (5, 1), (-5, 1), (3, 7), (-22, 7)])
def test_fraction_is_recovered_from_its_residue(above, below):
    modulus = 2**61 - 1
    assert _fraction(above * pow(below, -1, modulus) % modulus, modulus, 2**30) == (above, below)
