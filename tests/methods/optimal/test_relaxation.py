"""The relaxation: what follows from its rows, and halves in networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.methods.optimal.test_tableau import cube, prepared
from tests.oracles.suppression import least_cost

from hitoku.methods.optimal import (
    Budget,
    Instance,
    Objective,
    Optimal,
    ProtectionLevels,
    Relaxation,
    row_pool,
    star_cuts,
)
from hitoku.model import Need, Table
from hitoku.solver.solution import SolverStatus


def relaxation_over(n: int, rows) -> Relaxation:
    """Free cells 1 to n beside an unsafe one; rows over them."""
    one = np.ones(n + 1)
    instance = Instance(
        cells=np.arange(n + 1), relations=sparse.csr_array(one[None, :]), up=one, down=one,
        forced=np.arange(n + 1) == 0, weight=one, tie=np.zeros(n + 1, dtype=np.int64),
        levels=ProtectionLevels(np.array([0]), np.array([1], dtype=np.int8), np.ones(1)),
    )  # fmt: skip
    relaxation = Relaxation(instance, Objective(one, 1.0), Budget())
    relaxation.add([(columns + 1, c) for columns, c in rows])
    return relaxation


def test_dropped_pool_row_is_not_added(monkeypatch):
    rows = [(np.array([k, k + 1]), np.ones(2)) for k in range(9)]
    relaxation = relaxation_over(10, rows)
    before = relaxation.master.n_rows
    # Known by their numbers, when a new row makes the pool forget all that was of little use.
    known = list(range(9))
    monkeypatch.setattr(row_pool, "MAX_ENTRIES", 4)
    relaxation.add([*known, (np.array([1, 5, 8]), np.ones(3))])
    added = relaxation.master.rows[before:].toarray()
    assert 0 < len(added) < 10
    assert all(row.sum() >= 1 for row in added)


def test_sufficient_bound_ends_the_linear_program_validly():
    instance = prepared(*cube(7, (4, 4, 3), 4))
    goal, rows = Objective(instance.weight, 1.0), star_cuts(instance)
    _, optimum = Relaxation(instance, goal, Budget(), rows).solve()
    steps = []
    for enough in (0.3 * optimum, 0.7 * optimum, np.inf):
        relaxation = Relaxation(instance, goal, Budget(), rows)
        relaxed, bound = relaxation.solve(enough)
        steps.append(relaxation.master.steps)
        assert min(enough, optimum) - 1e-6 <= bound <= optimum + 1e-6
        assert (relaxed.status is SolverStatus.OPTIMAL) == (enough == np.inf)
    assert steps[0] < steps[2]


def test_node_solves_attacker_problems_without_pool_rows(monkeypatch):
    instance = prepared(*cube(7, (4, 4, 3), 4))
    relaxation = Relaxation(instance, Objective(instance.weight, 1.0), Budget())
    asked, push = [], relaxation.engine.separate
    told = lambda x, *, exact: asked.append(exact) or push(x, exact=exact)  # noqa: E731
    monkeypatch.setattr(relaxation.engine, "separate", told)
    nothing, half = np.zeros(len(relaxation.free)), np.full(len(relaxation.free), 1e-3)
    rows, _ = relaxation.separate(half, whole=False)
    assert rows
    assert asked == [False]
    # The same point again: the pool has rows for it.
    relaxation.separate(half, whole=False)
    assert asked == [False]
    # Everything withheld: no row is violated, and after that nobody is asked twice in this node.
    everything = np.ones(len(relaxation.free)) - 1e-9
    for _ in range(2):
        assert not relaxation.separate(everything, whole=False)[0]
    assert asked == [False, False]
    # A whole point is judged in any case, and so is any point in the next node.
    assert not relaxation.separate(nothing, whole=True)[1]
    assert asked == [False, False, True]
    relaxation.begin_node()
    relaxation.separate(everything, whole=False)
    assert asked == [False, False, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_flat_table_cost_matches_integer_program(seed):
    rng = np.random.default_rng(seed)
    table = Table.from_array(np.rint(np.exp(rng.normal(3.0, 1.2, (9, 9)))) + 1)
    inner = np.flatnonzero(table.inner)
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[inner[np.argsort(table.value[inner], kind="stable")][10:40:6]] = True
    level = np.where(unsafe, np.ceil(0.3 * table.value), 0.0)
    table = replace(table, upper=1.5 * np.full(table.n_cells, table.value.max()))
    need = Need(unsafe=unsafe, lower=level, upper=level)
    protection = Optimal(cost="value").protect(table, need)
    assert protection.proven
    assert protection.canonical
    assert protection.cost == pytest.approx(least_cost(table, need, table.value))
