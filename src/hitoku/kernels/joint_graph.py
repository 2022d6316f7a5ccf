"""Bounds on joint cells of two partitions: flows, cuts and bridges of their graph.

The sums of rows and of columns are published. An edge has unlimited capacity from row to column and its size
as capacity in reverse, so the largest possible size of a joint cell is its own size plus the maximum flow
from its column to its row through other edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@compiled
def search_residual(
    tail: Integers, head: Integers, residual: Integers, start: Integers, incident: Integers, edge: int,
    came: Integers, queue: Integers,
) -> int:  # fmt: skip
    """Search breadth first for an augmenting path from the column of an edge to its row, without the edge.

    Returns
    -------
    Number of nodes and edge ends visited.
    """
    source, sink = head[edge], tail[edge]
    came[:] = -1
    came[source] = edge
    queue[0] = source
    first, last, work = 0, 1, len(came)
    while first < last and came[sink] < 0:
        node = queue[first]
        first += 1
        work += start[node + 1] - start[node]
        for place in range(start[node], start[node + 1]):
            e = incident[place]
            forward = tail[e] == node
            if e == edge or not (forward or residual[e] > 0):
                continue
            other = head[e] if forward else tail[e]
            if came[other] < 0:
                came[other] = e
                queue[last] = other
                last += 1
    return work


@compiled
def send_flow(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, edge: int,
    wanted: int, residual: Integers, came: Integers, queue: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Send a flow of up to ``wanted`` from the column of an edge to its row, without the edge.

    Edges lead from ``tail`` (row) to ``head`` (column). ``residual`` is the reverse capacity of each; if the
    flow is smaller than ``wanted``, nodes with ``came >= 0`` are the source's side of a minimum cut.

    Returns
    -------
    The flow, and the number of nodes and edges visited.
    """
    source, sink = head[edge], tail[edge]
    residual[:] = size
    sent, work = 0, len(size)
    while sent < wanted:
        work += search_residual(tail, head, residual, start, incident, edge, came, queue)
        if came[sink] < 0:
            break
        amount = wanted - sent
        node = sink
        while node != source:
            e = came[node]
            forward = head[e] == node
            if not forward:
                amount = min(amount, residual[e])
            node = tail[e] if forward else head[e]
        node = sink
        while node != source:
            e = came[node]
            forward = head[e] == node
            residual[e] += amount if forward else -amount
            node = tail[e] if forward else head[e]
        sent += amount
    return sent, work


@compiled
def has_capacity(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, edge: int,
    wanted: int, hub: Integers, marked: Integers,
) -> bool:  # fmt: skip
    """Return whether the flow exists through the largest other edge of its column alone.

    All flow passes from the column to the row of that edge, from there without limit to its columns, and from
    those back to the row of the given edge. The test is sufficient, not necessary.
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
def walk_from(
    tail: Integers, head: Integers, start: Integers, incident: Integers, origin: int, without: int,
    open_to: Mask, own: Mask, queue: Integers,
) -> None:  # fmt: skip
    """Mark in ``own`` the nodes reachable from ``origin`` through open nodes, without one edge."""
    own[:] = False
    own[origin] = True
    queue[0] = origin
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for place in range(start[node], start[node + 1]):
            e = incident[place]
            other = head[e] if tail[e] == node else tail[e]
            if e != without and open_to[other] and not own[other]:
                own[other] = True
                queue[last] = other
                last += 1


@compiled
def take_side(
    tail: Integers, head: Integers, start: Integers, incident: Integers, edge: int, came: Integers,
    own: Mask, queue: Integers,
) -> bool:  # fmt: skip
    """Find the part of the side of a minimum cut without the ground that is connected with the edge.

    ``came`` is the result of :func:`send_flow`; ``own`` becomes the nodes of that part. Returns whether it
    contains the column of the edge, rather than its row.
    """
    by_column = bool(came[0] < 0)
    origin = head[edge] if by_column else tail[edge]
    walk_from(tail, head, start, incident, origin, -1, (came >= 0) == by_column, own, queue)
    return by_column


@compiled
def beyond(
    tail: Integers, head: Integers, start: Integers, incident: Integers, edge: int, own: Mask, queue: Integers
) -> bool:
    """Find the part that a bridge cuts off from the ground; return whether it contains its column."""
    everywhere = np.ones(len(own), dtype=np.bool_)
    for by_column in (True, False):
        origin = head[edge] if by_column else tail[edge]
        walk_from(tail, head, start, incident, origin, edge, everywhere, own, queue)
        if not own[0]:
            return by_column
    return False


@compiled
def listed_in(known: Hashes, wanted: np.uint64) -> bool:
    """Return whether a sorted array contains a number."""
    place = np.searchsorted(known, wanted)
    return bool(place < len(known) and known[place] == wanted)


@compiled
def left_over(own: Mask, hashes: Hashes, n_rows: int, by_column: bool) -> np.uint64:
    """Return the hash of the columns of some nodes without their rows, or of the rows without the columns."""
    rows, columns = np.uint64(0), np.uint64(0)
    for node in range(1, n_rows + 1):
        if own[node]:
            rows += hashes[node]
    for node in range(n_rows + 1, len(own)):
        if own[node]:
            columns += hashes[node]
    return columns - rows if by_column else rows - columns


@compiled
def largest_edges(head: Integers, size: Integers, n_nodes: int) -> Integers:
    """Return the first largest edge of every column; -1 for other nodes."""
    hub = np.full(n_nodes, -1, dtype=np.int64)
    for e in range(len(head)):
        if hub[head[e]] < 0 or size[e] > size[hub[head[e]]]:
            hub[head[e]] = e
    return hub


@compiled
def singled_out(
    tail: Integers, head: Integers, size: Integers, start: Integers, incident: Integers, hashes: Hashes,
    n_rows: int, threshold: int, known: Hashes, limit: float,
) -> tuple[Integers, float, bool]:  # fmt: skip
    """Return edges whose joint cell certainly holds fewer units than ``threshold``.

    Each stands for the group that its minimum cut singles out; every group is returned once, unless its hash
    is in the sorted array ``known``. ``hashes`` are those of the groups at the nodes. No edge is started once
    ``limit`` nodes and edges were visited.

    Returns
    -------
    The edges, the number of nodes and edges visited, and whether the limit was reached.
    """
    n_nodes, n_edges = len(start) - 1, len(tail)
    found = np.empty(n_edges, dtype=np.int64)
    work = 0.0
    if n_edges == 0 or size.min() >= threshold:
        return found[:0], work, False
    hub = largest_edges(head, size, n_nodes)
    residual, marked = np.zeros(n_edges, dtype=np.int64), np.full(n_nodes, -1, dtype=np.int64)
    came, queue = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    own, groups = np.zeros(n_nodes, dtype=np.bool_), np.empty(n_edges, dtype=np.uint64)
    n = 0
    for e in range(n_edges):
        if size[e] >= threshold:
            continue
        if work >= limit:
            return found[:n], work, True
        wanted = threshold - size[e]
        for row in (tail[e], tail[hub[head[e]]]):
            work += start[row + 1] - start[row]
        if has_capacity(tail, head, size, start, incident, e, wanted, hub, marked):
            continue
        sent, looked = send_flow(tail, head, size, start, incident, e, wanted, residual, came, queue)
        work += looked
        if sent >= wanted:
            continue
        work += n_edges + n
        by_column = take_side(tail, head, start, incident, e, came, own, queue)
        group = left_over(own, hashes, n_rows, by_column)
        if not listed_in(known, group) and not (groups[:n] == group).any():
            found[n], groups[n] = e, group
            n += 1
    return found[:n], work, False


@compiled
def remainders(ends: Integers, others: Integers, start: Integers, hashes: Hashes, known: Hashes) -> Integers:
    """Return nodes that contain entire groups of the other partition and more, so that the rest is known.

    Parameters
    ----------
    ends, others
        Both ends of every edge; nodes in ``ends`` are tested.
    start
        Start of the edges at each node.
    hashes, known
        Hashes of the groups at the nodes, and sorted hashes of groups to skip.
    """
    n_nodes = len(start) - 1
    held, left = np.zeros(n_nodes, dtype=np.int64), hashes.copy()
    for e in range(len(ends)):
        whole, part = ends[e], others[e]
        if whole > 0 and part > 0 and start[part + 1] - start[part] == 1:
            held[whole] += 1
            left[whole] -= hashes[part]
    found, n = np.empty(n_nodes, dtype=np.int64), 0
    for node in range(1, n_nodes):
        if 0 < held[node] < start[node + 1] - start[node] and not listed_in(known, left[node]):
            found[n] = node
            n += 1
    return found[:n]


@compiled
def bridges(
    tail: Integers, head: Integers, start: Integers, incident: Integers, hashes: Hashes
) -> tuple[Mask, Hashes]:
    """Return the bridges of the graph, whose joint cells have sizes that are known exactly.

    And the hash of each joint cell, which is the difference of the groups beyond the bridge.
    """
    n_nodes, n_edges = len(start) - 1, len(tail)
    found, group = np.zeros(n_edges, dtype=np.bool_), np.zeros(n_edges, dtype=np.uint64)
    when, low = np.full(n_nodes, -1, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    along, at = np.full(n_nodes, -1, dtype=np.int64), start[:-1].copy()
    stack, rest = np.empty(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.uint64)
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
                # The subtree: columns minus rows for a column node, rows minus columns for a row node.
                rest[node] += hashes[node]
                if depth > 0:
                    parent = stack[depth - 1]
                    low[parent] = min(low[parent], low[node])
                    rest[parent] -= rest[node]
                    if low[node] > when[parent]:
                        found[along[node]] = True
                        group[along[node]] = rest[node]
    return found, group


@compiled
def new_bridges(
    tail: Integers, head: Integers, start: Integers, incident: Integers, hashes: Hashes, known: Hashes
) -> Integers:
    """Return bridges beyond which there is more than one cell, without those whose hash is known."""
    inside = np.zeros(len(tail), dtype=np.bool_)
    for e in range(len(tail)):
        alone = False
        for node in (tail[e], head[e]):
            alone |= node > 0 and start[node + 1] - start[node] == 1
        inside[e] = not alone
    if not inside.any():
        return np.empty(0, dtype=np.int64)
    found, group = bridges(tail, head, start, incident, hashes)
    for e in range(len(tail)):
        inside[e] &= found[e] and not listed_in(known, group[e])
    return np.flatnonzero(inside)


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    one = np.ones(1, dtype=np.int64)
    graph = one, 2 * one, 2 * one, np.array([0, 0, 1, 2]), np.zeros(2, dtype=np.int64)
    tail, head, _, start, incident = graph
    hashes, nodes, own = np.ones(3, dtype=np.uint64), np.empty(3, dtype=np.int64), np.zeros(3, dtype=np.bool_)
    singled_out(*graph, hashes, 1, 3, hashes, np.inf)
    remainders(tail, head, start, hashes, hashes)
    new_bridges(tail, head, start, incident, hashes, hashes)
    send_flow(*graph, 0, 1, one.copy(), nodes, nodes.copy())
    take_side(tail, head, start, incident, 0, nodes, own, nodes.copy())
    beyond(tail, head, start, incident, 0, own, nodes)
