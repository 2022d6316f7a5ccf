"""Deviations repaired: what somebody objects to is taken out by other deviations that move the same cell.

``witnesses`` are deviations one after the other: where each begins, cells and amounts. ``through`` lists by
cell those that move it, the shortest first: where each cell's begin, and numbers. All of them keep every sum,
so whatever is added up does; only rooms are at stake.
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
    """Tell how far an amount is above its upper or below its lower end, with a sign."""
    return amount - high if amount > high else amount - low if amount < low else 0.0


@compiled
def added(witnesses: Any, number: int, factor: float, moved: Floats, listed: Any, n: int) -> int:
    """Add a multiple of a deviation to a growing one; return how many cells are listed now."""
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
def worsened(witnesses: Any, number: int, factor: float, moved: Floats, room: Any) -> float:
    """Tell how much farther cells would be beyond their ends with a multiple of a deviation added."""
    begins, cells, amounts = witnesses
    low, high = room
    change = 0.0
    for k in range(begins[number], begins[number + 1]):
        cell = cells[k]
        change += abs(beyond(moved[cell] + factor * amounts[k], low[cell], high[cell]))
        change -= abs(beyond(moved[cell], low[cell], high[cell]))
    return change


@inlined
def worst_of(moved: Floats, room: Any, touched: Integers, n: int, rounding: float) -> tuple[int, float]:
    """Return the cell that is farthest beyond its ends for what it moves, and how far; -1 for none."""
    low, high = room
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
    witnesses: Any, through: Any, worst: int, off: float, moved: Floats, room: Any, rounding: float
) -> tuple[int, float]:  # fmt: skip
    """Return the deviation that is best added so that a cell is no longer off, and how much of it."""
    begins, cells, amounts = witnesses
    best, least, by = -1, -rounding, 0.0
    for place in range(through[0][worst], min(through[0][worst + 1], through[0][worst] + 2 * MAX_STEPS)):
        other = through[1][place]
        amount = 0.0
        for k in range(begins[other], begins[other + 1]):
            if cells[k] == worst:
                amount = amounts[k]
        change = worsened(witnesses, other, -off / amount, moved, room) if amount != 0.0 else 0.0
        if change < least:
            best, least, by = other, change, -off / amount
    return best, by


@compiled
def repaired(
    witnesses: Any, through: Any, number: int, room: Any, moved: Floats, listed: Any
) -> tuple[int, bool]:  # fmt: skip
    """Change a deviation until it keeps within rooms; return how many cells are listed, and whether it does.

    ``moved`` gets the deviation, zero elsewhere and at first; ``listed`` are cells that it may move, and a
    mark on each of them.
    """
    begins, _, amounts = witnesses
    rounding = 0.0
    for k in range(begins[number], begins[number + 1]):
        rounding = max(rounding, TINY * abs(amounts[k]))
    n = added(witnesses, number, 1.0, moved, listed, 0)
    for _ in range(MAX_STEPS):
        worst, off = worst_of(moved, room, listed[0], n, rounding)
        if worst < 0:
            return n, True
        best, by = best_step(witnesses, through, worst, off, moved, room, rounding)
        if best < 0:
            break
        n = added(witnesses, best, by, moved, listed, n)
    return n, False


@compiled
def repair(
    witnesses: Any, through: Any, owner: Integers, numbers: Integers, room: Any, slates: Any, done: Any
) -> None:  # fmt: skip
    """Repair some deviations, each such that its owner moves as far as before.

    Parameters
    ----------
    witnesses, through
        As above.
    owner
        By deviation, the cell that it is kept for.
    numbers
        The deviations.
    room
        How far each cell may go: lower and upper ends.
    slates
        By cell: zeros, space for cells, and False.
    done
        Gets which could be repaired.
    """
    begins, cells, amounts = witnesses
    low, high = room
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
        n, done[place] = repaired(witnesses, through, number, room, moved, (touched, on))
        low[own], high[own] = had
        for k in range(n):
            moved[touched[k]], on[touched[k]] = 0.0, False
