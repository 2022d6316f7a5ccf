from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hitoku.kernels.flow import balance, graph_of, stretch


def stretched(tail, head, x, lower, upper, goals=None):
    tail, head = np.array(tail, dtype=np.int64), np.array(head, dtype=np.int64)
    x, lower, upper = (np.array(a, dtype=float) for a in (x, lower, upper))
    n_nodes = int(max(tail.max(), head.max())) + 1
    goal_low, goal_high = (lower, upper) if goals is None else (np.array(g, dtype=float) for g in goals)
    state = (x, lower, upper, x.copy(), x.copy())
    stretch(graph_of(tail, head, n_nodes), state, goal_low, goal_high, 0, len(x), 0.0, np.inf)
    return state[3].tolist(), state[4].tolist(), x.tolist()


@pytest.mark.parametrize(
    ("arcs", "x", "lower", "upper", "low", "high"),
    [
        pytest.param([(0, 1)], [3], [0], [9], [3], [3], id="a bridge cannot move"),
        pytest.param([(0, 1), (0, 1)], [3, 4], [0, 0], [9, 9], [0, 0], [7, 7], id="two parallel arcs"),
        pytest.param([(0, 1), (1, 0)], [3, 4], [0, 0], [9, 9], [0, 1], [8, 9], id="a circle, gap of 1"),
        pytest.param([(0, 1), (1, 0)], [3, 4], [0, 0], [np.inf] * 2, [0, 1], [np.inf] * 2, id="no limit"),
        pytest.param(
            [(0, 1), (1, 2), (0, 2)], [2, 2, 5], [0, 1, 0], [9, 4, 9], [1, 1, 3], [4, 4, 6], id="a triangle"
        ),
        # 0 -> 1 => 2 => 3 -> 5 (=> against an arc) is full after one; 2 -> 4 -> 5 takes the other two
        pytest.param(
            [(5, 0), (0, 1), (2, 1), (3, 2), (3, 5), (2, 4), (4, 5)],
            [0, 0, 3, 3, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0],
            [9, 9, 3, 3, 1, 5, 5],
            [0, 0, 0, 2, 0, 0, 0],
            [3, 3, 3, 3, 1, 3, 3],
            id="back from a dead end over arcs taken backwards",
        ),
    ],
)
def test_stretch_reaches_maximum(arcs, x, lower, upper, low, high):
    tail, head = zip(*arcs, strict=True)
    assert stretched(tail, head, x, lower, upper)[:2] == (low, high)


def test_goal_stops_push_and_nan_sets_none():
    low, high, _ = stretched([0, 0], [1, 1], [3, 4], [0, 0], [9, 9], ([np.nan, np.nan], [5, np.nan]))
    assert (low[0], high[0]) == (3, 5)
    assert (low[1], high[1]) == (2, 4)


def test_balance_equals_unsent_flow():
    x = np.zeros(1)
    left = balance(np.array([0]), np.array([1]), x, np.zeros(1), np.array([3.0]), np.array([5.0, -5.0]), 0.0)
    assert x.tolist() == [3]
    assert left.tolist() == [2, 2]


@settings(deadline=None, max_examples=49)
@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_arc_range_matches_linear_program(seed, whole):
    rng = np.random.default_rng(seed)
    n_nodes, n_arcs = rng.integers(2, 6), rng.integers(1, 10)
    tail = rng.integers(0, n_nodes, n_arcs)
    head = (tail + rng.integers(1, n_nodes, n_arcs)) % n_nodes
    truth = rng.integers(0, 9, n_arcs).astype(float) if whole else 9 * rng.random(n_arcs)
    lower = np.where(rng.random(n_arcs) < 0.2, -np.inf, truth - rng.integers(0, 6, n_arcs))
    upper = np.where(rng.random(n_arcs) < 0.2, np.inf, truth + rng.integers(0, 6, n_arcs))
    matrix = np.zeros((n_nodes, n_arcs))
    matrix[tail, np.arange(n_arcs)] += 1
    matrix[head, np.arange(n_arcs)] -= 1
    tiny = 0.0 if whole else 1e-12
    x = np.clip(0.0, lower, upper)
    left = balance(tail, head, x, lower, upper, matrix @ truth, tiny)
    assert np.abs(left).max() <= 1e-9
    low, high = np.full(n_arcs, np.inf), np.full(n_arcs, -np.inf)
    stretch(
        graph_of(tail, head, n_nodes), (x, lower, upper, low, high), lower, upper, 0, n_arcs, tiny, np.inf
    )
    assert np.abs(matrix @ (x - truth)).max() <= 1e-9
    for k in range(n_arcs):
        for sign, ours in ((1.0, low[k]), (-1.0, high[k])):
            cost = np.zeros(n_arcs)
            cost[k] = sign
            cold = linprog(cost, A_eq=matrix, b_eq=matrix @ truth, bounds=np.c_[lower, upper])
            expected = -sign * np.inf if cold.status == 3 else sign * cold.fun
            assert ours == pytest.approx(expected, abs=1e-6)
