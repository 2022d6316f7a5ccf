from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import ParameterError, SolverError
from hitoku.solver import integer
from hitoku.solver.integer import IntegerProgram, solve
from hitoku.solver.linear import SolverStatus
from hitoku.solver.solution import CountedWork


@settings(deadline=None, max_examples=26)
@given(seed=st.integers(0, 2**32 - 1))
def test_optimum_matches_enumeration(seed):
    rng = np.random.default_rng(seed)
    relations = rng.integers(-2, 3, (2, 4)).astype(float)
    upper = rng.integers(1, 4, 4)
    rhs = relations @ rng.integers(0, upper + 1)
    cost = rng.integers(-5, 6, 4).astype(float)
    solution = solve(IntegerProgram(cost, relations, rhs, 0, upper))
    points = np.array(list(itertools.product(*(range(u + 1) for u in upper))))
    fitting = points[(points @ relations.T == rhs).all(axis=1)]
    assert solution.status is SolverStatus.OPTIMAL
    assert solution.value == (fitting @ cost).min()
    assert solution.bound == solution.value
    assert solution.gap == 0
    assert solution.x.tolist() in fitting.tolist()


@pytest.mark.parametrize(
    ("program", "status", "value"),
    [
        pytest.param(IntegerProgram([1], [[2]], [3]), SolverStatus.INFEASIBLE, None, id="half a unit"),
        pytest.param(
            IntegerProgram([1], [[2]], [3], integer=False), SolverStatus.OPTIMAL, 1.5, id="none is whole"
        ),
        pytest.param(
            IntegerProgram([0, 1], [[2, 1]], [3.5], integer=[True, False]),
            SolverStatus.OPTIMAL,
            1.5,
            id="mixed",
        ),
        pytest.param(
            IntegerProgram([-1, 0], [[1, -1]], [0]), SolverStatus.UNBOUNDED, -np.inf, id="unbounded"
        ),
        pytest.param(
            IntegerProgram([1], [[1]], [1], 3, 2), SolverStatus.INFEASIBLE, None, id="crossed bounds"
        ),
        pytest.param(
            IntegerProgram([-1, -1], [[2, 2]], [0], row_upper=[7]),
            SolverStatus.OPTIMAL,
            -3.0,
            id="range of a row",
        ),
    ],
)
def test_statuses_and_values_match_expected(program, status, value):
    solution = solve(program)
    assert solution.status is status
    if value is not None:
        assert solution.value == value


def knapsack(n=30, seed=5):
    rng = np.random.default_rng(seed)
    weight = rng.integers(20, 90, n).astype(float)
    cost = -weight - rng.integers(0, 9, n)
    return IntegerProgram(cost, weight[None, :], [0], 0, 1, row_upper=[weight.sum() // 2])


def test_thread_count_does_not_change_answers():
    first, second, third = (solve(knapsack(), threads=threads) for threads in (1, 2, 1))
    assert first.x.tobytes() == second.x.tobytes() == third.x.tobytes()


def test_limits_are_reported_and_bound_is_valid():
    program = knapsack(60)
    best = solve(program)
    stopped = solve(program, work_limit=0)
    assert best.status is SolverStatus.OPTIMAL
    assert stopped.status is SolverStatus.LIMIT
    assert stopped.bound <= best.value
    assert solve(program, time_limit_s=0.0).status is SolverStatus.LIMIT


def test_start_does_not_change_the_optimum():
    program = knapsack()
    best = solve(program)
    assert solve(program, start=best.x).value == best.value


def test_mask_of_wrong_length_raises():
    with pytest.raises(ParameterError, match="integer has shape"):
        IntegerProgram([1, 1], [[1, 1]], [1], integer=[True])


def test_fractional_point_is_retried_then_rejected(monkeypatch):
    asked = []

    def engine(options):
        asked.append(options["mip_feasibility_tolerance"])
        return made(options)

    made = integer.engine
    monkeypatch.setattr(integer, "engine", engine)
    monkeypatch.setattr(integer, "_whole", lambda *_: None)
    with pytest.raises(SolverError, match="no trustworthy answer"):
        solve(knapsack())
    assert asked == [1e-6, 1e-9]


def test_rounding_is_a_correction_not_a_decision():
    program = IntegerProgram([1, 1], [[1, 1]], [3])
    scale = integer.Scale.of(program.relations, np.array([3.0]), fixed=program.integer)
    assert integer._whole(np.array([1 + 1e-7, 2 - 1e-7]), program, scale).tolist() == [1, 2]
    assert integer._whole(np.array([1.01, 1.99]), program, scale) is None
    assert integer._whole(np.array([1.0, 1.0]), program, scale) is None
    assert integer._whole(np.array([4.0, -1.0]), program, scale) is None


def test_root_stops_at_work_limit(monkeypatch):
    """Rounds of cuts and heuristics at the root count: without them, one root takes more than the limit."""
    rng = np.random.default_rng(1)
    relations = rng.integers(20, 60, (4, 40)).astype(float)
    program = IntegerProgram(rng.integers(20, 60, 40), relations, relations.sum(axis=1) // 2, 0, 1)
    limit = 2.5 * integer.STEPS_PER_ROUND * (program.relations.nnz + sum(program.relations.shape))
    work = CountedWork(limit)
    assert solve(program, work=work).status is SolverStatus.LIMIT
    assert work.done == limit
    monkeypatch.setattr(integer, "STEPS_PER_ROUND", 0)
    work = CountedWork(limit)
    assert solve(program, work=work).status is SolverStatus.LIMIT
    assert work.done > 1.5 * limit
