"""Guesses of what holds, mended: from rough points to optima known by hand or by construction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hitoku.solver.active_set import Conditions


def conditions(cost, squares, matrix, low, high, least, most):
    floats = [np.array(part, dtype=float) for part in (cost, squares, low, high, least, most)]
    return Conditions(*floats[:2], sparse.csr_array(np.array(matrix, dtype=float)), *floats[2:])


@pytest.mark.parametrize(
    ("program", "y", "duals"),
    [
        pytest.param(
            conditions([0, 0], [2, 2], [[1, 1]], [0, 0], [9, 9], [10], [10]), [5, 5], [10], id="a sum"
        ),
        pytest.param(
            conditions([0, 0], [2, 2], [[1, 1]], [0, 6], [9, 9], [10], [10]), [4, 6], [8], id="a bound"
        ),
        pytest.param(
            conditions([0, 0], [2, 2], [[1, 1]], [1, 2], [9, 9], [2], [9]),
            [1, 2],
            [0],
            id="a row that is free",
        ),
        pytest.param(
            conditions([-9, -9], [2, 2], [[1, 1]], [0, 0], [9, 9], [0], [6]),
            [3, 3],
            [-3],
            id="a row that holds",
        ),
        pytest.param(
            conditions([3, 0], [0, 2], [[1, 1]], [0, 0], [9, 9], [4], [4]), [2.5, 1.5], [3], id="straight"
        ),
        pytest.param(
            conditions([0, 0], [2, 2], [[1, 1]], [3, 0], [3, 9], [10], [10]), [3, 7], [14], id="no room"
        ),
    ],
)
@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (9.0, 9.0, 4.0), (3.0, 6.0, -7.0)])
def test_every_start_reaches_the_known_optimum(program, y, duals, start):
    *_, (settled, multipliers) = program.settle(np.array(start[:2]), np.array(start[2:]))
    assert settled == pytest.approx(y, abs=1e-7)
    assert multipliers == pytest.approx(duals, abs=1e-6)


def test_repeated_rows_are_accepted():
    program = conditions([0, 0], [2, 2], [[1, 1], [2, 2], [1, 1]], [0, 0], [9, 9], [10, 20, 10], [10, 20, 10])
    *_, (settled, multipliers) = program.settle(np.array([1.0, 2.0]), np.zeros(3))
    assert settled == pytest.approx([5, 5])
    assert program.matrix.T @ multipliers == pytest.approx([10, 10])


@settings(max_examples=26)
@given(data=st.data())
def test_perturbed_solution_is_recovered(data):
    # Built backwards: a point, what holds it, how hard; the cost follows from them.
    draw = lambda what, size: np.array(data.draw(st.lists(what, min_size=size, max_size=size)))  # noqa: E731
    n = data.draw(st.integers(2, 8))
    tenths = st.integers(-20, 20).map(lambda k: k / 10)
    matrix = draw(st.sampled_from([-1.0, 0.0, 1.0]), 2 * n).reshape(2, n)
    y, duals, squares = draw(tenths, n), draw(tenths, 2), draw(st.sampled_from([0.5, 1.0, 2.0]), n)
    place = draw(st.sampled_from([-1, 0, 0, 1]), n)
    push = -place * 1.0
    low, high = y - (place >= 0), y + (place <= 0)
    cost = push - squares * y + matrix.T @ duals
    program = conditions(cost, squares, matrix, low, high, matrix @ y, matrix @ y)
    noise = draw(st.integers(-9, 9).map(lambda k: k / 1e4), n)
    *_, (settled, multipliers) = program.settle(y + noise, duals + noise[:2])
    assert settled == pytest.approx(y, abs=1e-6)
    # Multipliers need not be the same ones: bounds push as they can, and nothing else does.
    push = cost + squares * settled - matrix.T @ multipliers
    assert push[place == 0] == pytest.approx(0, abs=1e-6)
    assert np.all(place * push < 1e-6)
