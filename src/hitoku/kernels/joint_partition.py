"""The joint partition of two partitions of the same units: its cells, and which of them are known closely.

A joint cell is an edge of a bipartite graph, between a cell of the first partition (a row) and a cell of the
second (a column); whoever is outside of a partition is at node 0, the ground, which is row and column at
once. Published are the sums of rows and of columns. An edge has unlimited capacity from row to column and its
size as capacity back, so the largest size of a joint cell is its own plus a maximum flow from its column to
its row through other edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]


@compiled
def cross_tabulate(first: Codes, second: Codes, counts: Integers) -> None:
    """Count pairs of codes into ``counts``, rows by columns."""
    for unit in range(len(first)):
        counts[first[unit], second[unit]] += 1


@compiled
def count_pairs(
    order: Integers, first: Codes, second: Codes, n_columns: int
) -> tuple[Integers, Integers, Integers]:
    """Count the pairs of codes that occur: row, column and number, row by row.

    Parameters
    ----------
    order
        Units sorted by their code in the first partition.
    first, second
        Codes by unit.
    n_columns
        Codes of the second partition are below it.
    """
    count = np.zeros(n_columns, dtype=np.int64)
    touched = np.empty(n_columns, dtype=np.int64)
    rows, columns, sizes = (
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=np.int64),
        np.empty(1024, dtype=np.int64),
    )
    n, place = 0, 0
    while place < len(order):
        row = first[order[place]]
        n_touched = 0
        while place < len(order) and first[order[place]] == row:
            column = second[order[place]]
            if count[column] == 0:
                touched[n_touched] = column
                n_touched += 1
            count[column] += 1
            place += 1
        if n + n_touched > len(rows):
            more = np.empty(n + n_touched + len(rows), dtype=np.int64)
            rows, columns, sizes = np.append(rows, more), np.append(columns, more), np.append(sizes, more)
        for t in range(n_touched):
            rows[n], columns[n], sizes[n] = row, touched[t], count[touched[t]]
            count[touched[t]] = 0
            n += 1
    return rows[:n].copy(), columns[:n].copy(), sizes[:n].copy()


@compiled
def search_residual(
    tail: Integers, head: Integers, room: Integers, start: Integers, incident: Integers, edge: int,
    came: Integers, queue: Integers,
) -> None:  # fmt: skip
    """Search breadth first for an augmenting path from the column of an edge to its row, without the edge."""
    source, sink = head[edge], tail[edge]
    came[:] = -1
    came[source] = edge
    queue[0] = source
    first, last = 0, 1
    while first < last and came[sink] < 0:
        node = queue[first]
        first += 1
        for place in range(start[node], start[node + 1]):
            e = incident[place]
            forward = tail[e] == node
            if e == edge or not (forward or room[e] > 0):
                continue
            other = head[e] if forward else tail[e]
            if came[other] < 0:
                came[other] = e
                queue[last] = other
                last += 1


@compiled
def send_flow(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, edge: int,
    wanted: int, room: Integers, came: Integers, queue: Integers,
) -> int:  # fmt: skip
    """Send a flow of up to ``wanted`` from the column of an edge to its row, without the edge; return it.

    Edges lead from ``tail`` (row) to ``head`` (column). ``room`` is the residual capacity back along each;
    where less went than wanted, nodes with ``came >= 0`` are the source's side of a minimum cut.
    """
    source, sink = head[edge], tail[edge]
    room[:] = size
    sent = 0
    while sent < wanted:
        search_residual(tail, head, room, start, incident, edge, came, queue)
        if came[sink] < 0:
            break
        amount = wanted - sent
        node = sink
        while node != source:
            e = came[node]
            forward = head[e] == node
            if not forward:
                amount = min(amount, room[e])
            node = tail[e] if forward else head[e]
        node = sink
        while node != source:
            e = came[node]
            forward = head[e] == node
            room[e] += amount if forward else -amount
            node = tail[e] if forward else head[e]
        sent += amount
    return sent


@compiled
def has_room(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, edge: int,
    wanted: int, hub: Integers, marked: Integers,
) -> bool:  # fmt: skip
    """Tell by a quick sufficient test that the flow exists: through the largest other edge of its column.

    Everything may pass from the column to the row of that edge, from there freely to its columns, and from
    those back to the row of the edge in question. Sufficient, not necessary.
    """
    best = hub[head[edge]]
    if best == edge or best < 0 or size[best] < wanted:
        return False
    row, through = tail[edge], tail[best]
    if through == row:
        return False
    for place in range(start[through], start[through + 1]):
        e = incident[place]
        if tail[e] == through:
            marked[head[e]] = edge
    total = 0
    for place in range(start[row], start[row + 1]):
        e = incident[place]
        if e != edge and tail[e] == row and marked[head[e]] == edge:
            total += size[e]
            if total >= wanted:
                return True
    return False


@compiled
def narrow_edges(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, threshold: int
) -> Mask:
    """Edges whose joint cell can hold fewer units than ``threshold``, whatever the unpublished counts are."""
    n_nodes, n_edges = len(start) - 1, len(tail)
    hub = np.full(n_nodes, -1, dtype=np.int64)
    for e in range(n_edges):
        if hub[head[e]] < 0 or size[e] > size[hub[head[e]]]:
            hub[head[e]] = e
    room, marked = np.zeros(n_edges, dtype=np.int64), np.full(n_nodes, -1, dtype=np.int64)
    came, queue = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    found = np.zeros(n_edges, dtype=np.bool_)
    for e in range(n_edges):
        if size[e] < threshold:
            wanted = threshold - size[e]
            if not has_room(tail, head, size, start, incident, e, wanted, hub, marked):
                sent = send_flow(tail, head, size, start, incident, e, wanted, room, came, queue)
                found[e] = sent < wanted
    return found


@compiled
def bridges(tail: Integers, head: Integers, start: Integers, incident: Integers) -> Mask:
    """Bridges of the graph, whose removal disconnects it: the size of such a joint cell is known exactly."""
    n_nodes, n_edges = len(start) - 1, len(tail)
    found = np.zeros(n_edges, dtype=np.bool_)
    when, low = np.full(n_nodes, -1, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    along, at = np.full(n_nodes, -1, dtype=np.int64), start[:-1].copy()
    stack = np.empty(n_nodes, dtype=np.int64)
    clock = 0
    for root in range(n_nodes):
        if when[root] >= 0:
            continue
        when[root] = low[root] = clock
        clock += 1
        stack[0] = root
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if at[node] < start[node + 1]:
                e = incident[at[node]]
                at[node] += 1
                if e == along[node]:
                    continue
                other = head[e] if tail[e] == node else tail[e]
                if when[other] < 0:
                    along[other] = e
                    when[other] = low[other] = clock
                    clock += 1
                    stack[depth] = other
                    depth += 1
                else:
                    low[node] = min(low[node], when[other])
            else:
                depth -= 1
                if depth > 0:
                    parent = stack[depth - 1]
                    low[parent] = min(low[parent], low[node])
                    if low[node] > when[parent]:
                        found[along[node]] = True
    return found


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    codes, one = np.ones(2, dtype=np.int32), np.ones(1, dtype=np.int64)
    cross_tabulate(codes, codes, np.zeros((2, 2), dtype=np.int64))
    count_pairs(np.arange(2), codes, codes, 2)
    start, incident, nodes = np.array([0, 0, 1, 2]), np.zeros(2, dtype=np.int64), np.empty(3, dtype=np.int64)
    narrow_edges(one, 2 * one, one, start, incident, 3)
    bridges(one, 2 * one, start, incident)
    send_flow(one, 2 * one, one, start, incident, 0, 1, one.copy(), nodes, nodes.copy())
