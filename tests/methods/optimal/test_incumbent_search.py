"""A search inside the search finds better patterns and proves nothing."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.methods.optimal.test_neighbourhoods import is_safe
from tests.methods.optimal.test_tableau import cube, prepared
from tests.oracles.suppression import least_cost

from hitoku.methods.optimal import (
    Budget,
    IncumbentSearch,
    Objective,
    Optimal,
    PatternSearch,
    Stopped,
    neighbourhoods,
)


def begun(table, need, budget: Budget) -> tuple[PatternSearch, IncumbentSearch]:
    """A tree after a few rounds at its root, everything withheld."""
    instance = prepared(table, need)
    tree = PatternSearch(
        instance, Objective(instance.weight, 1.0), budget, np.ones(len(instance), dtype=bool)
    )
    relaxed = tree._cutting_planes(3, root=True)
    return tree, IncumbentSearch(tree, relaxed, tree.relaxation.active(relaxed))


@pytest.mark.parametrize("kind", ["sides", "width"])
def test_search_keeps_safety_and_proven_bound(kind, monkeypatch):
    # Beginning anew soon: dearer patterns are searched on, and never handed out.
    monkeypatch.setattr(neighbourhoods, "RESTART_AFTER", 3)
    table, need = cube(4, (4, 4, 3), 4, kind=kind)
    tree, inside = begun(table, need, Budget())
    before = tree.bound, tree.nodes, tree._lower.copy(), tree._upper.copy()
    values, dearer = [tree.value], 0
    for _ in range(25):
        inside.step()
        assert is_safe(tree.instance, tree.best)
        assert tree.value == tree.goal.value(tree.best)
        values.append(tree.value)
        dearer += inside._value > tree.value
        assert is_safe(tree.instance, inside._pattern)
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]
    assert dearer
    assert (tree.bound, tree.nodes) == before[:2]
    np.testing.assert_array_equal(tree._lower, before[2])
    np.testing.assert_array_equal(tree._upper, before[3])
    assert tree.bound <= values[-1]
    if kind == "sides":
        cost = np.maximum(table.value, 1.0)
        paid = cost[need.unsafe].sum() - tree.instance.weight[tree.instance.forced].sum()
        assert values[-1] + paid >= least_cost(table, need, cost)


def test_inner_limit_keeps_best_pattern_and_bound():
    left = [10**9]
    tree, inside = begun(*cube(4, (4, 4, 3), 4), Budget(lambda work: work / left[0]))
    for _ in range(3):
        inside.step()
    best, value, bound = tree.best.copy(), tree.value, tree.bound
    inside._failures = neighbourhoods.RESTART_AFTER
    left[0] = tree.budget.work + 3
    with pytest.raises(Stopped):
        inside.step()
    assert tree.value <= value
    assert tree.value == tree.goal.value(tree.best)
    assert tree.value < value or np.array_equal(tree.best, best)
    assert tree.bound == bound
    assert not tree._inside


def test_search_uses_its_share_of_work():
    tree, inside = begun(*cube(4, (4, 4, 3), 4), Budget())
    assert not inside.catch_up()
    tree.budget.spend(400)
    assert inside.catch_up()
    assert not inside.catch_up()
    work = tree.budget.work - inside._began
    assert neighbourhoods.SHARE * work <= inside._work < work


@pytest.mark.parametrize(("seed", "core"), [(4, 150), (7, 20)])
def test_new_pattern_appears_in_trace_immediately(seed, core, monkeypatch):
    known: list[tuple[int, float]] = []

    def heard(told):
        def telling(self, *given):
            told(self, *given)
            if not self.goal.ties:
                known.append((self.budget.work, self.value))

        return telling

    # With a small core the first search is one over some of the cells.
    monkeypatch.setattr(sys.modules[PatternSearch.__module__], "CORE", core)
    monkeypatch.setattr(PatternSearch, "_update_incumbent", heard(PatternSearch._update_incumbent))
    table, need = cube(seed, (5, 5, 4), 6)
    cost = np.maximum(table.value, 1.0)
    trace = Optimal(cost=cost).protect(table, need).trace
    instance = prepared(table, need)
    paid = cost[need.unsafe].sum() - instance.weight[instance.forced].sum()
    assert len({value for _, value in known}) > 1
    # Nor does a search inside pass on what it proves for itself.
    assert max(bound for _, bound, _ in trace) <= trace[-1][2]
    for work, value in known:
        assert min(best for when, _, best in trace if when <= work) <= value + paid
