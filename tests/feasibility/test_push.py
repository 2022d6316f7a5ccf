"""Both push engines against programs of scipy, while bounds change; failures of the solver are errors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from tests.strategies import count_tables

from hitoku.errors import SolverError
from hitoku.feasibility import FlowPush, LinearPush, push_engine
from hitoku.feasibility.push import _point
from hitoku.solver.linear import SolverStatus
from hitoku.solver.solution import CountedWork

# Three pairwise sums: no signs make them a network.
TRIANGLE = sparse.csr_array(np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]))


def farthest(matrix, down, up, cell, *, rising):
    """Return the distance by scipy; infinite if unbounded."""
    cost = np.zeros(matrix.shape[1])
    cost[cell] = -1.0 if rising else 1.0
    ends = [(-low, high if np.isfinite(high) else None) for low, high in zip(down, up, strict=True)]
    found = linprog(cost, A_eq=matrix.toarray(), b_eq=np.zeros(matrix.shape[0]), bounds=ends)
    return np.inf if found.status == 3 else abs(found.fun)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), table=count_tables(max_side=3) | count_tables(max_side=2, dims=3))
def test_distances_match_scipy_while_bounds_change(data, table):
    matrix = sparse.csr_array(table.relations)
    n = table.n_cells
    sizes = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    down, up = (np.array(data.draw(sizes), dtype=float) for _ in range(2))
    up[data.draw(st.lists(st.integers(0, n - 1), max_size=n))] = np.inf
    engine = push_engine(matrix, down, up)
    for _ in range(4):
        cell, rising = data.draw(st.integers(0, n - 1)), data.draw(st.booleans())
        distance, x = engine.far(cell, up=rising, cap=5.0)
        expected = farthest(matrix, down, up, cell, rising=rising)
        assert distance == pytest.approx(expected, abs=1e-6)
        # The deviation shows the distance, or the cap where there is no end.
        assert abs(x[cell]) >= (5.0 if np.isinf(distance) else distance) - 1e-6
        assert np.allclose(matrix @ x, 0, atol=1e-6)
        assert np.all(x >= -down - 1e-6)
        assert np.all(x <= up + 1e-6)
        held = data.draw(st.integers(0, n - 1))
        down[held] = up[held] = 0.0
        engine.bound(held, 0.0, 0.0)


def test_engine_is_chosen_by_structure():
    square = sparse.csr_array(np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]))
    assert isinstance(push_engine(square, np.ones(4), np.ones(4)), FlowPush)
    assert isinstance(push_engine(TRIANGLE, np.ones(3), np.ones(3)), LinearPush)


@pytest.mark.parametrize("signs", [TRIANGLE, sparse.csr_array(np.array([[1.0, 1, 0], [0, -1, 1]]))])
def test_work_units_are_counted(signs):
    work = CountedWork()
    push_engine(signs, np.ones(3), np.ones(3), work).far(0, up=True, cap=1.0)
    assert work.done > 0


def test_joint_push_moves_cells_or_reports_unbounded():
    matrix = sparse.csr_array(np.array([[1.0, 1, -2, 0], [0, 1, 1, 1], [1, 0, 1, -1]]))
    engine = LinearPush(matrix, np.full(4, 3.0), np.full(4, 3.0), CountedWork())
    x = engine.together(np.array([0, 1]), up=True)
    ends = [(-3, 3)] * 4
    best = linprog([-1, -1, 0, 0], A_eq=matrix.toarray(), b_eq=np.zeros(3), bounds=ends)
    assert x[:2].sum() == pytest.approx(-best.fun)
    free = LinearPush(matrix[:1], np.full(4, np.inf), np.full(4, np.inf), CountedWork())
    assert free.together(np.array([0, 1]), up=True) is None


@pytest.mark.parametrize(
    ("status", "x"), [(SolverStatus.OPTIMAL, None), (SolverStatus.INFEASIBLE, np.zeros(1))]
)
def test_answer_without_optimum_raises(status, x):
    with pytest.raises(SolverError, match="has an optimum"):
        _point(SimpleNamespace(status=status, x=x))
