"""A program that grows has the optimum of the program that it has become."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hitoku.solver.linear import GrowingProgram, LinearProgram, solve


@given(seed=st.integers(0, 2**16), n_columns=st.integers(2, 12), n_rows=st.integers(1, 8))
def test_incremental_solution_matches_direct_solution(seed, n_columns, n_rows):
    random = np.random.default_rng(seed)
    rows = random.integers(-1, 2, (n_rows, n_columns)).astype(float)
    cost, upper = random.normal(size=n_columns), random.random(n_columns) * 3
    program, known = GrowingProgram(), 0
    for number, row in enumerate(rows, start=1):
        # Columns arrive with the first row that holds them, or one that comes before them.
        wanted = n_columns if number == n_rows else int(np.max(np.flatnonzero(row), initial=0)) + 1
        if wanted > known:
            program.add_columns(cost[known:wanted], upper[known:wanted])
            known = wanted
        places = np.flatnonzero(row)
        program.add_rows(np.array([0, len(places)]), places, row[places])
        point = program.solve()
        so_far = rows[:number, :known]
        expected = solve(LinearProgram(cost[:known], so_far, np.zeros(number), 0, upper[:known]))
        event(f"moves: {bool(np.any(point > 0))}")
        assert cost[:known] @ point == pytest.approx(expected.value, abs=1e-7)
        assert np.abs(so_far @ point).max() <= 1e-7
        assert np.all((point >= 0) & (point <= upper[:known]))


def test_violating_answers_are_rejected():
    program = GrowingProgram()
    program.add_columns(np.array([-1.0, 0.0]), np.array([4.0, 3.0]))
    program.add_rows(np.array([0, 2]), np.array([0, 1]), np.array([1.0, -1.0]))
    assert program.solve() is not None
    # What the solver has is not what it was given: its answer must not pass for one of the program.
    program._entries[0] = (np.array([0, 0]), np.array([0, 1]), np.array([1.0, -2.0]))
    assert program.solve() is None
