"""Dual simplex on a dense tableau, for covering problems of some hundred columns with changing rows.

``value[basic] == tableau @ value[nonbasic] + constant``: row 0 is the objective, the last column constant.
Variables are the columns of the problem, with two bounds each, then one slack per row, at least zero.
Nonbasic columns are at the bound that their reduced cost requires, so every basis is dual feasible. Results
are not trusted: callers recompute what the multipliers prove.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled
from hitoku.kernels.pivoting import FEASIBLE, PIVOT, TINY, pivot_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

OPTIMAL, INFEASIBLE, LIMIT, LOST = range(4)


@compiled
def place_nonbasic(reduced: Floats, nonbasic: Integers, lower: Floats, upper: Floats, at: Floats) -> bool:
    """Set every nonbasic variable to the bound that its reduced cost requires; False if it has none."""
    for j in range(len(nonbasic)):
        k = nonbasic[j]
        if reduced[j] > TINY:
            at[j] = lower[k]
        elif reduced[j] < -TINY:
            if upper[k] == np.inf:
                if reduced[j] < -PIVOT:
                    return False
                at[j] = lower[k]
            else:
                at[j] = upper[k]
        else:
            at[j] = lower[k] if upper[k] == np.inf or at[j] < 0.5 * (lower[k] + upper[k]) else upper[k]
    return True


@compiled
def length(row: Floats) -> float:
    """Return one plus the sum of squares."""
    # Four independent sums, which the processor adds in parallel.
    a, b, c, d = 1.0, 0.0, 0.0, 0.0
    n = len(row) - len(row) % 4
    for j in range(0, n, 4):
        a += row[j] * row[j]
        b += row[j + 1] * row[j + 1]
        c += row[j + 2] * row[j + 2]
        d += row[j + 3] * row[j + 3]
    for j in range(n, len(row)):
        a += row[j] * row[j]
    return a + b + c + d


@compiled
def leaving(
    tableau: Floats, n_rows: int, basic: Integers, lower: Floats, upper: Floats, value: Floats
) -> int:
    """Choose the row farthest outside its bounds relative to its norm; 0 if all are within bounds."""
    best, score, n = 0, 0.0, tableau.shape[1] - 1
    for i in range(1, n_rows):
        k = basic[i]
        short = max(lower[k] - value[i], value[i] - upper[k])
        # Norms are at least one.
        if short <= FEASIBLE or short * short <= score:
            continue
        norm = length(tableau[i, :n])
        if short * short > score * norm:
            best, score = i, short * short / norm
    return best


@compiled
def entering(
    reduced: Floats, row: Floats, nonbasic: Integers, lower: Floats, upper: Floats, at: Floats,
    way: float, short: float, flipped: Integers,
) -> Any:  # fmt: skip
    """Choose the entering column, after those that flip to their other bound; -1 if there is none."""
    n_flipped = 0
    gone = np.zeros(len(nonbasic), dtype=np.bool_)
    while True:
        best, least, size = -1, np.inf, 0.0
        for j in range(len(nonbasic)):
            k, rate = nonbasic[j], way * row[j]
            # A variable at its lower bound may rise, one at its upper bound may fall.
            if gone[j] or abs(rate) < PIVOT or lower[k] == upper[k] or (rate > 0) != (at[j] == lower[k]):
                continue
            ratio = abs(reduced[j]) / abs(rate)
            if ratio < least - TINY or (ratio < least + TINY and abs(rate) > size):
                best, least, size = j, min(ratio, least), abs(rate)
        if best < 0:
            return -1, n_flipped
        span = upper[nonbasic[best]] - lower[nonbasic[best]]
        if size * span >= short:
            return best, n_flipped
        short -= size * span
        gone[best] = True
        flipped[n_flipped] = best
        n_flipped += 1


@compiled
def move(tableau: Floats, n_rows: int, column: int, distance: float, value: Floats) -> None:
    """Move a nonbasic variable, and update the basic ones."""
    for i in range(n_rows):
        value[i] += tableau[i, column] * distance


@compiled
def solve(
    tableau: Floats, n_rows: int, basic: Integers, nonbasic: Integers, lower: Floats, upper: Floats,
    at: Floats, value: Floats, most: int, cutoff: float,
) -> Any:  # fmt: skip
    """Step until primal feasible; return status, number of steps, and the row that proves infeasibility.

    Parameters
    ----------
    tableau, basic, nonbasic, at
        State of the last call; ``n_rows`` includes the objective.
    lower, upper
        Bounds of all variables.
    value
        Output: values of the rows; the first is the objective.
    most, cutoff
        Maximum number of steps, and the objective above which to stop.
    """
    n = len(nonbasic)
    if not place_nonbasic(tableau[0], nonbasic, lower, upper, at):
        return LOST, 0, 0
    for i in range(n_rows):
        value[i] = tableau[i, n]
        for j in range(n):
            value[i] += tableau[i, j] * at[j]
    flipped = np.empty(n, dtype=np.int64)
    for step in range(most):
        row = leaving(tableau, n_rows, basic, lower, upper, value)
        if row == 0:
            return OPTIMAL, step, 0
        if value[0] > cutoff:
            return LIMIT, step, 0
        k = basic[row]
        below = value[row] < lower[k]
        target = lower[k] if below else upper[k]
        way, short = 1.0 if below else -1.0, abs(target - value[row])
        enter, n_flipped = entering(tableau[0], tableau[row], nonbasic, lower, upper, at, way, short, flipped)
        if enter < 0:
            return INFEASIBLE, step, row
        for f in range(n_flipped):
            j = flipped[f]
            ends = lower[nonbasic[j]] + upper[nonbasic[j]]
            move(tableau, n_rows, j, ends - 2 * at[j], value)
            at[j] = ends - at[j]
        distance = (target - value[row]) / tableau[row, enter]
        move(tableau, n_rows, enter, distance, value)
        value[row] = at[enter] + distance
        at[enter] = target
        basic[row] = nonbasic[enter]
        nonbasic[enter] = k
        pivot_rows(tableau, n_rows, row, enter)
    return LIMIT, most, 0


@compiled
def append_rows(
    tableau: Floats, first: int, basic: Integers, nonbasic: Integers, rows: Any, rhs: Floats,
    place: Integers, fixed: Floats,
) -> None:  # fmt: skip
    """Append ``rows @ x - rhs`` from row ``first`` of the problem on as rows of new basic slacks.

    ``rows`` are CSR arrays; ``place`` is the tableau column of each column of the problem, -1 for columns
    that are fixed at a value and not in the tableau.
    """
    ptr, index, data = rows
    n = len(nonbasic)
    dense = np.zeros(n)
    for k in range(first, len(rhs)):
        here = tableau[k + 1]
        here[:] = 0.0
        dense[:] = 0.0
        here[n] = -rhs[k]
        for e in range(ptr[k], ptr[k + 1]):
            if place[index[e]] >= 0:
                dense[place[index[e]]] = data[e]
            else:
                here[n] += data[e] * fixed[index[e]]
        for j in range(n):
            if nonbasic[j] < n:
                here[j] += dense[nonbasic[j]]
        for i in range(1, k + 1):
            if basic[i] < n and dense[basic[i]] != 0.0:
                factor, other = dense[basic[i]], tableau[i]
                for j in range(n + 1):
                    here[j] += factor * other[j]
        basic[k + 1] = n + k


@compiled
def entries_of(rows: Any, columns: Integers, n_problem: int) -> Floats:
    """Return some columns of CSR rows over ``n_problem`` columns as a dense array."""
    ptr, index, data = rows
    place = np.full(n_problem, -1, dtype=np.int64)
    for k in range(len(columns)):
        place[columns[k]] = k
    entry = np.zeros((len(ptr) - 1, len(columns)))
    for r in range(len(entry)):
        for e in range(ptr[r], ptr[r + 1]):
            if place[index[e]] >= 0:
                entry[r, place[index[e]]] = data[e]
    return entry


@compiled
def take_multiples(tableau: Floats, n_rows: int, column: int, first: int, factors: Floats) -> None:
    """Subtract multiples of a column from the columns from ``first`` on."""
    for k in range(len(factors)):
        if factors[k] != 0.0:
            for i in range(n_rows):
                tableau[i, first + k] -= factors[k] * tableau[i, column]


@compiled
def write_columns(
    tableau: Floats, n_rows: int, basic: Integers, nonbasic: Integers, rows: Any, columns: Integers,
    cost: Floats, n_problem: int,
) -> None:  # fmt: skip
    """Write nonbasic columns of the problem into the last columns of the tableau, which hold zeros.

    ``rows`` are CSR arrays of the problem, ``n_problem`` the number of its columns; slacks are numbered after
    the columns of the tableau.
    """
    n, more = len(nonbasic), len(columns)
    entry = entries_of(rows, columns, n_problem)
    first = n - more
    for k in range(more):
        tableau[0, first + k] = cost[k]
    for i in range(1, n_rows):
        if basic[i] >= n:
            for k in range(more):
                tableau[i, first + k] = entry[basic[i] - n, k]
    # A nonbasic slack is fixed, so it compensates what a column adds to its row.
    for j in range(first):
        if nonbasic[j] >= n:
            take_multiples(tableau, n_rows, j, first, entry[nonbasic[j] - n])


@compiled
def read_off(
    tableau: Floats, n_rows: int, basic: Integers, nonbasic: Integers, at: Floats, value: Floats,
    columns: Integers, x: Floats, multipliers: Floats,
) -> None:  # fmt: skip
    """Write the point into ``x``, by columns of the problem, and the multipliers of its rows."""
    n = len(nonbasic)
    for j in range(n):
        if nonbasic[j] < n:
            x[columns[nonbasic[j]]] = at[j]
        else:
            multipliers[nonbasic[j] - n] = max(tableau[0, j], 0.0)
    for i in range(1, n_rows):
        if basic[i] < n:
            x[columns[basic[i]]] = value[i]


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    tableau = np.zeros((3, 3))
    tableau[0, 0] = tableau[0, 1] = 1.0
    basic, nonbasic = np.full(3, -1, dtype=np.int64), np.arange(2)
    rows, value, at = (np.array([0, 2]), np.arange(2), np.ones(2)), np.zeros(3), np.zeros(2)
    append_rows(tableau, 0, basic, nonbasic, rows, np.ones(1), np.arange(2), np.zeros(2))
    lower, upper = np.zeros(3), np.array([1.0, 1.0, np.inf])
    solve(tableau, 2, basic, nonbasic, lower, upper, at, value, 10, np.inf)
    read_off(tableau, 2, basic, nonbasic, at, value, np.arange(2), np.zeros(2), np.zeros(1))
    write_columns(tableau, 2, basic, nonbasic, rows, np.zeros(1, dtype=np.int64), np.ones(1), 2)
