"""Pushes through a network against linear programs, and the cuts that stop them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hitoku.kernels.mincut import push_arcs

NODES = 5


@settings(max_examples=39)
@given(data=st.data())
def test_flow_value_matches_program_and_cut(data):
    n = data.draw(st.integers(2, 9))
    ends = data.draw(st.lists(st.permutations(range(NODES)), min_size=n, max_size=n))
    tail, head = (np.array([pair[k] for pair in ends], dtype=np.int64) for k in (0, 1))
    room = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, np.inf]), min_size=n, max_size=n)
    rise, fall = (np.array(data.draw(room)) for _ in range(2))
    arc, up = data.draw(st.integers(0, n - 1)), data.draw(st.booleans())
    wanted = data.draw(st.sampled_from([0.5, 2.0, 7.0]))
    reach, flows = np.zeros(1), np.zeros((1, n))
    near, far = np.zeros((1, NODES), dtype=bool), np.zeros((1, NODES), dtype=bool)
    most = data.draw(st.sampled_from([1.0, np.inf]))
    share = np.array(data.draw(st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=n, max_size=n)))
    asked = (np.array([arc]), np.array([up]), np.array([wanted]), np.array([most]))
    push_arcs(tail, head, NODES, rise, fall, share, *asked, reach, near, far, flows)
    rise, fall = np.minimum(rise, most) * share, np.minimum(fall, most) * share

    balance = np.zeros((NODES, n))
    balance[tail, np.arange(n)] += 1
    balance[head, np.arange(n)] -= 1
    sign = 1.0 if up else -1.0
    bounds = list(zip(-fall, rise, strict=True))
    bounds[arc] = (0, wanted) if up else (-wanted, 0)
    answer = linprog(-sign * np.eye(n)[arc], A_eq=balance, b_eq=np.zeros(NODES), bounds=bounds)
    assert reach[0] == -answer.fun or abs(reach[0] + answer.fun) < 1e-9
    np.testing.assert_allclose(balance @ flows[0], 0, atol=1e-9)
    assert flows[0, arc] == sign * reach[0]
    others = np.arange(n) != arc
    assert np.all(flows[0][others] <= rise[others] + 1e-9)
    assert np.all(flows[0][others] >= -fall[others] - 1e-9)
    for side in (near[0], far[0]):
        if reach[0] == wanted:
            assert not side.any()
            continue
        leaving = others & side[tail] & ~side[head]
        entering = others & side[head] & ~side[tail]
        # What leaves the source's side at most is exactly what went.
        assert rise[leaving].sum() + fall[entering].sum() == reach[0]
        assert side[head[arc] if up else tail[arc]]
        assert not side[tail[arc] if up else head[arc]]
