"""The least largest move: by hand, and against a linear program written for scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.adjustment import closest_l1, closest_linf
from tests.strategies import count_tables

from hitoku.solver.closest import DeviationProgram, SolverStatus, closest, reciprocal


def test_linf_solution_matches_hand_calculation():
    # The first must rise by 1: a quarter of itself, which nothing undercuts. Below a quarter all others are
    # free, and in L1 it is cheapest to move the total.
    problem = DeviationProgram(
        relations=[[1, 1, -1]], weight=reciprocal([4, 6, 10], "linf"), lower=[1, -6, -10]
    )
    found = closest(problem, "linf")
    assert found.deviation == pytest.approx([1, 0, 1])
    assert found.cost == pytest.approx(1 / 4)
    assert found.bound == pytest.approx(1 / 4)
    # One unit more of level raises the largest move by a quarter.
    assert found.multiplier == pytest.approx([1 / 4, 0, 0])


def test_deviations_are_spread():
    # The total of 100 must rise by 12, twelve percent. No part moves by more when all move by as much.
    value = np.array([20.0, 20, 20, 40, 100])
    problem = DeviationProgram(
        relations=[[1, 1, 1, 1, -1]], weight=reciprocal(value, "linf"), lower=[-20, -20, -20, -40, 12]
    )
    found = closest(problem, "linf")
    assert found.cost == pytest.approx(0.12)
    assert found.deviation == pytest.approx([2.4, 2.4, 2.4, 4.8, 12])


def test_infeasible_bounds_raise():
    problem = DeviationProgram(relations=[[1, 1, -1]], weight=1.0, lower=[1, 0, 0], upper=[9, 9, 0])
    assert closest(problem, "linf").status is SolverStatus.INFEASIBLE


def test_soft_bounds_are_broken_only_if_necessary():
    # Both parts shall rise by 2 and the total by no more than 3: one unit is missing. The second part is ten
    # times as large, so a unit of it is cheaper.
    problem = DeviationProgram(
        relations=[[1, 1, -1]],
        weight=reciprocal([10, 100, 110], "linf"),
        upper=[9, 9, 3],
        soft_lower=[2, 2, -np.inf],
    )
    found = closest(problem, "linf")
    assert found.excess == pytest.approx([0, -1, 0])
    assert found.deviation == pytest.approx([2, 1, 3])
    assert found.paid == pytest.approx(100 * 1 / 100)


def test_cell_with_equal_bounds_counts_as_constant():
    problem = DeviationProgram(
        relations=[[1, 1, -1]], weight=[1.0, 1.0, 1.0], lower=[-9, -9, 4], upper=[9, 9, 4]
    )
    found = closest(problem, "linf")
    assert found.cost == pytest.approx(4)
    # Nothing below 4 costs in this norm, and any split of 4 is as close in L1.
    assert found.deviation[:2].sum() == pytest.approx(4)


@settings(max_examples=26)
@given(data=st.data(), table=count_tables(max_side=4, max_count=60, dims=2))
def test_largest_deviation_is_minimal(data, table):
    marks = data.draw(st.lists(st.integers(0, 3), min_size=table.n_cells, max_size=table.n_cells))
    unsafe = np.array(marks) == 0
    lower = np.where(unsafe, np.ceil(0.2 * table.value) + 1, -table.value)
    upper = np.where(np.array(marks) == 3, np.maximum(lower, 0), 3 * table.value + 9)
    weight = reciprocal(table.value, "linf")
    problem = DeviationProgram(relations=table.relations, weight=weight, lower=lower, upper=upper)
    found = closest(problem, "linf")
    expected = closest_linf(table.relations, weight, lower, upper)
    if expected is None:
        assert found.status is SolverStatus.INFEASIBLE
        return
    assert found.cost == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found.bound <= expected + 1e-6
    assert np.all(found.deviation >= lower - 1e-6)
    assert np.all(found.deviation <= upper + 1e-6)
    assert np.abs(table.relations @ found.deviation).max() < 1e-6
    # Of all tables with that largest move, none is closer in L1.
    room = (expected * (1 + 1e-8) + 1e-12) / weight
    least, _ = closest_l1(table.relations, weight, np.maximum(lower, -room), np.minimum(upper, room))
    assert weight @ np.abs(found.deviation) == pytest.approx(least, rel=1e-5, abs=1e-7)
