"""Sparse rows: products with a vector, and the rows that a point violates most.

For matrices so small that the calls of a library cost more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Singles = NDArray[np.float32]

# Upper bound on the error of sums in single precision.
SINGLE = 1e-4


@compiled
def across(ptr: Integers, index: Integers, data: Floats, x: Floats) -> Floats:
    """Return ``rows @ x``."""
    out = np.zeros(len(ptr) - 1)
    for k in range(len(out)):
        for e in range(ptr[k], ptr[k + 1]):
            out[k] += data[e] * x[index[e]]
    return out


@compiled
def down(ptr: Integers, index: Integers, data: Floats, multipliers: Floats, n_columns: int) -> Floats:
    """Return ``rows.T @ multipliers``."""
    out = np.zeros(n_columns)
    for k in range(len(ptr) - 1):
        if multipliers[k] != 0.0:
            for e in range(ptr[k], ptr[k + 1]):
                out[index[e]] += data[e] * multipliers[k]
    return out


@compiled
def row_products(columns: Integers, data: Floats, x: Floats) -> float:
    """Return ``data @ x[columns]``."""
    total = 0.0
    for e in range(len(columns)):
        total += data[e] * x[columns[e]]
    return total


@compiled
def short_of(columns: Integers, data: Floats, x: Floats, goal: float) -> float:
    """Return ``max(goal - data @ x[columns], 0)``; terms are positive, so the sum stops at the goal."""
    for e in range(len(columns)):
        goal -= data[e] * x[columns[e]]
        if goal <= 0.0:
            return 0.0
    return goal


@compiled
def near_one_of(columns: Integers, data: Floats, others: Floats, most: float) -> bool:
    """Return whether a sparse row has a product above ``most`` with one of some dense rows."""
    near = False
    for t in range(len(others)):
        near = near or row_products(columns, data, others[t]) > most
    return near


@compiled
def deepest_rows(
    rows: Any, norm: Floats, idle: Integers, which: Integers, x: Floats, least: float, most: int,
    parallel: float, patience: int,
) -> Integers:  # fmt: skip
    """Return the rows that the point violates most, by more than ``least``, the deepest first.

    Parameters
    ----------
    rows, norm
        CSR arrays of the rows, and their Euclidean norms.
    idle
        Number of tests of each row since it was last violated; updated. Rows with more than ``patience`` are
        skipped.
    which
        Rows to test.
    x
        Point to multiply.
    most, parallel
        Maximum number of rows, and largest cosine of two of them.
    """
    ptr, index, data = rows
    depth, found = np.empty(len(which)), np.empty(len(which), dtype=np.int64)
    n_found = 0
    for k in which:
        if idle[k] > patience:
            continue
        short = short_of(index[ptr[k] : ptr[k + 1]], data[ptr[k] : ptr[k + 1]], x, 1.0)
        idle[k] += 1
        if short > least:
            idle[k] = 0
            depth[n_found] = -short / norm[k]
            found[n_found] = k
            n_found += 1
    order = np.argsort(depth[:n_found], kind="mergesort")
    taken, dense = np.empty(most, dtype=np.int64), np.zeros((most, len(x)))
    n_taken = 0
    for place in order:
        k = found[place]
        columns, here = index[ptr[k] : ptr[k + 1]], data[ptr[k] : ptr[k + 1]]
        if n_taken == most:
            break
        if near_one_of(columns, here, dense[:n_taken], parallel * norm[k]):
            continue
        for e in range(len(columns)):
            dense[n_taken, columns[e]] = here[e] / norm[k]
        taken[n_taken] = k
        n_taken += 1
    return taken[:n_taken]


@compiled
def write_dense(dense: Singles, first: int, ptr: Integers, index: Integers, data: Floats) -> None:
    """Write the rows from ``first`` on into a matrix of columns by rows, which holds zeros there."""
    for k in range(first, len(ptr) - 1):
        for e in range(ptr[k], ptr[k + 1]):
            dense[index[e], k] = data[e]


@compiled
def perhaps_short(
    dense: Singles, n_rows: int, x: Floats, least: float, idle: Integers, patience: int
) -> Integers:
    """Return the rows that a point may violate by more than ``least``; the others count as idle.

    In single precision and column by column: points have few nonzero columns, and rows are added in parallel.
    """
    filled = np.zeros(n_rows, dtype=np.float32)
    for j in range(len(x)):
        if x[j] != 0.0:
            at, column = np.float32(x[j]), dense[j]
            for k in range(n_rows):
                filled[k] += at * column[k]
    goal, n_found = 1.0 - least + SINGLE, 0
    found = np.empty(n_rows, dtype=np.int64)
    for k in range(n_rows):
        if filled[k] < goal:
            found[n_found] = k
            n_found += 1
        elif idle[k] <= patience:
            idle[k] += 1
    return found[:n_found]


@compiled
def measure_rows(ptr: Integers, data: Floats, most: int, whole: float, norm: Floats, times: Integers) -> None:
    """Write the norm of each row, and the least factor that makes it integer; zero if there is none."""
    for k in range(len(ptr) - 1):
        total, least = 0.0, 1.0
        for e in range(ptr[k], ptr[k + 1]):
            total += data[e] * data[e]
            least = min(least, data[e])
        norm[k] = max(np.sqrt(total), 1e-12)
        times[k] = 0
        for factor in range(1, most + 1):
            # A coefficient below one half of a unit would be rounded away.
            fits = least * factor > 1.0 - whole
            for e in range(ptr[k], ptr[k + 1]):
                if not fits:
                    break
                scaled = data[e] * factor
                fits = abs(scaled - np.rint(scaled)) < whole
            if fits:
                times[k] = factor
                break


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    ptr, index, one = np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1)
    across(ptr, index, one, one)
    down(ptr, index, one, one, 1)
    measure_rows(ptr, one, 1, 0.1, np.zeros(1), index.copy())
    deepest_rows((ptr, index, one), one, index.copy(), index, np.zeros(1), 0.1, 1, 0.5, 1)
    dense = np.zeros((1, 1), dtype=np.float32)
    write_dense(dense, 0, ptr, index, one)
    perhaps_short(dense, 1, one, 0.1, index.copy(), 1)
