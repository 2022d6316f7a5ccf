"""Bounds followed from where something is told are those that all relations together give."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import magnitude_tables

from hitoku.feasibility import Incidence, Propagation


@given(table=magnitude_tables(), seed=st.integers(0, 2**16))
def test_changes_propagate_only_where_needed(table, seed):
    random = np.random.default_rng(seed)
    chains = Propagation(Incidence.of(table.relations), np.full(table.n_cells, 1e-9))
    lower, upper = table.lower.copy(), table.upper.copy()
    chains.tighten(lower, upper)
    before = lower.copy(), upper.copy()
    told = np.flatnonzero(random.random(table.n_cells) < 0.3)
    lower[told] = upper[told] = table.value[told]
    local = lower.copy(), upper.copy()
    learnt = chains.tighten(*local, told)
    assert learnt.tolist() == np.flatnonzero((local[0] != lower) | (local[1] != upper)).tolist()
    chains.tighten(lower, upper)
    np.testing.assert_allclose(local[0], lower, atol=1e-6)
    np.testing.assert_allclose(local[1], upper, atol=1e-6)
    untold = np.setdiff1d(np.arange(table.n_cells), told)
    event(f"learnt more: {bool(np.any(lower[untold] > before[0][untold]))}")
    # What follows is true.
    assert np.all(lower <= table.value + 1e-6)
    assert np.all(upper >= table.value - 1e-6)


def test_propagation_reports_only_changed_bounds():
    """Two sums that share a cell: with both parts of the first, its total, and what is left of the second."""
    relations = sparse.csr_array([[0.0, 1, 1, -1, 0, 0], [0, 0, 0, 1, 1, -1]])
    chains = Propagation(Incidence.of(relations), np.full(6, 1e-9))
    lower, upper = np.zeros(6), np.array([9.0, 9, 9, 18, 9, 20])
    for cell, value in ((1, 2.0), (2, 3.0), (5, 7.0)):
        lower[cell] = upper[cell] = value
    assert chains.tighten(lower, upper, np.array([1, 2, 5])).tolist() == [3, 4]
    assert (lower.tolist(), upper.tolist()) == ([0, 2, 3, 5, 2, 7], [9, 2, 3, 5, 2, 7])
    assert chains.tighten(lower, upper, np.array([1, 2, 5])).tolist() == []
