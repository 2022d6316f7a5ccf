"""Three-way tables: the tableau attacker against linear programs, costs against another program."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.oracles.suppression import costs_less, least_cost

from hitoku.attacks import Interval
from hitoku.methods.optimal import (
    Budget,
    LinearSubproblems,
    Optimal,
    TableauSubproblems,
    dot_rows,
    levels_met,
    presolve,
    pushes_for,
    subproblems_for,
)
from hitoku.model import Need, Release, Table
from hitoku.testing import covers


def cube(seed: int, shape: tuple[int, ...] = (3, 3, 3), n_unsafe: int = 3, *, kind: str = "sides"):
    """A random table of counts, some cells empty and fixed, some unsafe with levels or a width."""
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(shape) < 0.1, 0, rng.integers(1, 60, shape))
    table = Table.from_array(counts)
    bounds = {"upper": np.full(table.n_cells, 1.5 * table.value.max())} if kind != "open" else {}
    table = replace(table, fixed=table.value == 0, **bounds)
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner & (table.value > 0)), n_unsafe, replace=False)] = True
    level = np.where(unsafe, np.ceil(rng.uniform(0.1, 0.9) * table.value), 0.0)
    if kind == "width":
        return table, Need(unsafe=unsafe, width=level)
    return table, Need(unsafe=unsafe, lower=level, upper=np.ceil(0.7 * level))


def prepared(table: Table, need: Need):
    return presolve(
        table,
        need,
        np.maximum(table.value, 1.0),
        keep=table.fixed,
        withhold=np.zeros(table.n_cells, dtype=bool),
    )


@pytest.mark.parametrize("kind", ["sides", "width", "open"])
def test_tableau_matches_linear_programs(kind):
    short = 0
    for seed in range(6):
        instance = prepared(*cube(seed, (4, 3, 3), kind=kind))
        fast, slow = subproblems_for(instance, Budget()), LinearSubproblems(instance, Budget())
        assert isinstance(fast, TableauSubproblems)
        rng = np.random.default_rng(seed)
        asked = pushes_for(instance, np.arange(len(instance.levels)))
        for share in (0.4, 0.6, 0.8):
            pattern = instance.forced | (rng.random(len(instance)) < share)
            x = pattern.astype(np.float64)
            met = levels_met(instance, slow.push(x, *asked, exact=True))
            pushed = fast.push(x, *asked, exact=True)
            np.testing.assert_array_equal(levels_met(instance, pushed), met)
            rows, again = fast.separate(x, exact=True)
            np.testing.assert_array_equal(again, met)
            for cells, c in rows:
                assert dot_rows(c, x[cells]) < 1
            short += (~met).sum()
    assert short > 10


@pytest.mark.parametrize("kind", ["sides", "width", "open"])
def test_flows_respect_slacks_and_relations(kind):
    instance = prepared(*cube(2, (4, 3, 3), kind=kind))
    engine = subproblems_for(instance, Budget())
    level, sense = pushes_for(instance, np.arange(len(instance.levels)))
    pushed = engine.push(np.ones(len(instance)), level, sense, exact=True, flows=True)
    np.testing.assert_allclose(instance.relations @ pushed.flows.T, 0, atol=1e-6)
    assert np.all(pushed.flows <= instance.up + 1e-6)
    assert np.all(pushed.flows >= -instance.down - 1e-6)
    own = sense * pushed.flows[np.arange(len(level)), instance.levels.cell[level]]
    assert np.all(own >= pushed.reach - 1e-6)


@pytest.mark.parametrize("kind", ["sides", "width"])
def test_fractional_cuts_hold_for_every_safe_pattern(kind):
    # All 4,096 patterns of a table with twelve cells to decide on.
    table, need = cube(1, (2, 2, 3), 2, kind=kind)
    instance = prepared(table, need)
    free = instance.free
    engine, slow = subproblems_for(instance, Budget()), LinearSubproblems(instance, Budget())
    asked = pushes_for(instance, np.arange(len(instance.levels)))
    chosen = free[:9]
    safe = []
    for bits in product([0.0, 1.0], repeat=len(chosen)):
        x = np.ones(len(instance))
        x[chosen] = bits
        if levels_met(instance, slow.push(x, *asked, exact=True)).all():
            safe.append(x)
    assert 1 < len(safe) < 2 ** len(chosen)
    rng = np.random.default_rng(3)
    n_rows = 0
    for _ in range(60):
        x = np.where(instance.forced, 1.0, rng.choice([0, 0, 0.3, 0.5, 1.0], len(instance)))
        rows, _ = engine.separate(x, exact=False)
        n_rows += len(rows)
        for cells, c in rows:
            assert np.min(np.array(safe)[:, cells] @ c) >= 1 - 1e-9
    assert n_rows > 30


def assert_least(table: Table, need: Need) -> None:
    cost = np.maximum(table.value, 1.0)
    protection = Optimal(cost=cost).protect(table, need)
    assert protection.proven
    assert protection.canonical
    assert protection.cost == pytest.approx(least_cost(table, need, cost))
    assert covers(Interval().bounds(Release.of(table, protection)), table, need)
    # Nor does any bound on the way claim more than the least cost.
    assert max(bound for _, bound, _ in protection.trace) <= protection.cost + 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_cost_matches_independent_integer_program(seed):
    assert_least(*cube(seed))


def test_cost_matches_program_without_presolve():
    assert_least(*cube(1070, (4, 4, 3), 4))


SHAPES = [(3, 3, 3), (4, 3, 3), (4, 4, 3)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_more_three_way_costs_match_independent_program(seed):
    assert_least(*cube(seed, SHAPES[seed % 2], 2 + seed % 4))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1008))
def test_cost_is_minimal_in_integer_program(seed):
    """So are all seeds from 1000 to 1199, in ten minutes (bench/RESULTS.md)."""
    table, need = cube(seed, SHAPES[seed % 3], 2 + seed % 4)
    cost = np.maximum(table.value, 1.0)
    protection = Optimal(cost=cost).protect(table, need)
    assert protection.proven
    assert not costs_less(table, need, cost, protection.cost)
    # The program can say yes: the pattern itself costs less than one unit more.
    assert costs_less(table, need, cost, protection.cost + 1)
