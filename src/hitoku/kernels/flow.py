"""Maximum flow in tables that are networks: every cell is an arc between the two relations it is in.

Arc k runs from ``tail[k]`` to ``head[k]`` and carries ``x[k]`` with ``lower[k] <= x[k] <= upper[k]``; bounds
may be infinite. Given a flow that balances every node, the largest value of an arc follows from the maximum
flow that the rest of the network can send from its head back to its tail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Tail, head, then the arcs at every node as CSR arrays.
Graph = tuple[Integers, Integers, Integers, Integers]
# x, lower, upper, and the least and largest value of every arc in any flow so far.
State = tuple[Floats, Floats, Floats, Floats, Floats]


@compiled
def graph_of(tail: Integers, head: Integers, n_nodes: int) -> Any:
    """Return arcs with the lists of arcs at every node."""
    indptr = np.zeros(n_nodes + 1, dtype=np.int64)
    for k in range(len(tail)):
        indptr[tail[k] + 1] += 1
        indptr[head[k] + 1] += 1
    for node in range(n_nodes):
        indptr[node + 1] += indptr[node]
    place = indptr[:-1].copy()
    arcs = np.empty(2 * len(tail), dtype=np.int64)
    for k in range(len(tail)):
        arcs[place[tail[k]]] = k
        place[tail[k]] += 1
        arcs[place[head[k]]] = k
        place[head[k]] += 1
    return tail, head, indptr, arcs


@compiled
def _levels(
    graph: Graph,
    state: State,
    source: int,
    sink: int,
    own: int,
    tiny: float,
    level: Integers,
    queue: Integers,
) -> bool:
    """Write distances to the sink in residual arcs; return whether the source can reach it.

    The last entry of ``queue``, which no node uses, counts visited nodes and arcs.
    """
    tail, head, indptr, arcs = graph
    x, lower, upper, _, _ = state
    # Clearing a level costs an eighth of visiting an arc.
    queue[-1] += len(level) >> 3
    level[:] = -1
    level[sink] = 0
    queue[0] = sink
    first, last = 0, 1
    while first < last and level[source] < 0:
        node = queue[first]
        first += 1
        queue[-1] += indptr[node + 1] - indptr[node]
        for p in range(indptr[node], indptr[node + 1]):
            k = arcs[p]
            if k == own:
                continue
            if head[k] == node:
                other, capacity = tail[k], upper[k] - x[k]
            else:
                other, capacity = head[k], x[k] - lower[k]
            if level[other] < 0 and capacity > tiny:
                level[other] = level[node] + 1
                queue[last] = other
                last += 1
    return bool(level[source] >= 0)


@compiled
def _step(
    graph: Graph, state: State, node: int, own: int, tiny: float, level: Integers, pointer: Integers
) -> int:
    """Return the next arc from a node towards the sink, as ``2 * arc + forward``; -1 if there is none."""
    tail, head, indptr, arcs = graph
    x, lower, upper, _, _ = state
    while pointer[node] < indptr[node + 1]:
        k = arcs[pointer[node]]
        if k != own:
            if tail[k] == node:
                other, capacity, forward = head[k], upper[k] - x[k], 1
            else:
                other, capacity, forward = tail[k], x[k] - lower[k], 0
            if capacity > tiny and level[other] >= 0 and level[other] == level[node] - 1:
                return int(2 * k + forward)
        pointer[node] += 1
    return -1


@compiled
def _path_capacity(state: State, path: Integers, depth: int, most: float) -> float:
    """Return the capacity of a path."""
    x, lower, upper, _, _ = state
    for d in range(depth):
        k = path[d] >> 1
        most = min(most, upper[k] - x[k] if path[d] & 1 else x[k] - lower[k])
    return most


@compiled
def _push(state: State, path: Integers, depth: int, amount: float) -> int:
    """Send an amount along a path; return the index of the first saturated arc, otherwise zero."""
    x, lower, upper, seen_low, seen_high = state
    back = 0
    for d in range(depth - 1, -1, -1):
        k = path[d] >> 1
        # A saturated arc is set to its bound: x + (upper - x) may round to another number.
        if path[d] & 1:
            full = upper[k] - x[k] <= amount
            x[k] = upper[k] if full else x[k] + amount
            seen_high[k] = max(seen_high[k], x[k])
        else:
            full = x[k] - lower[k] <= amount
            x[k] = lower[k] if full else x[k] - amount
            seen_low[k] = min(seen_low[k], x[k])
        if full:
            back = d
    return back


@compiled
def send(
    graph: Graph,
    state: State,
    ends: tuple[int, int],
    own: int,
    sign: float,
    wanted: float,
    tiny: float,
    scratch: NDArray[np.int64],
) -> float:
    """Send up to ``wanted`` from one end to the other without arc ``own``; infinity if unbounded.

    Dinic's algorithm. Arc ``own`` (-1 for none) is changed by ``sign`` times the flow, so that every node is
    balanced after every path: each intermediate state is a table that fits, and updates the extreme values of
    the arcs of the path. The last entry of the third row of ``scratch`` counts visited nodes and arcs.
    """
    tail, head, indptr, _ = graph
    x, lower, upper, seen_low, seen_high = state
    source, sink = ends
    n_nodes = len(indptr) - 1
    level, pointer, queue, path = scratch[0, :n_nodes], scratch[1], scratch[2], scratch[3]
    sent = 0.0
    while sent < wanted and _levels(graph, state, source, sink, own, tiny, level, queue):
        pointer[:n_nodes] = indptr[:n_nodes]
        node, depth = source, 0
        while sent < wanted:
            if node == sink:
                amount = _path_capacity(state, path, depth, wanted - sent)
                if np.isinf(amount):
                    return np.inf
                queue[-1] += depth
                depth = _push(state, path, depth, amount)
                sent += amount
                if own >= 0:
                    x[own] = min(max(x[own] + sign * amount, lower[own]), upper[own])
                    seen_low[own] = min(seen_low[own], x[own])
                    seen_high[own] = max(seen_high[own], x[own])
                node = tail[path[depth] >> 1] if path[depth] & 1 else head[path[depth] >> 1]
                continue
            move = _step(graph, state, node, own, tiny, level, pointer)
            if move >= 0:
                path[depth] = move
                depth += 1
                node = head[move >> 1] if move & 1 else tail[move >> 1]
                continue
            if depth == 0:
                break
            depth -= 1
            node = tail[path[depth] >> 1] if path[depth] & 1 else head[path[depth] >> 1]
            pointer[node] += 1
    return sent


@compiled
def balance(
    tail: Integers,
    head: Integers,
    x: Floats,
    lower: Floats,
    upper: Floats,
    supply: Floats,
    tiny: float,
) -> Floats:
    """Change ``x`` in place until every node sends its supply; return the remaining imbalance."""
    n_arcs, n_nodes = len(tail), len(supply)
    short = supply.copy()
    for k in range(n_arcs):
        short[tail[k]] -= x[k]
        short[head[k]] += x[k]
    # Two further nodes: a source of what must still flow out, and a sink for what must still flow in.
    all_tail = np.concatenate((tail, np.where(short > 0, n_nodes, np.arange(n_nodes))))
    all_head = np.concatenate((head, np.where(short > 0, np.arange(n_nodes), n_nodes + 1)))
    all_x = np.concatenate((x, np.zeros(n_nodes)))
    all_lower = np.concatenate((lower, np.zeros(n_nodes)))
    all_upper = np.concatenate((upper, np.abs(short)))
    graph = graph_of(all_tail, all_head, n_nodes + 2)
    state = (all_x, all_lower, all_upper, all_x.copy(), all_x.copy())
    scratch = np.zeros((4, n_nodes + 3), dtype=np.int64)
    send(graph, state, (n_nodes, n_nodes + 1), -1, 0.0, np.inf, tiny, scratch)
    x[:] = all_x[:n_arcs]
    return all_upper[n_arcs:] - all_x[n_arcs:]


@compiled
def stretch(
    graph: Graph,
    state: State,
    goal_low: Floats,
    goal_high: Floats,
    first: int,
    last: int,
    tiny: float,
    limit: float,
) -> tuple[int, int]:
    """Push arcs ``first`` to ``last`` down to their low goal and up to their high goal, if possible.

    ``x`` is a balanced flow and remains one. Goals that are NaN are skipped. Results are the least and
    largest values in ``state``; with goals that no flow can exceed they are the exact ends. No arc is started
    once more than ``limit`` nodes and arcs were visited. Returns the first arc that was not pushed, and the
    number visited.
    """
    tail, head, indptr, _ = graph
    x, lower, upper, seen_low, seen_high = state
    scratch = np.zeros((4, len(indptr)), dtype=np.int64)
    for k in range(len(x)):
        seen_low[k] = min(seen_low[k], x[k])
        seen_high[k] = max(seen_high[k], x[k])
    for k in range(first, last):
        if scratch[2, -1] > limit:
            return k, scratch[2, -1]
        if seen_high[k] + tiny < goal_high[k]:
            wanted = min(goal_high[k], upper[k]) - x[k]
            sent = send(graph, state, (head[k], tail[k]), k, 1.0, wanted, tiny, scratch)
            if np.isinf(sent):
                seen_high[k] = np.inf
        if seen_low[k] - tiny > goal_low[k]:
            wanted = x[k] - max(goal_low[k], lower[k])
            sent = send(graph, state, (tail[k], head[k]), k, -1.0, wanted, tiny, scratch)
            if np.isinf(sent):
                seen_low[k] = -np.inf
    return last, scratch[2, -1]


@compiled
def push_together(
    graph: Graph,
    x: Floats,
    lower: Floats,
    upper: Floats,
    low_goal: Floats,
    high_goal: Floats,
    order: Integers,
    limit: float,
) -> int:
    """Push arcs to a goal, above or below, one after the other; arcs that have reached theirs stay there.

    ``x`` balances every node and continues to; ``lower`` and ``upper`` are tightened at arcs that have
    reached a goal. Goals that are NaN are skipped. All numbers are integers, so that sums are exact. No arc
    is started once more than ``limit`` nodes and arcs were visited; returns their number.
    """
    tail, head, indptr, _ = graph
    scratch = np.zeros((4, len(indptr)), dtype=np.int64)
    state = (x, lower, upper, x.copy(), x.copy())
    for k in order:
        if scratch[2, -1] > limit:
            break
        # Comparisons with NaN are false.
        if x[k] < high_goal[k] and not x[k] <= low_goal[k]:
            wanted = min(high_goal[k], upper[k]) - x[k]
            send(graph, state, (head[k], tail[k]), k, 1.0, wanted, 0.0, scratch)
        if x[k] >= high_goal[k]:
            lower[k] = high_goal[k]
            continue
        if x[k] > low_goal[k]:
            wanted = x[k] - max(low_goal[k], lower[k])
            send(graph, state, (tail[k], head[k]), k, -1.0, wanted, 0.0, scratch)
        if x[k] <= low_goal[k]:
            upper[k] = low_goal[k]
    return int(scratch[2, -1])


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    graph = graph_of(np.array([0, 0]), np.array([1, 1]), 2)
    ends = np.full(2, -1.0), np.ones(2)
    push_together(graph, np.zeros(2), *ends, np.full(2, np.nan), np.ones(2), np.arange(2), np.inf)
