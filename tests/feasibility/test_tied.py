"""Cells that one relation ties to one other: nothing is lost, nothing is added."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog

from hitoku.errors import TableError
from hitoku.feasibility import Problem, stretch_linear, tie_cells
from hitoku.solver.solution import Deadline

TOP = 20.0


def system(rows, point, *, exact=True):
    """Problem that a point fulfils, cells between zero and twenty; rows are cells with coefficients."""
    matrix = np.zeros((len(rows), len(point)))
    for at, row in enumerate(rows):
        for cell, coefficient in row.items():
            matrix[at, cell] = coefficient
    size, n = np.full(len(rows), 100.0), len(point)
    return Problem(sparse.csr_array(matrix), matrix @ point, np.zeros(n), np.full(n, TOP), size, exact=exact)


@st.composite
def systems(draw):
    n = draw(st.integers(3, 7))
    point = np.array(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)), dtype=float)
    coefficients = st.sampled_from([1.0, 1.0, 1.0, -1.0, 2.0])
    pairs = st.dictionaries(st.integers(0, n - 1), coefficients, min_size=2, max_size=2)
    others = st.dictionaries(st.integers(0, n - 1), coefficients, min_size=2, max_size=4)
    rows = draw(st.lists(st.one_of(pairs, others), min_size=1, max_size=6))
    return system(rows, point), point


def ends(equations):
    """The least and largest value of every cell, each by a program of its own."""
    n = equations.n_cells
    low, high = np.empty(n), np.empty(n)
    for cell in range(n):
        cost = np.zeros(n)
        cost[cell] = 1.0
        fixed = {
            "A_eq": equations.matrix.toarray() if equations.matrix.shape[0] else None,
            "b_eq": equations.rhs if equations.matrix.shape[0] else None,
            "bounds": list(zip(equations.lower, equations.upper, strict=True)),
        }
        low[cell], high[cell] = linprog(cost, **fixed).fun, -linprog(-cost, **fixed).fun
    return low, high


@settings(max_examples=60)
@given(systems())
def test_substitution_keeps_true_point_and_intervals(drawn):
    equations, point = drawn
    found = tie_cells(equations)
    assert found is not None
    short = np.full(found.equations.n_cells, np.nan)
    own = (found.sign == 1) & (found.offset == 0)
    short[found.standing[own]] = point[own]
    assert not np.isnan(short).any()
    assert np.array_equal(found.sign * short[found.standing] + found.offset, point)
    assert np.array_equal(found.equations.matrix @ short, found.equations.rhs)
    assert_allclose(found.members(*ends(found.equations)), ends(equations), atol=1e-6)


@settings(max_examples=60)
@given(systems())
def test_stretching_matches_linear_programs(drawn):
    equations, _ = drawn
    implied = equations.lower, equations.upper
    met = stretch_linear(equations, implied, implied, Deadline(None), sums=False)
    assert_allclose((met.low, met.high), ends(equations), atol=1e-6)


@settings(max_examples=40)
@given(systems(), st.data())
def test_goals_of_all_members_are_met(drawn, data):
    equations, _ = drawn
    low, high = ends(equations)
    n = equations.n_cells
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    goals = np.where(asked, np.ceil(low), np.nan), np.where(asked, np.floor(high), np.nan)
    met = stretch_linear(equations, (equations.lower, equations.upper), goals, Deadline(None), sums=True)
    assert np.all(met.low[asked] <= goals[0][asked] + 1e-6)
    assert np.all(met.high[asked] >= goals[1][asked] - 1e-6)
    assert np.all(met.low >= low - 1e-6)
    assert np.all(met.high <= high + 1e-6)


def test_chain_becomes_one_unknown():
    found = tie_cells(system([{0: 1, 1: 1}, {1: 1, 2: -1}, {2: 1, 3: 1}, {0: 1, 3: 1, 4: 1}], np.arange(5.0)))
    assert found is not None
    # 0 + 1 leave 1, 1 and 2 differ by -1, 2 + 3 leave 5: all four hang on one; with it goes the fifth.
    assert len(set(found.standing[:4].tolist())) == 1
    assert found.equations.n_cells == 2
    assert found.equations.matrix.shape[0] == 1


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{0: 1, 1: 2}], id="a multiple"),
        pytest.param([{0: 1, 1: 1, 2: 1}], id="three cells"),
    ],
)
def test_untied_cells_are_unchanged(rows):
    equations = system(rows, np.arange(3.0))
    found = tie_cells(equations)
    assert found is not None
    assert found.equations is equations


def test_noninteger_numbers_are_unchanged():
    assert tie_cells(system([{0: 1, 1: 1}], np.array([0.5, 0.25]), exact=False)) is None


@pytest.mark.parametrize(
    ("rows", "rhs"),
    [
        pytest.param([{0: 1, 1: 1}, {0: 1, 1: 1}], [10, 11], id="a pair twice"),
        pytest.param([{0: 1, 1: 1}, {0: 1, 2: 1, 3: 1}, {1: -1, 2: 1, 3: 1}], [10, 12, 3], id="two others"),
    ],
)
def test_contradictions_are_decided_by_program(rows, rhs):
    made = system(rows, np.zeros(4))
    equations = Problem(
        made.matrix, np.array(rhs, dtype=float), made.lower, made.upper, made.size, exact=True
    )
    assert tie_cells(equations) is None
    with pytest.raises(TableError):
        stretch_linear(
            equations, (made.lower, made.upper), (made.lower, made.upper), Deadline(None), sums=False
        )
