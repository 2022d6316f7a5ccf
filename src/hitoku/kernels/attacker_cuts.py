"""Attacker cuts that are valid despite floating point: multipliers of relations, recomputed.

The relations are brought to echelon form in integers. A cut is a combination of its rows: in integer
multiples of a fixed fraction, where all sums are exact, or in doubles with an allowance for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels import GRID
from hitoku.kernels.compiled import compiled
from hitoku.kernels.pivoting import FEASIBLE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Distance of doubles near one: twice the largest rounding error of an operation.
EPSILON = float(np.finfo(np.float64).eps)
# Largest allowance for rounding, as a share of the level; with a larger one a cut is dropped.
ALLOWED = 0.01


@compiled
def pivot_of(rows: Integers, r: int, order: Integers) -> int:
    """Return the first column in the order with an entry of one or minus one in a row, or -1."""
    best = -1
    for j in range(rows.shape[1]):
        if abs(rows[r, j]) == 1 and (best < 0 or order[j] < order[best]):
            best = j
    return best


@compiled
def clear_column(rows: Integers, r: int, column: int) -> bool:
    """Eliminate row r, whose entry there is one, from all others; False when an entry exceeds 2**20."""
    for i in range(rows.shape[0]):
        factor = rows[i, column]
        if i == r or factor == 0:
            continue
        for j in range(rows.shape[1]):
            rows[i, j] -= factor * rows[r, j]
            if abs(rows[i, j]) > 1 << 20:
                return False
    return True


@compiled
def echelon(rows: Integers, order: Integers, pivots: Integers) -> int:
    """Bring integer relations to reduced echelon form with pivots of one, in place; return the rank.

    Rows whose ``pivots`` are not -1 afterwards are those that remain, each with its pivot column. Returns -1
    if a row has no entry of one or entries grow too large. All steps keep integers, so every row is an
    integer combination of relations.
    """
    rank = 0
    for r in range(rows.shape[0]):
        pivots[r] = -1
        column = pivot_of(rows, r, order)
        if column < 0:
            for j in range(rows.shape[1]):
                if rows[r, j] != 0:
                    return -1
            continue
        if rows[r, column] < 0:
            for j in range(rows.shape[1]):
                rows[r, j] = -rows[r, j]
        if not clear_column(rows, r, column):
            return -1
        pivots[r] = column
        rank += 1
    return rank


@compiled
def recompute(
    row: Floats, whole: bool, echelon_rows: Any, p: int, sense: int, slacks: Floats, amount: float,
    out: Floats,
) -> float:  # fmt: skip
    """Write each cell's coefficient in the cut of cell p, at most ``amount``; return an allowance.

    ``row`` holds the multipliers of the echelon rows. Rounded to multiples of ``1 / GRID``, all sums are
    exact and the allowance is zero. Otherwise multipliers are used as they are, and sums near zero count as
    zero; the allowance covers those sums and the rounding of all others.
    """
    ptr, index, data = echelon_rows
    n = len(out)
    total, size = np.zeros(n), np.zeros(n)
    for r in range(len(row)):
        y = np.rint(row[r] * GRID) if whole else row[r]
        if y != 0.0:
            for k in range(ptr[r], ptr[r + 1]):
                total[index[k]] += y * data[k]
                size[index[k]] += abs(y * data[k])
    unit = float(GRID) if whole else 1.0
    total[p] += sense * unit
    size[p] += 1.0
    allowance = 0.0
    for j in range(n):
        g = total[j] / unit
        if not whole and size[j] > 0.0:
            hidden = EPSILON * (len(row) + 2) * size[j]
            if abs(g) < FEASIBLE:
                hidden += abs(g)
                g = 0.0
            allowance += hidden * max(slacks[0, j], slacks[1, j])
        slack = slacks[0, j] if g > 0 else slacks[1, j]
        out[j] = min(slack * abs(g), amount) if g != 0.0 and slack > 0 else 0.0
    return allowance


@compiled
def cut_value(cut: Floats, forced: Mask, x: Floats) -> float:
    """Return the value of a cut at a point: the distance that its cell can move at most."""
    total = 0.0
    for j in range(len(x)):
        if cut[j] > 0.0:
            total += cut[j] if forced[j] else cut[j] * x[j]
    return total


@compiled
def write_cut(
    cut: Floats, forced: Mask, x: Floats, want: float, hidden: float, least: float, index: Integers,
    data: Floats, filled: int,
) -> int:  # fmt: skip
    """Append ``cut @ x >= want`` over the free cells, with right-hand side one, if x violates it."""
    left = want - hidden
    for j in range(len(x)):
        if forced[j]:
            left -= min(cut[j], want)
    if not hidden < ALLOWED * want or left <= FEASIBLE * want:
        return filled
    inner, end = 0.0, filled
    for j in range(len(x)):
        if not forced[j] and cut[j] > 0:
            index[end] = j
            data[end] = max(min(cut[j] / left, 1.0), 1e-6)  # no smaller coefficient
            inner += data[end] * x[j]
            end += 1
    return end if 1.0 - inner > least else filled
