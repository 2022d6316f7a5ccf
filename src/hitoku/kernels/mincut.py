"""Attainable ranges of arcs of a network, and the two extreme minimum cuts that limit them.

Every cell is an arc; it may rise by ``rise[k]`` (flow from tail to head) and fall by ``fall[k]`` (flow from
head to tail). Pushing arc p up by some amount means sending that amount from its head back to its tail
through other arcs: a maximum flow by augmenting paths. If that is less than required, the minimum cut gives a
capacity constraint of Fischetti and Salazar.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled
from hitoku.kernels.flow import graph_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@compiled
def search_residual(
    tail: Integers,
    head: Integers,
    starts: Integers,
    arcs: Integers,
    rise: Floats,
    fall: Floats,
    flow: Floats,
    own: int,
    tiny: float,
    begin: int,
    end: int,
    ahead: bool,
    came: Integers,
    queue: Integers,
) -> bool:
    """Search breadth first for residual paths that leave ``begin`` (``ahead``) or enter it.

    ``came[node]`` is -1 for nodes that were not reached, otherwise twice the arc used, plus one if it is used
    from tail to head. Stops at ``end``, if that is a node.
    """
    came[:] = -1
    came[begin] = 2 * len(tail)
    queue[0] = begin
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for place in range(starts[node], starts[node + 1]):
            k = arcs[place]
            if k == own:
                continue
            at_tail = tail[k] == node
            other = head[k] if at_tail else tail[k]
            if came[other] >= 0:
                continue
            forward = at_tail == ahead
            capacity = rise[k] - flow[k] if forward else fall[k] + flow[k]
            if capacity > tiny:
                came[other] = 2 * k + (1 if forward else 0)
                if other == end:
                    return True
                queue[last] = other
                last += 1
    return False


@compiled
def push_arcs(
    tail: Integers,
    head: Integers,
    n_nodes: int,
    rise: Floats,
    fall: Floats,
    share: Floats,
    arc: Integers,
    up: Mask,
    wanted: Floats,
    most: Floats,
    reach: Floats,
    near: Mask,
    far: Mask,
    flows: Floats,
) -> None:
    """Push arcs one after the other, each from the true values, up to the required distance.

    Parameters
    ----------
    share
        Share of each slack that is available, between zero and one, after slacks are clipped at ``most``.
    arc, up, wanted, most
        Arc, direction, required distance and largest slack of every push.
    reach
        Output: the distances reached.
    near, far
        Output: the source's side of the minimum cuts nearest to the source and to the sink. All False if the
        push reached its required distance.
    flows
        Output if it has one row per push: the deviations of all arcs.
    """
    _, _, starts, arcs = graph_of(tail, head, n_nodes)
    came = np.empty(n_nodes, dtype=np.int64)
    queue = np.empty(n_nodes, dtype=np.int64)
    flow, high, low = np.empty(len(tail)), np.empty(len(tail)), np.empty(len(tail))
    for d in range(len(arc)):
        own = arc[d]
        source, sink = (head[own], tail[own]) if up[d] else (tail[own], head[own])
        flow[:] = 0.0
        for k in range(len(tail)):
            high[k], low[k] = min(rise[k], most[d]) * share[k], min(fall[k], most[d]) * share[k]
        sent, goal = 0.0, wanted[d]
        tiny = 1e-11 * goal
        near[d, :] = False
        far[d, :] = False
        while sent < goal - tiny:
            if not search_residual(
                tail, head, starts, arcs, high, low, flow, own, tiny, source, sink, True, came, queue
            ):
                near[d, :] = came >= 0
                search_residual(
                    tail, head, starts, arcs, high, low, flow, own, tiny, sink, -1, False, came, queue
                )
                far[d, :] = came < 0
                break
            amount = goal - sent
            node = sink
            while node != source:
                k, forward = came[node] >> 1, came[node] & 1
                capacity = high[k] - flow[k] if forward else low[k] + flow[k]
                amount = min(amount, capacity)
                node = tail[k] if forward else head[k]
            node = sink
            while node != source:
                k, forward = came[node] >> 1, came[node] & 1
                flow[k] += amount if forward else -amount
                node = tail[k] if forward else head[k]
            sent += amount
        reach[d] = goal if sent >= goal - tiny else sent
        if len(flows) == len(arc):
            flows[d] = flow
            flows[d, own] = reach[d] if up[d] else -reach[d]


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    one, two = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    ones, cut = np.ones(2), np.zeros((1, 2), dtype=np.bool_)
    arc, up = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
    amount = np.ones(1)
    flows, reach = np.zeros((0, 2)), amount.copy()
    push_arcs(one, two, 2, ones, ones, ones, arc, up, amount, amount, reach, cut, cut.copy(), flows)
