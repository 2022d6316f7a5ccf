"""Deviations on a grid of decimals: what is printed adds up to the last digit, and is still safe.

A solver's numbers add up to twelve digits or so; a printed table must add up exactly. Six decimals are fine
enough to round the cells that may be chosen and to let the rest follow. Whole numbers are not: every cell
takes one of its neighbours on the grid (controlled rounding). A linear program finds them where the table is
a network, as two-way tables are, an integer program elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.methods.adjust.sums import Sums
from hitoku.model import Floats, Integers
from hitoku.solver import integer, quadratic
from hitoku.solver.work import CountedWork

# As evidence reads tables: with more decimals than this there is no exact proof.
MOST_DECIMALS = 6
# Doubles hold whole numbers up to 2**53 exactly; sums of two of them must fit too.
LARGEST = 2.0**51
# A double that is this near to a grid point, in steps, stands for it.
NEAR = 0.05
# A solution this near to whole numbers is one.
NEAR_WHOLE = 1e-6
# Controlled rounding is near enough when no other is nearer by a larger share.
NEAREST = 1e-3
# Neighbours on either side that controlled rounding may take before it gives up.
WINDOWS = (0, 1, 5)
# Times that sums may fall short, and the point be found again, before controlled rounding takes over.
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class RoundingGrid:
    """Whole multiples of a step: ``scale`` steps to the unit."""

    scale: int

    def up(self, number: Floats) -> Floats:
        """Next grid point at or above, in steps."""
        return np.ceil(number * self.scale - NEAR)

    def down(self, number: Floats) -> Floats:
        """Next grid point at or below, in steps."""
        return np.floor(number * self.scale + NEAR)

    def holds(self, value: Floats) -> bool:
        """Tell whether all values lie on the grid, and can be told apart there."""
        steps = value * self.scale
        near = np.abs(steps - np.rint(steps)) <= np.minimum(NEAR, 1e-12 * np.abs(steps) + 1e-9)
        return bool(np.all(near) and np.abs(steps).max(initial=0.0) < LARGEST)


def finest(value: Floats) -> RoundingGrid | None:
    """Find the finest grid of at most six decimals that doubles of this size can carry; None without one.

    Examples
    --------
    >>> finest(np.array([12.0, 0.5])), finest(np.array([2e11, 7.0])), finest(np.array([1 / 3]))
    (RoundingGrid(scale=1000000), RoundingGrid(scale=1000), None)
    """
    for decimals in range(MOST_DECIMALS, -1, -1):
        grid = RoundingGrid(10**decimals)
        if 2 * np.abs(value).max(initial=0.0) * grid.scale < LARGEST:
            return grid if grid.holds(value) else None
    return None


def round_and_add_up(
    relations: Any,
    deviation: Floats,
    bounds: tuple[Floats, Floats],
    grid: RoundingGrid,
    again: Callable[[Floats, Floats], Floats | None],
) -> Floats | None:
    """Round cells that may be chosen and fill the rest; None when that leads nowhere.

    Parameters
    ----------
    relations
        What must stay zero.
    deviation
        The point to stay near to.
    bounds
        Lowest and highest deviation of every cell.
    grid
        The grid.
    again
        Finds the point for tighter bounds: asked when a sum falls short of its bound by a few steps.
    """
    low, high = grid.up(bounds[0]), grid.down(bounds[1])
    sums = Sums.of(relations, (low == 0) & (high == 0))
    lower, upper = low, high
    if sums is None:
        return None
    for _ in range(ATTEMPTS):
        added = sums.add_up(np.clip(np.rint(deviation * grid.scale), low, high))
        if np.any(relations @ added):
            return None
        below, above = np.maximum(low - added, 0.0), np.maximum(added - high, 0.0)
        if not below.any() and not above.any():
            return added / grid.scale
        # Twice what was missing, and a little: the next point is rounded otherwise.
        lower = lower + np.where(below > 0, 2 * below + 2, 0.0)
        upper = upper - np.where(above > 0, 2 * above + 2, 0.0)
        nearer = again(lower / grid.scale, upper / grid.scale) if np.all(lower <= upper) else None
        if nearer is None:
            return None
        deviation = nearer
    return None


def round_controlled(
    relations: Any,
    deviation: Floats,
    bounds: tuple[Floats, Floats],
    grid: RoundingGrid,
    *,
    time_limit_s: float | None = None,
    work: CountedWork | None = None,
) -> Floats | None:
    """Take a neighbour on the grid for every cell, together as near as possible; None when there are none.

    Parameters
    ----------
    relations, deviation, bounds, grid
        As in :func:`round_and_add_up`.
    time_limit_s
        For each integer program, where the linear one has fractions.
    work
        Counts the steps of all programs; none is begun once its limit is reached.
    """
    low, high = grid.up(bounds[0]), grid.down(bounds[1])
    for window in WINDOWS:
        near = _Near.of(relations, deviation * grid.scale, low, high, window)
        if near is None:
            continue
        found = quadratic.solve(near.program(), work=work)
        if found.x is None:
            continue
        steps = near.steps(found.x)
        if steps is None:
            whole = integer.solve(near.whole(), gap=NEAREST, time_limit_s=time_limit_s, work=work)
            steps = near.steps(whole.x)
        if steps is not None and not np.any(relations @ steps):
            return steps / grid.scale
    return None


@dataclass(frozen=True, slots=True)
class _Near:
    """Grid points around a deviation: from ``floor`` one step up, then further up, or further down."""

    relations: Any
    floor: Floats
    moving: Integers
    share: Floats
    below: Floats
    above: Floats

    @classmethod
    def of(cls, relations: Any, steps: Floats, low: Floats, high: Floats, window: int) -> _Near | None:
        """Take ``window`` more neighbours on either side than the nearest."""
        floor = np.floor(steps + NEAR_WHOLE)
        below = np.clip(floor - window, low, high)
        above = np.clip(np.ceil(steps - NEAR_WHOLE) + window, low, high)
        if np.any(low > high):
            return None
        floor = np.clip(floor, below, above)
        return cls(
            relations, floor, np.flatnonzero(below < above), np.clip(steps - floor, 0.0, 1.0), below, above
        )

    def program(self) -> quadratic.QuadraticProgram:
        moving, k = self.moving, len(self.moving)
        columns = sparse.csr_array(self.relations[:, moving])
        rise = self.above[moving] - self.floor[moving]
        between = np.minimum(rise, 1.0)
        return quadratic.QuadraticProgram(
            cost=np.concatenate([1 - 2 * self.share[moving], np.ones(k), np.ones(k)]),
            relations=sparse.hstack([columns, columns, -columns], format="csr"),
            rhs=-(self.relations @ self.floor),
            lower=np.zeros(3 * k),
            upper=np.concatenate([between, rise - between, self.floor[moving] - self.below[moving]]),
        )

    def whole(self) -> integer.IntegerProgram:
        """Ask for whole numbers."""
        plain = self.program()
        return integer.IntegerProgram(plain.cost, plain.relations, plain.rhs, plain.lower, plain.upper)

    def steps(self, x: Floats | None) -> Floats | None:
        """Return the grid points of a solution; None when it has fractions."""
        if x is None or np.any(np.abs(x - np.rint(x)) > NEAR_WHOLE):
            return None
        k, steps = len(self.moving), self.floor.copy()
        steps[self.moving] += np.rint(x[:k] + x[k : 2 * k] - x[2 * k :])
        return steps
