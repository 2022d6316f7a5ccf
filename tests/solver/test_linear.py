from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from hitoku.errors import ParameterError, SolverError
from hitoku.solver.highs import power_of_two
from hitoku.solver.linear import BASIC, LOWER, UPPER, LinearProgram, SolverStatus, open_program, solve


@pytest.mark.parametrize(
    ("program", "status", "value"),
    [
        pytest.param(
            LinearProgram([1, 2], [[1, 1]], [10]), SolverStatus.OPTIMAL, 10.0, id="cheap column takes all"
        ),
        pytest.param(
            LinearProgram([1, 2], [[1, 1]], [10], upper=[4, np.inf]),
            SolverStatus.OPTIMAL,
            16.0,
            id="upper bound",
        ),
        pytest.param(
            LinearProgram([1, 2], [[1, 1]], [-1]), SolverStatus.INFEASIBLE, None, id="negative total"
        ),
        pytest.param(
            LinearProgram([1, -2], [[1, -1]], [0]), SolverStatus.UNBOUNDED, -np.inf, id="a cycle of gain"
        ),
        pytest.param(
            LinearProgram([1, 1], [[1, 1]], [3], row_upper=[8]),
            SolverStatus.OPTIMAL,
            3.0,
            id="range, low end",
        ),
        pytest.param(
            LinearProgram([-1, -1], [[1, 1]], [3], row_upper=[8]),
            SolverStatus.OPTIMAL,
            -8.0,
            id="range, high end",
        ),
        pytest.param(LinearProgram([1], [[0.0]], [0]), SolverStatus.OPTIMAL, 0.0, id="empty row"),
        pytest.param(
            LinearProgram([1], [[0.0]], [1]), SolverStatus.INFEASIBLE, None, id="empty row that fails"
        ),
        pytest.param(
            LinearProgram([-1], np.zeros((0, 1)), [], upper=7), SolverStatus.OPTIMAL, -7.0, id="no rows"
        ),
        pytest.param(LinearProgram([], np.zeros((1, 0)), [0]), SolverStatus.OPTIMAL, 0.0, id="no columns"),
        pytest.param(
            LinearProgram([], np.zeros((1, 0)), [1]), SolverStatus.INFEASIBLE, None, id="no columns, 0 = 1"
        ),
        pytest.param(
            LinearProgram([0], [[1]], [1], lower=2, upper=1), SolverStatus.INFEASIBLE, None, id="crossed"
        ),
    ],
)
def test_statuses_and_values_match_expected(program, status, value):
    solution = solve(program)
    assert solution.status is status
    if value is not None:
        assert solution.value == value


def test_extreme_scales_are_solved():
    # HiGHS' own tolerance of 1e-7 would swallow the first program and drown in the second.
    for size in (1e-11, 1e12):
        relations = [[1, 1, 0], [0, 1, 1]]
        program = LinearProgram([0, 0, 0], relations, [3 * size, 5 * size], lower=0, upper=4 * size)
        with open_program(program) as warm:
            assert warm.maximise(2).value == pytest.approx(4 * size, rel=1e-12)
            assert warm.minimise(2).value == pytest.approx(2 * size, rel=1e-12)


def test_fractional_vertices_are_additive():
    rng = np.random.default_rng(3)
    relations = (rng.random((12, 40)) < 0.2).astype(float)
    rhs = relations @ rng.integers(0, 1000, 40)
    with open_program(LinearProgram(0, sparse.coo_array(relations), rhs, upper=1000)) as warm:
        x = warm.maximise(0).x
    assert np.abs(relations @ x - rhs).max() <= 1e-9


def test_maximising_reports_duals_of_the_objective_as_given():
    program = LinearProgram(0, [[1, 1, 1]], [10], upper=[4, 5, 6])
    with open_program(program) as warm:
        solution = warm.solve([3, 2, 1], maximise=True)
    assert solution.value == 3 * 4 + 2 * 5 + 1 * 1
    assert solution.duals.tolist() == [1.0]
    assert solution.reduced.tolist() == [2.0, 1.0, 0.0]
    assert solution.basis.columns.tolist() == [UPPER, UPPER, BASIC]
    assert solution.basis.rows.tolist() == [LOWER]


def test_bounds_of_open_program_can_change():
    with open_program(LinearProgram(0, [[1, 1]], [10])) as warm:
        assert warm.maximise(0).value == 10
        warm.bounds([0, 3], [np.inf, 5])
        assert (warm.minimise(0).value, warm.maximise(0).value) == (5, 7)
        warm.bounds([0, 11], [np.inf, 12])
        assert warm.minimise(0).status is SolverStatus.INFEASIBLE
        warm.bounds(0, np.inf)
        assert warm.minimise(0).value == 0


@pytest.mark.parametrize("dual", [False, True])
def test_reset_solver_answers_like_a_new_one(dual):
    rng = np.random.default_rng(4)
    relations = rng.integers(-1, 2, (12, 50)).astype(float)
    # All points cost the same, so where a search ends depends on where it began.
    program = LinearProgram(np.zeros(50), relations, relations @ rng.integers(1, 9, 50), upper=9)
    fresh = solve(program, dual=dual).x
    with open_program(program, dual=dual) as warm:
        warm.solve(rng.random(50), maximise=True)
        assert not np.array_equal(warm.solve(program.cost).x, fresh)
        warm.forget()
        assert np.array_equal(warm.solve(program.cost).x, fresh)


def test_program_without_columns_can_be_reset():
    with open_program(LinearProgram([], np.zeros((1, 0)), [0])) as warm:
        warm.bounds([], [])
        warm.forget()
        assert warm.solve([]).value == 0


def test_objective_after_unbounded_one_is_solved():
    with open_program(
        LinearProgram(0, [[1, -1, 0], [0, 1, 1]], [0, 5], lower=[-np.inf, -np.inf, -3])
    ) as warm:
        assert warm.maximise(0).value == 8
        assert warm.minimise(0).status is SolverStatus.UNBOUNDED
        assert warm.minimise(0).value == -np.inf
        assert warm.maximise(2).value == np.inf
        assert warm.maximise(1).value == 8


def test_reached_limits_are_reported():
    rng = np.random.default_rng(0)
    relations = rng.integers(0, 2, (20, 60)).astype(float)
    program = LinearProgram(-rng.random(60), relations, relations @ rng.integers(1, 9, 60))
    assert solve(program).status is SolverStatus.OPTIMAL
    assert solve(program, work_limit=3).status is SolverStatus.LIMIT
    assert solve(program, time_limit_s=0.0).status is SolverStatus.LIMIT


def test_one_and_two_threads_give_the_same_bits():
    rng = np.random.default_rng(1)
    relations = rng.integers(0, 2, (15, 60)).astype(float)
    program = LinearProgram(rng.random(60), relations, relations @ rng.random(60))
    first, second, third = (solve(program, threads=threads) for threads in (1, 2, 1))
    assert first.x.tobytes() == second.x.tobytes() == third.x.tobytes()
    assert first.duals.tobytes() == second.duals.tobytes()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"cost": [1]}, id="cost too short"),
        pytest.param({"rhs": [1, 2]}, id="one rhs too many"),
        pytest.param({"lower": [np.nan, 0]}, id="NaN bound"),
        pytest.param({"rhs": [np.inf]}, id="infinite equation"),
        pytest.param({"cost": [np.inf, 0]}, id="infinite cost"),
    ],
)
def test_malformed_programs_raise(parts):
    with pytest.raises(ParameterError):
        LinearProgram(**{"cost": 0, "relations": [[1, 1]], "rhs": [1], **parts})


def test_answer_failing_recomputation_raises(monkeypatch):
    with open_program(LinearProgram(0, [[1, 1]], [10])) as warm:
        monkeypatch.setattr(type(warm), "_meets", lambda _self, _x: False)
        with pytest.raises(SolverError, match="no trustworthy answer"):
            warm.minimise(0)


@pytest.mark.parametrize(
    ("size", "power"), [(1.0, 1.0), (3.0, 4.0), (0.3, 0.25), (0.0, 1.0), (np.inf, 1.0), (-8, 8)]
)
def test_scaling_factors_are_powers_of_two(size, power):
    assert power_of_two(size) == power


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-6, 1.0, 1e7]))
def test_warm_solutions_match_scipy(seed, size):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(1, 6), rng.integers(2, 9)
    relations = rng.integers(-1, 2, (n_rows, n_columns)).astype(float)
    truth = rng.integers(0, 9, n_columns) * size
    lower = np.where(rng.random(n_columns) < 0.2, -np.inf, 0.0)
    upper = np.where(rng.random(n_columns) < 0.5, np.inf, truth + rng.integers(0, 5, n_columns) * size)
    program = LinearProgram(0, relations, relations @ truth, lower, upper)
    with open_program(program) as warm:
        for cost in rng.integers(-3, 4, (4, n_columns)).astype(float):
            cold = linprog(cost, A_eq=relations, b_eq=relations @ truth, bounds=np.c_[lower, upper])
            ours = warm.solve(cost)
            if cold.status == 3:
                assert ours.status is SolverStatus.UNBOUNDED
                continue
            assert ours.value == pytest.approx(cold.fun, abs=1e-6 * size)
            # Weak duality, recomputed from our own duals: they prove the value.
            ends = np.where(ours.reduced > 0, lower, upper)
            tight = np.abs(ours.reduced) > 1e-9
            proof = ours.duals @ program.rhs + ours.reduced[tight] @ ends[tight]
            assert proof == pytest.approx(ours.value, abs=1e-6 * size)
            nonbasic = ours.basis.columns != BASIC
            at = np.where(ours.basis.columns == UPPER, upper, lower)
            held = nonbasic & np.isfinite(at)
            assert np.array_equal(ours.x[held], at[held])


def test_repr_omits_values():
    solution = solve(LinearProgram([1, 1], [[1, 1]], [4711]))
    assert solution.optimal
    assert repr(solution) == "Solution(optimal)"
