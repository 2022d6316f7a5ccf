from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hitoku.kernels.flow import graph_of, push_together, warm_up

ASKED_NOTHING = np.nan


def pushed(arcs, lower, upper, low_goal, high_goal, order=None):
    tail, head = (np.array(side, dtype=np.int64) for side in zip(*arcs, strict=True))
    x, low, high = np.zeros(len(tail)), np.array(lower, dtype=float), np.array(upper, dtype=float)
    goals = np.array(low_goal, dtype=float), np.array(high_goal, dtype=float)
    order = np.arange(len(tail)) if order is None else np.array(order)
    push_together(
        graph_of(tail, head, int(max(tail.max(), head.max())) + 1), x, low, high, *goals, order, np.inf
    )
    return x


NAN = np.nan
FREE = [-9, -9], [9, 9]
THREE = [-9] * 3, [9] * 3


@pytest.mark.parametrize(
    ("arcs", "bounds", "low_goal", "high_goal", "moved"),
    [
        pytest.param([(0, 1)], ([-9], [9]), [NAN], [5], [0], id="a bridge cannot move"),
        pytest.param([(0, 1), (0, 1)], FREE, [NAN, NAN], [5, NAN], [5, -5], id="one up, the other pays"),
        pytest.param([(0, 1), (0, 1)], FREE, [NAN, -3], [5, NAN], [5, -5], id="below a goal is far enough"),
        pytest.param(
            [(0, 1), (0, 1)], FREE, [NAN, NAN], [5, 2], [5, -5], id="who is there is not moved back"
        ),
        pytest.param(
            [(0, 1), (0, 1)], ([-9, -2], [9, 9]), [-4, NAN], [5, NAN], [-4, 4], id="down where up fails"
        ),
        pytest.param(
            [(0, 1), (0, 1)], FREE, [-5, -2], [NAN, NAN], [-5, 5], id="who is down there is not moved back"
        ),
        # The first goes to 5 at the cost of the second, which starts from -5; the third is there to pay.
        pytest.param([(0, 1)] * 3, THREE, [NAN] * 3, [5, 2, NAN], [5, 2, -7], id="who has paid comes back"),
        pytest.param([(0, 1)] * 3, THREE, [-5, -2, NAN], [NAN] * 3, [-5, -2, 7], id="or goes down again"),
        pytest.param(
            [(0, 1)] * 3, THREE, [NAN, -3, NAN], [5, 2, NAN], [5, -5, 0], id="one of two goals is enough"
        ),
        pytest.param(
            [(0, 1), (0, 1), (2, 3), (2, 3)],
            ([-9] * 4, [9] * 4),
            [NAN, NAN, NAN, -4],
            [5, NAN, NAN, NAN],
            [5, -5, 4, -4],
            id="one after the other",
        ),
        pytest.param([(0, 1), (0, 1)], ([-1, -1], [1, 1]), [NAN, NAN], [1, NAN], [1, -1], id="by one step"),
        pytest.param([(0, 1), (0, 1)], ([-1, -1], [1, 1]), [-1, NAN], [NAN, NAN], [-1, 1], id="or down"),
    ],
)
def test_joint_push_moves_cells(arcs, bounds, low_goal, high_goal, moved):
    assert pushed(arcs, *bounds, low_goal, high_goal).tolist() == moved


def test_warm_up_inputs_are_valid():
    warm_up()


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1))
def test_circulation_balances_and_first_cell_moves_maximally(seed):
    random = np.random.default_rng(seed)
    n_nodes, n_arcs = random.integers(2, 6), random.integers(1, 10)
    tail = random.integers(0, n_nodes, n_arcs)
    head = (tail + random.integers(1, n_nodes, n_arcs)) % n_nodes
    lower, upper = -random.integers(0, 6, n_arcs), random.integers(0, 6, n_arcs)
    goals = random.integers(1, 6, (2, n_arcs)).astype(float) * [[-1], [1]]
    goals[random.random((2, n_arcs)) < 0.4] = ASKED_NOTHING
    order = random.permutation(n_arcs)
    x = pushed(list(zip(tail, head, strict=True)), lower, upper, *goals, order)
    out = np.zeros(n_nodes)
    np.add.at(out, tail, x)
    np.subtract.at(out, head, x)
    assert not out.any()
    assert np.all((lower <= x) & (x <= upper))
    first = order[0]
    balance = np.zeros((n_nodes, n_arcs))
    balance[tail, np.arange(n_arcs)] += 1
    balance[head, np.arange(n_arcs)] -= 1
    for sense, goal in ((-1, goals[1, first]), (1, goals[0, first])):
        cost = np.zeros(n_arcs)
        cost[first] = sense
        bounds = list(zip(lower, upper, strict=True))
        most = -linprog(cost, A_eq=balance, b_eq=np.zeros(n_nodes), bounds=bounds).fun
        if abs(goal) <= round(most):
            assert x[first] >= goal if goal > 0 else x[first] <= goal
            break
