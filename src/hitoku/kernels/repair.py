"""Repair of deviations: violations of bounds are cancelled by other deviations that move the same cell.

``witnesses`` are deviations in one list: start of each, cells and amounts. ``through`` lists by cell the
deviations that move it, the shortest first: start of each cell, and numbers. All of them keep every sum, and
so do their combinations; only the bounds of cells have to be checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled, inlined
from hitoku.kernels.pivoting import TINY

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Maximum number of deviations that are added to one; twice as many are tried for each of these steps.
MAX_STEPS = 12


@inlined
def beyond(amount: float, low: float, high: float) -> float:
    """Return how far an amount is above its upper (positive) or below its lower bound (negative)."""
    return amount - high if amount > high else amount - low if amount < low else 0.0


@compiled
def add_deviation(witnesses: Any, number: int, factor: float, moved: Floats, listed: Any, n: int) -> int:
    """Add a multiple of a deviation to a sum; return the number of listed cells."""
    begins, cells, amounts = witnesses
    touched, on = listed
    for k in range(begins[number], begins[number + 1]):
        cell = cells[k]
        if not on[cell]:
            on[cell] = True
            touched[n] = cell
            n += 1
        moved[cell] += factor * amounts[k]
    return n


@compiled
def violation_increase(witnesses: Any, number: int, factor: float, moved: Floats, slack: Any) -> float:
    """Return by how much adding a multiple of a deviation increases the total violation of bounds."""
    begins, cells, amounts = witnesses
    low, high = slack
    change = 0.0
    for k in range(begins[number], begins[number + 1]):
        cell = cells[k]
        change += abs(beyond(moved[cell] + factor * amounts[k], low[cell], high[cell]))
        change -= abs(beyond(moved[cell], low[cell], high[cell]))
    return change


@inlined
def worst_of(moved: Floats, slack: Any, touched: Integers, n: int, rounding: float) -> tuple[int, float]:
    """Return the cell with the largest violation relative to its move, and the violation; -1 for none."""
    low, high = slack
    worst, most, off = -1, 0.0, 0.0
    for k in range(n):
        cell = touched[k]
        here = beyond(moved[cell], low[cell], high[cell])
        size = max(abs(moved[cell]), abs(here))
        if abs(here) > max(rounding, most * size):
            worst, most, off = cell, abs(here) / size, here
    return worst, off


@inlined
def best_step(
    witnesses: Any, through: Any, worst: int, off: float, moved: Floats, slack: Any, rounding: float
) -> tuple[int, float]:  # fmt: skip
    """Return the best deviation for cancelling the violation of a cell, and its multiple."""
    begins, cells, amounts = witnesses
    best, least, by = -1, -rounding, 0.0
    for place in range(through[0][worst], min(through[0][worst + 1], through[0][worst] + 2 * MAX_STEPS)):
        other = through[1][place]
        amount = 0.0
        for k in range(begins[other], begins[other + 1]):
            if cells[k] == worst:
                amount = amounts[k]
        change = violation_increase(witnesses, other, -off / amount, moved, slack) if amount != 0.0 else 0.0
        if change < least:
            best, least, by = other, change, -off / amount
    return best, by


@compiled
def repair_deviation(
    witnesses: Any, through: Any, number: int, slack: Any, moved: Floats, listed: Any
) -> tuple[int, bool]:  # fmt: skip
    """Change a deviation until it is within bounds; return the number of listed cells, and whether it is.

    ``moved`` becomes the deviation and must be zero at first; ``listed`` are the cells that it may move, and
    a mark on each of them.
    """
    begins, _, amounts = witnesses
    rounding = 0.0
    for k in range(begins[number], begins[number + 1]):
        rounding = max(rounding, TINY * abs(amounts[k]))
    n = add_deviation(witnesses, number, 1.0, moved, listed, 0)
    for _ in range(MAX_STEPS):
        worst, off = worst_of(moved, slack, listed[0], n, rounding)
        if worst < 0:
            return n, True
        best, by = best_step(witnesses, through, worst, off, moved, slack, rounding)
        if best < 0:
            break
        n = add_deviation(witnesses, best, by, moved, listed, n)
    return n, False


@compiled
def repair(
    witnesses: Any, through: Any, owner: Integers, numbers: Integers, slack: Any, slates: Any, done: Any
) -> None:  # fmt: skip
    """Repair some deviations, so that their owners move as far as before.

    Parameters
    ----------
    witnesses, through
        See the module.
    owner
        Cell for which each deviation is kept.
    numbers
        Deviations to repair.
    slack
        Lower and upper bounds of each cell.
    slates
        Scratch space by cell: zeros, space for cells, and False.
    done
        Output: whether each deviation could be repaired.
    """
    begins, cells, amounts = witnesses
    low, high = slack
    moved, touched, on = slates
    for place in range(len(numbers)):
        number = numbers[place]
        own = owner[number]
        had = low[own], high[own]
        far = 0.0
        for k in range(begins[number], begins[number + 1]):
            if cells[k] == own:
                far = amounts[k]
        done[place] = False
        if far < had[0] or far > had[1]:
            continue
        if far > 0.0:
            low[own] = far
        else:
            high[own] = far
        n, done[place] = repair_deviation(witnesses, through, number, slack, moved, (touched, on))
        low[own], high[own] = had
        for k in range(n):
            moved[touched[k]], on[touched[k]] = 0.0, False
