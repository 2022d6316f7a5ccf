"""Neighbourhoods: whatever part is searched anew, the pattern stays safe, and it only gets cheaper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.methods.optimal.test_tableau import cube, prepared

from hitoku.methods.optimal import (
    Budget,
    LinearSubproblems,
    Neighbourhoods,
    NeighbourhoodSearch,
    Objective,
    Optimal,
    TableauSubproblems,
    attacker_subproblems,
    levels_met,
    pushes_for,
    search,
    subproblems_for,
)
from hitoku.methods.optimal.neighbourhoods import WIDE
from hitoku.model import Need, Table


def is_safe(instance, pattern) -> bool:
    slow = LinearSubproblems(instance, Budget())
    asked = pushes_for(instance, np.arange(len(instance.levels)))
    return bool(levels_met(instance, slow.push(pattern.astype(np.float64), *asked, exact=True)).all())


@pytest.mark.parametrize("kind", ["sides", "width"])
def test_neighbourhood_search_keeps_pattern_safe_and_cheaper(kind):
    instance = prepared(*cube(4, (4, 4, 3), 4, kind=kind))
    goal, budget = Objective(instance.weight, 1.0), Budget()

    def part(some, cells, start, rows):
        assert is_safe(some, start)
        return search(some, goal.over(cells), budget, start, rows=rows, most_nodes=5).pattern

    none = sparse.csr_array((0, len(instance.free)), dtype=np.float64)
    everything = np.ones(len(instance), dtype=bool)
    inside = NeighbourhoodSearch(
        subproblems_for(instance, budget), part, everything, none, instance.weight.copy()
    )
    assert inside.settled
    around = Neighbourhoods(instance)
    values = [goal.value(inside.pattern)]
    for _ in range(12):
        freed = around.draw(inside.pattern & ~instance.forced)
        if inside.improve(around, freed):
            assert is_safe(instance, inside.pattern)
            values.append(goal.value(inside.pattern))
    assert len(values) > 3
    assert values == sorted(values, reverse=True)


def test_unsafe_pattern_is_not_searched():
    instance = prepared(*cube(4))
    none = sparse.csr_array((0, len(instance.free)), dtype=np.float64)
    engine = subproblems_for(instance, Budget())
    inside = NeighbourhoodSearch(engine, None, instance.forced, none, instance.weight)
    assert not inside.settled


def test_search_without_tableau_gives_same_pattern(monkeypatch):
    table, need = cube(7, (3, 3, 3), 2)
    cost = np.maximum(table.value, 1.0)
    fast = Optimal(cost=cost).protect(table, need)
    monkeypatch.setattr(attacker_subproblems, "MAX_ENTRIES", 0)
    assert not isinstance(subproblems_for(prepared(table, need), Budget()), TableauSubproblems)
    slow = Optimal(cost=cost).protect(table, need)
    assert slow.proven
    np.testing.assert_array_equal(slow.withheld, fast.withheld)


def test_wide_neighbourhoods_keep_the_optimum():
    random = np.random.default_rng(5)
    table = Table.from_array(random.integers(1, 40, (14, 14)))
    table = replace(table, upper=np.full(table.n_cells, 1.5 * table.value.max()), fixed=table.value == 0)
    unsafe = table.inner & (table.value < 3)
    instance = prepared(table, Need(unsafe=unsafe, lower=1.0 * unsafe, upper=9.0 * unsafe))
    goal, everything = Objective(instance.weight, 1.0), np.ones(len(instance), dtype=bool)
    plain, widely = (
        search(instance, goal, Budget(), everything, report=lambda *_: None, wide=wide)
        for wide in (False, True)
    )
    assert widely.finished
    assert widely.value == plain.value
    assert is_safe(instance, widely.pattern)


def test_neighbourhood_frees_limited_share_of_pattern():
    instance = prepared(*cube(4, (4, 4, 3), 4))
    around, cells = Neighbourhoods(instance, WIDE), ~instance.forced
    assert around.draw(cells).sum() <= (cells.sum() + 1) // 2 < WIDE.freed
