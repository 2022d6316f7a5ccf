"""The growing covering problem against linprog; its bounds are true whatever the solver says."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from hitoku.solver import master as master_problem
from hitoku.solver.attacker_problem import AttackerProblem
from hitoku.solver.master import Master
from hitoku.solver.solution import SolverStatus


@settings(max_examples=39)
@pytest.mark.parametrize("sifted", [master_problem.MAX_COLUMNS, 0])
@given(data=st.data())
def test_bounds_are_valid_under_a_step_limit(sifted, data):
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    cost = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=float)
    entry = st.sampled_from([0.0, 0.3, 0.5, 1.0])
    rows = np.array(data.draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=m, max_size=m)))
    upper = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 1.0]), min_size=n, max_size=n)))
    with mock.patch.object(master_problem, "MAX_COLUMNS", sifted):
        master, cold = Master(cost), Master(cost)
    master.fix(np.zeros(n), upper)
    half = m // 2
    for part in (rows[:half], rows[half:]):
        master.add(sparse.csr_array(part), np.ones(len(part)))
        master.solve()
    answer = linprog(cost, A_ub=-rows, b_ub=-np.ones(m), bounds=list(zip(np.zeros(n), upper, strict=True)))
    relaxed = master.solve()
    if answer.status == 2:
        assert relaxed.status is SolverStatus.INFEASIBLE
        assert relaxed.bound == np.inf
        return
    assert relaxed.status is SolverStatus.OPTIMAL
    np.testing.assert_allclose([relaxed.bound, cost @ relaxed.x], answer.fun, atol=1e-7)
    cold.fix(np.zeros(n), upper)
    cold.add(sparse.csr_array(rows), np.ones(m))
    assert cold.solve(steps=1).bound <= answer.fun + 1e-9


def test_sifting_finds_optimum_with_few_columns():
    rng = np.random.default_rng(1)
    n, m = master_problem.MAX_COLUMNS + 500, 30
    cost = np.rint(np.exp(rng.normal(3, 1.5, n))) + 1
    rows = sparse.csr_array((rng.random((m, n)) < 0.1).astype(float))
    master = Master(cost)
    for k in range(0, m, 5):
        master.add(rows[k : k + 5], np.ones(5))
        master.solve()
    lower = np.zeros(n)
    lower[np.argmax(cost)] = 1.0
    master.fix(lower, np.ones(n))
    answer = linprog(cost, A_ub=-rows, b_ub=-np.ones(m), bounds=np.c_[lower, np.ones(n)])
    relaxed = master.solve()
    np.testing.assert_allclose([relaxed.bound, cost @ relaxed.x], answer.fun, rtol=1e-9)
    assert relaxed.reduced.shape == relaxed.x.shape == (n,)


def test_dropped_rows_are_removed():
    master = Master(np.array([2.0, 3.0]))
    master.add(sparse.csr_array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    assert master.solve().bound == 5
    master.keep(np.array([False, True]))
    assert master.solve().bound == 3


def test_multipliers_prove_only_valid_bounds():
    master = Master(np.array([2.0, 3.0]))
    master.add(sparse.csr_array([[1.0, 1.0]]), np.ones(1))
    bounds = [master.proven(np.array([y]))[0] for y in (0.0, 1.0, 2.0, 2.5, 9.0)]
    assert bounds == [0.0, 1.0, 2.0, 2.0, -4.0]


def test_cheapest_point_moving_a_cell_is_found():
    # One relation: what the first part gains, the second or the third loses.
    attacker = AttackerProblem(sparse.csr_array([[1.0, 1.0, 1.0]]))
    low, high = np.array([2.0, -5.0, -5.0]), np.array([2.0, 0.0, 0.0])
    point = attacker.cheapest(np.array([0.0, -1.0, -3.0]), low, high)
    assert point is not None
    np.testing.assert_allclose(point, [2.0, -2.0, 0.0])
    assert attacker.cheapest(np.zeros(3), np.array([2.0, 0, 0]), np.array([2.0, 0, 0])) is None
