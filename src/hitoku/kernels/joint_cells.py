"""Joint cells of two partitions of the same units, as the edges of a bipartite graph.

A joint cell is an edge between a cell of the first partition (a row) and a cell of the second (a column).
Units outside a partition are at node 0, the ground, which is both row and column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
# Tail, head and size of every edge; then the start and the edges of every node, as CSR arrays.
Graph = tuple[Integers, Integers, Integers, Integers, Integers]


@compiled
def cross_tabulate(first: Codes, second: Codes, counts: Integers) -> None:
    """Count pairs of codes into ``counts``, rows by columns."""
    for unit in range(len(first)):
        counts[first[unit], second[unit]] += 1


@compiled
def divide(block: Codes, codes: Codes, n_blocks: int, n_codes: int) -> tuple[Codes, Integers]:
    """Refine blocks of units by a code; return the new block of each unit, and the first unit of each block.

    Parameters
    ----------
    block, codes
        Block and code of each unit, from 0.
    n_blocks, n_codes
        Number of blocks and codes.
    """
    n = len(block)
    # Units in the order of their blocks.
    start = np.zeros(n_blocks + 1, dtype=np.int64)
    for unit in range(n):
        start[block[unit] + 1] += 1
    for each in range(n_blocks):
        start[each + 1] += start[each]
    order = np.empty(n, dtype=np.int32)
    place = start[:-1].copy()
    for unit in range(n):
        order[place[block[unit]]] = unit
        place[block[unit]] += 1
    finer, first = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
    met, number = np.full(n_codes, -1, dtype=np.int64), np.zeros(n_codes, dtype=np.int32)
    n_finer = 0
    for each in range(n_blocks):
        for position in range(start[each], start[each + 1]):
            unit = order[position]
            code = codes[unit]
            if met[code] != each:
                met[code] = each
                number[code] = n_finer
                first[n_finer] = unit
                n_finer += 1
            finer[unit] = number[code]
    return finer, first[:n_finer].copy()


@compiled
def count_pairs(
    order: Integers, first: Codes, second: Codes, weights: Integers, n_columns: int
) -> tuple[Integers, Integers, Integers]:
    """Return rows, columns and counts of the pairs of codes that occur, row by row.

    Parameters
    ----------
    order
        Units sorted by their code in the first partition.
    first, second
        Codes by unit.
    weights
        Weight of each unit, at least one.
    n_columns
        Number of codes of the second partition.
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
            count[column] += weights[order[place]]
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
def connect(rows: Integers, columns: Integers, size: Integers, n_rows: int, n_columns: int) -> Graph:
    """Return the graph of joint cells: the ground, then a node per row, then a node per column."""
    n_edges, n_nodes = len(rows), 1 + n_rows + n_columns
    tail, head = rows.copy(), columns.copy()
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    for e in range(n_edges):
        if head[e] > 0:
            head[e] += n_rows
        start[tail[e] + 1] += 1
        start[head[e] + 1] += 1
    for node in range(n_nodes):
        start[node + 1] += start[node]
    place, incident = start[:-1].copy(), np.empty(2 * n_edges, dtype=np.int64)
    for ends in (tail, head):
        for e in range(n_edges):
            incident[place[ends[e]]] = e
            place[ends[e]] += 1
    return tail, head, size, start, incident


@compiled
def list_cells(counts: Integers, first_sizes: Integers, second_sizes: Integers) -> Graph:
    """Return the graph of the joint cells in a matrix; the remainders are units in one partition only."""
    n_rows, n_columns, n_edges = len(first_sizes), len(second_sizes), 0
    counts[0, :], counts[:, 0] = second_sizes, first_sizes
    counts[0, 0] = 0
    for row in range(1, n_rows):
        for column in range(1, n_columns):
            counts[row, 0] -= counts[row, column]
            counts[0, column] -= counts[row, column]
    for row in range(n_rows):
        for column in range(n_columns):
            n_edges += counts[row, column] > 0
    rows, columns, size = (
        np.empty(n_edges, dtype=np.int64),
        np.empty(n_edges, dtype=np.int64),
        np.empty(n_edges, dtype=np.int64),
    )
    n = 0
    for row in range(n_rows):
        for column in range(n_columns):
            if counts[row, column] > 0:
                rows[n], columns[n], size[n] = row, column, counts[row, column]
                n += 1
    graph: Graph = connect(rows, columns, size, n_rows - 1, n_columns - 1)
    return graph


@compiled
def count_common(
    first: Codes, first_units: Integers, second: Codes, second_units: Integers, counts: Integers
) -> None:
    """Count pairs of codes of the units in two sorted lists."""
    one, other = 0, 0
    while one < len(first) and other < len(second):
        if first_units[one] < second_units[other]:
            one += 1
        elif second_units[other] < first_units[one]:
            other += 1
        else:
            counts[first[one], second[other]] += 1
            one += 1
            other += 1


@compiled
def join(
    first: Codes, first_units: Integers, first_listed: bool, first_sizes: Integers,
    second: Codes, second_units: Integers, second_listed: bool, second_sizes: Integers,
) -> Graph:  # fmt: skip
    """Count the joint cells of two partitions in a matrix, and return their graph.

    Parameters
    ----------
    first, second
        Codes of all units, or of the listed ones.
    first_units, second_units, first_listed, second_listed
        Sorted units, and whether units are listed at all.
    first_sizes, second_sizes
        Sizes of the groups; index 0 is for units in no group.
    """
    counts = np.zeros((len(first_sizes), len(second_sizes)), dtype=np.int64)
    if first_listed and second_listed:
        count_common(first, first_units, second, second_units, counts)
    elif first_listed:
        for place in range(len(first)):
            counts[first[place], second[first_units[place]]] += 1
    elif second_listed:
        for place in range(len(second)):
            counts[first[second_units[place]], second[place]] += 1
    else:
        cross_tabulate(first, second, counts)
    graph: Graph = list_cells(counts, first_sizes, second_sizes)
    return graph


@compiled
def largest_in_blocks(block: Codes, amounts: NDArray[np.float64], largest: NDArray[np.float64]) -> None:
    """Write the largest amounts of every block of units into ``largest``, zeros at first, descending."""
    n = largest.shape[1]
    for unit in range(len(block)):
        amount, row = amounts[unit], largest[block[unit]]
        place = n
        while place > 0 and row[place - 1] < amount:
            if place < n:
                row[place] = row[place - 1]
            place -= 1
        if place < n:
            row[place] = amount


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    codes, one = np.ones(2, dtype=np.int32), np.ones(1, dtype=np.int64)
    cross_tabulate(codes, codes, np.zeros((2, 2), dtype=np.int64))
    count_pairs(np.arange(2), codes, codes, np.ones(2, dtype=np.int64), 2)
    divide(codes, codes, 2, 2)
    largest_in_blocks(codes, np.ones(2), np.zeros((2, 2)))
    join(codes, np.arange(2), True, np.array([0, 2]), codes, np.arange(2), False, np.array([0, 2]))
    connect(one, one, 2 * one, 1, 1)
