"""The matching attack done slowly: all candidates, all patterns in order, widths by scipy's flows."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import sparse

from hitoku.methods.optimal import number
from hitoku.model import Release

FAR = 10**6


def width_of(counts: np.ndarray, withheld: np.ndarray, cell: tuple[int, int]) -> int:
    """Length of the interval of a cell when margins and all other cells are published."""
    if withheld[cell[0]].sum() == 1 or withheld[:, cell[1]].sum() == 1:
        return 0  # alone in its row or column: whoever subtracts has it
    rows, columns = counts.shape
    flows = []
    for rising in (True, False):
        graph = np.zeros((rows + columns, rows + columns), dtype=np.int32)
        for i, j in np.argwhere(withheld):
            if (i, j) != cell:
                graph[i, rows + j] = counts[i, j] if rising else FAR
                graph[rows + j, i] = FAR if rising else counts[i, j]
        flow = sparse.csgraph.maximum_flow(sparse.csr_array(graph), cell[0], rows + cell[1])
        flows.append(int(flow.flow_value))
    return flows[0] + min(flows[1], int(counts[cell]))


def pattern_of(
    counts: np.ndarray, unsafe: np.ndarray, width: int, cost: np.ndarray, tie: np.ndarray
) -> np.ndarray | None:
    """First safe pattern by cost, then sum of the cells' numbers, then lexicographically."""
    free = np.argwhere(~unsafe)
    choices = np.array(list(product([0, 1], repeat=len(free))), dtype=int).reshape(-1, len(free))
    costs, ties = (choices @ weights[~unsafe] for weights in (cost, tie))
    too_few: list[int] = []
    for row in np.lexsort((np.arange(len(choices)), ties, costs)):
        bits = int("".join(map(str, choices[row])) or "0", 2)
        # What a pattern does not protect, no part of it does.
        if any(bits | larger == larger for larger in too_few):
            continue
        withheld = unsafe.copy()
        withheld[~unsafe] = choices[row] == 1
        if all(width_of(counts, withheld, (int(i), int(j))) >= width for i, j in np.argwhere(unsafe)):
            return withheld
        too_few.append(bits)
    return None


def matches(
    counts: np.ndarray, pattern: np.ndarray, *, least: int, zeros: bool, width: int, by_value: bool
) -> bool:
    """Tell whether a table of counts, codes numbered from 1, gets a pattern."""
    unsafe = (counts < least) & ((counts > 0) | zeros)
    tie = np.array(
        [[number((str(i + 1), str(j + 1))) for j in range(counts.shape[1])] for i in range(len(counts))]
    )
    cost = counts if by_value else np.ones_like(counts)
    found = pattern_of(counts, unsafe, width, cost, tie)
    return found is not None and np.array_equal(found, pattern)


def fitting(release: Release, shape: tuple[int, int]) -> list[np.ndarray]:
    """List every table of counts with the published margins and cells, cell by cell."""
    printed = release.published.reshape(shape[0] + 1, shape[1] + 1)
    inside, row_sums, column_sums = printed[:-1, :-1], printed[:-1, -1], printed[-1, :-1]
    places = [tuple(place) for place in np.argwhere(np.isnan(inside))]
    counts, found = np.nan_to_num(inside).astype(int), []

    def choose(at: int) -> None:
        if at == len(places):
            if np.array_equal(counts.sum(axis=1), row_sums) and np.array_equal(
                counts.sum(axis=0), column_sums
            ):
                found.append(counts.copy())
            return
        i, j = places[at]
        room = min(row_sums[i] - counts[i].sum(), column_sums[j] - counts[:, j].sum())
        for value in range(int(room) + 1):
            counts[i, j] = value
            choose(at + 1)
        counts[i, j] = 0

    choose(0)
    return found
