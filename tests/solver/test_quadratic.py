"""Convex quadratic programs: correct answers, and no wrong one accepted as optimal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables

from hitoku.errors import ParameterError, SolverError
from hitoku.solver import quadratic
from hitoku.solver.quadratic import QuadraticProgram, SolverStatus, dual_bound, solve
from hitoku.solver.solution import CountedWork


@pytest.mark.parametrize(
    ("program", "x", "value"),
    [
        pytest.param(QuadraticProgram(0, [[1, 1]], [10], curvature=1), [5, 5], 50, id="squares: halves"),
        pytest.param(
            QuadraticProgram(0, [[1, 1]], [10], curvature=[1, 4]), [8, 2], 80, id="the dearer gets less"
        ),
        pytest.param(
            QuadraticProgram([4, 0], [[1, 1]], [10], curvature=1), [4, 6], 68, id="squares and a price"
        ),
        pytest.param(QuadraticProgram([1, 2], [[1, 1]], [10], upper=[7, 9]), [7, 3], 13, id="linear"),
        pytest.param(
            QuadraticProgram([1, 1], [[1, -1]], [2], lower=0, row_upper=[3.0]), [2, 0], 2, id="ranges of rows"
        ),
        pytest.param(
            QuadraticProgram([0, 0], np.zeros((1, 2)), [0], curvature=1, lower=[3, -1], upper=[9, 5]),
            [3, 0],
            9,
            id="nothing to share",
        ),
    ],
)
def test_solutions_match_hand_calculation(program, x, value):
    found = solve(program)
    assert found.optimal
    assert found.x == pytest.approx(x, abs=1e-5)
    assert found.value == pytest.approx(value)
    assert found.bound <= found.value * (1 + 1e-12)
    assert found.bound == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("curvature", [0.0, 1.0], ids=["linear", "squares"])
@pytest.mark.parametrize(
    ("relations", "rhs", "lower", "upper"),
    [
        pytest.param([[1, 1]], [10], 0, [3, 4], id="bounds too narrow"),
        pytest.param([[1, 1], [1, 1]], [10, 11], 0, np.inf, id="rows contradict"),
        pytest.param([[1, 1]], [10], [5, 0], [4, 9], id="bounds crossed"),
        pytest.param(np.zeros((1, 0)), [1], 0, 1, id="no columns"),
    ],
)
def test_infeasible_programs_raise(relations, rhs, lower, upper, curvature):
    program = QuadraticProgram(1.0, relations, rhs, lower, upper, curvature=curvature)
    assert solve(program).status is SolverStatus.INFEASIBLE


def test_program_without_columns_is_solved():
    found = solve(QuadraticProgram(1.0, np.zeros((2, 0)), [0, 0]))
    assert found.optimal
    assert found.value == 0


def test_concave_programs_raise():
    with pytest.raises(ParameterError, match="curvature"):
        QuadraticProgram(0, [[1, 1]], [1], curvature=[1, -1])


def spread(size, rng, n=40):
    """A chain of sums whose values run from one to ``size``, first cell pushed: all must follow."""
    value = np.exp(np.linspace(0, np.log(size), n))
    relations = np.zeros((n - 1, n))
    relations[np.arange(n - 1), np.arange(n - 1)] = 1
    relations[np.arange(n - 1), np.arange(1, n)] = -1
    return relations, value, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("size", [1e3, 2e11])
def test_values_of_different_magnitude_are_solved(size):
    # Every deviation of a chain equals the first, so the optimum is known: three units times the weights.
    relations, value, factor = spread(size, np.random.default_rng(3))
    lower = np.full(len(value), -np.inf)
    lower[0] = 3.0
    squares = QuadraticProgram(0, relations, np.zeros(39), lower, np.inf, curvature=factor / value**2)
    assert solve(squares).value == pytest.approx(9 * (factor / value**2).sum(), rel=1e-8)


class Liar:
    """A solver that says optimal, whatever point it has."""

    def __init__(self, highs, shift):
        self._highs, self._shift = highs, shift

    def __getattr__(self, name):
        return getattr(self._highs, name)

    def getSolution(self):  # noqa: N802 - as HiGHS spells it
        told = self._highs.getSolution()
        told.col_value = [v + s for v, s in zip(told.col_value, self._shift, strict=True)]
        return told


@pytest.mark.parametrize(
    "shift",
    [
        pytest.param((0.5, -0.5), id="feasible, but not the best"),
        pytest.param((0.5, 0.5), id="breaks the row"),
    ],
)
@pytest.mark.parametrize("curvature", [0.0, 1.0], ids=["linear", "squares"])
def test_wrong_optimum_of_solver_is_detected(monkeypatch, shift, curvature):
    opened = quadratic.open_quadratic
    monkeypatch.setattr(quadratic, "open_quadratic", lambda *parts: Liar(opened(*parts), shift))
    monkeypatch.setattr(quadratic, "_can_be_polished", lambda _program: False)
    program = QuadraticProgram([1.0, 2.0], [[1, 1]], [10], upper=[8, 8], curvature=curvature)
    with pytest.raises(SolverError, match="no trustworthy answer"):
        solve(program)


def test_imprecise_answer_is_polished():
    # Of two curved columns and a straight one, with x1 = -1 - x3 and x2 = 1 - x3: least at x3 = 1/2.
    program = QuadraticProgram(
        [1, 3, 2],
        [[0, -1, -1], [-1, 0, -1]],
        [-1, 1],
        lower=[-2, 0, 0],
        upper=[-1, 1, 2],
        curvature=[0.5, 0, 0.5],
    )
    found = solve(program)
    assert found.optimal
    assert found.value == pytest.approx(2.25)
    assert found.x == pytest.approx([-1.5, 0.5, 0.5])


@pytest.mark.parametrize("cost", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("lower", [(0, -1), (-1, -1)])
def test_zero_optimum_is_accepted(cost, lower):
    # Both rows together leave nothing but zero.
    program = QuadraticProgram(cost, [[-1, -1], [-1, 0]], [0, 0], lower, [1, 1], curvature=[0.5, 0])
    found = solve(program)
    assert found.x == pytest.approx([0, 0], abs=1e-12)
    assert found.conditions <= quadratic.GRANTED


@settings(max_examples=39)
@given(data=st.data())
def test_any_multipliers_give_a_bound(data):
    numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
    n = data.draw(st.integers(2, 5))
    draw = lambda what, size: np.array(data.draw(st.lists(what, min_size=size, max_size=size)))  # noqa: E731
    relations = draw(st.sampled_from([-1.0, 0.0, 1.0]), 2 * n).reshape(2, n)
    x = draw(numbers, n)
    # No room, or a hundredth at least: a column between two bounds that nearly touch may be refused.
    room = st.floats(0, 2).map(lambda x: round(x, 2))
    lower, upper = x - draw(room, n), x + draw(room, n)
    curvature = draw(st.sampled_from([0.0, 0.5, 1.0]), n)
    program = QuadraticProgram(draw(numbers, n), relations, relations @ x, lower, upper, curvature=curvature)
    value = program.objective(x)
    assert dual_bound(program, draw(numbers, 2), value) <= value + 1e-9
    found = solve(program)
    assert found.optimal
    assert found.value <= value + 1e-6


@settings(max_examples=20)
@given(data=st.data(), table=count_tables(max_side=3, dims=3))
def test_every_order_of_algorithms_finds_the_same_optimum(data, table):
    n = table.n_cells
    rise = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 2.0]), min_size=n, max_size=n)))
    both = np.hstack([table.relations.toarray(), -table.relations.toarray()])
    lower = np.concatenate([rise, np.zeros(n)])
    upper = np.concatenate([np.full(n, np.inf), table.value * (rise == 0)])
    cost = np.tile(1 / np.maximum(table.value, 1), 2)
    program = QuadraticProgram(cost, both, np.zeros(len(both)), lower, upper)
    values = []
    for order in (quadratic.LINEAR, quadratic.TALL):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(quadratic, "_attempts", lambda _program, order=order: order)
            values.append(solve(program).value)
    assert values[0] == pytest.approx(values[1], rel=1e-7, abs=1e-9)


def test_point_and_proof_of_two_runs_combine(monkeypatch):
    monkeypatch.setattr(quadratic, "_can_be_polished", lambda _program: False)
    program = QuadraticProgram(0, [[1, 1]], [10], curvature=1)
    units = quadratic.ColumnUnits.of(program)
    evidence = quadratic._Evidence(program, units, quadratic.Steps(program, CountedWork()))

    def ended(x, dual):
        told = SimpleNamespace(
            value_valid=True,
            dual_valid=True,
            col_value=np.array(x) / units.column,
            row_dual=np.array([dual]) / units.row / units.price,
        )
        return SimpleNamespace(getSolution=lambda: told)

    assert evidence.judged(ended([5.0, 5.0], 3.0)) is None
    assert evidence.judged(ended([4.0, 4.0], 4.0)) is None
    found = evidence.judged(ended([6.0, 4.0], 10.0))
    assert found.x == pytest.approx([5, 5])
    assert found.duals == pytest.approx([10])
