"""Capacity constraints from dual multipliers, row by row, and the multipliers of minimum cuts.

Multipliers are integer multiples of a fraction, so their sums over integer relations are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@compiled
def add_relation(
    relations: Any, row: int, times: float, g: Floats, seen: Mask, touched: Integers, n: int
) -> int:
    """Add a multiple of a relation to a sum; append newly touched cells and return the number touched."""
    ptr, index, data = relations
    for e in range(ptr[row], ptr[row + 1]):
        j = index[e]
        g[j] += times * data[e]
        if not seen[j]:
            seen[j] = True
            touched[n] = j
            n += 1
    return n


@compiled
def add_push(
    multipliers: Any,
    relations: Any,
    peeled: Any,
    push: int,
    start: Any,
    g: Floats,
    seen: Mask,
    touched: Integers,
) -> int:
    """Add up the relations of a push, and eliminate peeled cells; return the number of cells touched."""
    ptr, index, data = multipliers
    out_cells, out_rows, entry = peeled
    p, own = start
    g[p], seen[p], touched[0] = own, True, p
    n = 1
    for e in range(ptr[push], ptr[push + 1]):
        n = add_relation(relations, index[e], data[e], g, seen, touched, n)
    for t in range(len(out_cells)):
        if g[out_cells[t]] != 0.0:
            times = np.rint(-g[out_cells[t]] / entry[t])
            n = add_relation(relations, out_rows[t], times, g, seen, touched, n)
    return n


@compiled
def lend(
    g: Floats, seen: Mask, touched: Integers, grid: float, nothing: float, slacks: Floats, most: float,
    cut: Floats, used: Integers, n_used: int,
) -> int:  # fmt: skip
    """Add each cell's capacity to a cut, and clear the sum; return the number of cells of the cut."""
    for j in touched:
        rate = g[j] / grid
        g[j], seen[j] = 0.0, False
        slack = slacks[0, j] if rate > 0 else slacks[1, j]
        if rate == 0.0 or abs(rate) < nothing or slack <= 0.0:
            continue
        if cut[j] == 0.0:
            used[n_used] = j
            n_used += 1
        cut[j] += min(slack * abs(rate), most)
    return n_used


@compiled
def capacity_rows(
    multipliers: Any, relations: Any, peeled: Any, pushes: Any, group: Integers, grid: float, nothing: float,
    slacks: Floats, amount: Floats, forced: Mask, bounds: Any,
) -> Any:  # fmt: skip
    """Return rows ``coefficients @ x >= 1`` over the free cells as CSR parts, one for each group of pushes.

    Parameters
    ----------
    multipliers, relations
        CSR arrays: pushes by relations, in multiples of ``1 / grid``, and relations by cells.
    peeled
        Cells to eliminate, each with the relation that eliminates it and its entry there, in order of
        elimination.
    pushes
        Cell and direction (1 or -1) of every push.
    group
        Start of each group of pushes whose constraints are added up.
    nothing
        Sums below this are rounding; zero if relations are integer.
    slacks
        Slack of each cell, up and down.
    amount
        Required distance of every group.
    forced
        Cells that must be suppressed: their capacity is subtracted from the right-hand side.
    bounds
        Least right-hand side, as a share of the amount, and least coefficient.
    """
    cell, sense = pushes
    least_left, least = bounds
    n_cells = slacks.shape[1]
    g, seen, cut = np.zeros(n_cells), np.zeros(n_cells, dtype=np.bool_), np.zeros(n_cells)
    touched, used = np.empty(n_cells, dtype=np.int64), np.empty(n_cells, dtype=np.int64)
    ptr = np.zeros(len(amount) + 1, dtype=np.int64)
    capacity = 4096
    index, data = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    n_rows = 0
    for k in range(len(amount)):
        n_used, most = 0, amount[k]
        for push in range(group[k], group[k + 1]):
            start = cell[push], sense[push] * grid
            n = add_push(multipliers, relations, peeled, push, start, g, seen, touched)
            n_used = lend(g, seen, touched[:n], grid, nothing, slacks, most, cut, used, n_used)
        cells, filled, end = np.sort(used[:n_used]), 0.0, ptr[n_rows]
        for j in cells:
            cut[j] = min(cut[j], most)
            filled += cut[j] if forced[j] else 0.0
        says = most - filled > least_left * most
        if end + n_used > capacity:
            capacity = 2 * (end + n_used)
            index = np.append(index[:end], np.empty(capacity - end, dtype=np.int64))
            data = np.append(data[:end], np.empty(capacity - end))
        for j in cells:
            if says and not forced[j]:
                index[end], data[end] = j, max(min(cut[j] / (most - filled), 1.0), least)
                end += 1
            cut[j] = 0.0
        n_rows += says
        ptr[n_rows] = end
    return ptr[: n_rows + 1], index, data


@compiled
def multipliers_of_sides(sides: Mask, sign: Integers) -> Any:
    """Turn sides of cuts into multipliers, as CSR arrays; the last node is the outside and has none.

    If a side contains the outside, the other side is used, which changes all signs.
    """
    n_nodes = len(sign)
    ptr = np.zeros(len(sides) + 1, dtype=np.int64)
    for k in range(len(sides)):
        ptr[k + 1] = ptr[k]
        for node in range(n_nodes):
            ptr[k + 1] += sides[k, node] != sides[k, n_nodes]
    index, data = np.empty(ptr[-1], dtype=np.int64), np.empty(ptr[-1], dtype=np.int64)
    for k in range(len(sides)):
        at, turn = ptr[k], -1 if sides[k, n_nodes] else 1
        if ptr[k + 1] == at:
            continue
        for node in range(n_nodes):
            if sides[k, node] != sides[k, n_nodes]:
                index[at], data[at] = node, turn * sign[node]
                at += 1
    return ptr, index, data


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    one, none, ptr = np.ones(1), np.zeros(1, dtype=np.int64), np.array([0, 1])
    sides, some = np.ones((1, 2), dtype=np.bool_), np.ones(1, dtype=np.bool_)
    multipliers = multipliers_of_sides(sides, none)
    relations, pushes = (ptr, none, one), (none, none + 1)
    peeled = none[:0], none[:0], one[:0]
    capacity_rows(
        multipliers, relations, peeled, pushes, ptr, 1.0, 0.0, np.ones((2, 1)), one, some, (1e-9, 1e-6)
    )
