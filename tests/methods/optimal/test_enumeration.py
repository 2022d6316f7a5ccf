"""Tiny parts are listed; a tree says the same about them."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.errors import NeedError
from hitoku.methods.optimal import (
    Budget,
    Cuts,
    Objective,
    PatternSearch,
    cheapest_by_enumeration,
    presolve,
    search,
    small,
    star_cuts,
)
from hitoku.model import Need, Table


def tiny(seed, shape, n_free):
    """A table of which few cells may be withheld."""
    rng = np.random.default_rng(seed)
    while True:
        table = Table.from_array(rng.integers(1, 9, shape))
        nothing = np.zeros(table.n_cells, dtype=bool)
        unsafe, keep = nothing.copy(), nothing.copy()
        unsafe[rng.choice(np.flatnonzero(table.inner), 2, replace=False)] = True
        keep[rng.permutation(np.flatnonzero(~unsafe))[n_free:]] = True
        weight = rng.integers(1, 4, table.n_cells).astype(float)
        need = Need(unsafe=unsafe, width=np.where(unsafe, 2.0, 0.0))
        try:
            instance = presolve(table, need, weight, keep=keep, withhold=nothing)
        except NeedError:
            continue
        if len(instance.free) > 3:
            return instance


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("shape", "n_free"), [((4, 4), 12), ((2, 2, 2), 14)])
@pytest.mark.parametrize("seed", range(6))
def test_enumeration_matches_tree_search(seed, shape, n_free, ties):
    instance = tiny(seed, shape, n_free)
    cost = instance.weight * 50 + np.arange(len(instance)) % 3 if ties else instance.weight
    goal, start = Objective(cost, 1.0, ties=ties), np.ones(len(instance), dtype=bool)
    rows = star_cuts(instance)
    listed = cheapest_by_enumeration(instance, goal, Budget(), start, rows)
    tree = PatternSearch(instance, goal, Budget(), start, rows=rows).run()
    assert listed is not None
    assert listed.finished
    assert listed.value == tree.value == listed.bound
    if ties:
        np.testing.assert_array_equal(listed.pattern, tree.pattern)
    # Whatever costs as little withholds no cell that is called impossible.
    assert not np.any(tree.pattern & ~listed.possible)
    assert all(
        c @ tree.pattern[cells] > 1 - 1e-6 for cells, c in map(listed.rows.row, range(len(listed.rows)))
    )


def test_large_instance_is_not_enumerated(monkeypatch):
    instance = tiny(1, (4, 4), 12)
    goal, start = Objective(instance.weight, 1.0), np.ones(len(instance), dtype=bool)
    expected = search(instance, goal, Budget(), start).value
    for name in ("MAX_ATTACKS", "TINY"):
        with monkeypatch.context() as patch:
            patch.setattr(small, name, 1)
            assert cheapest_by_enumeration(instance, goal, Budget(), start, Cuts.of([])) is None
            assert search(instance, goal, Budget(), start).value == expected


def test_enumeration_limit_keeps_the_starting_pattern():
    instance = tiny(1, (4, 4), 12)
    goal, start = Objective(instance.weight, 1.0), np.ones(len(instance), dtype=bool)
    found = search(instance, goal, Budget(lambda work: float(work > 2)), start)
    assert not found.finished
    assert found.bound <= found.value == goal.value(start)
