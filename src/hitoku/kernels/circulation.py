"""Many cells of a network pushed at once: one flow after the other, and who has arrived stays there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled
from hitoku.kernels.flow import Graph, graph_of, send

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
    """Bring arcs to a goal, above or below, each in turn; those that have one already stay beyond it.

    ``x`` balances every node and keeps doing so; ``lower`` and ``upper`` are drawn in at arcs that have
    reached a goal. A goal that is NaN is not asked for. All numbers are whole, so that sums are exact. No arc
    is begun once more than ``limit`` nodes and arcs were looked at; returns how many were.
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
    """Compile on the smallest input there is."""
    graph = graph_of(np.array([0, 0]), np.array([1, 1]), 2)
    ends = np.full(2, -1.0), np.ones(2)
    push_together(graph, np.zeros(2), *ends, np.full(2, np.nan), np.ones(2), np.arange(2), np.inf)
