"""Slacks of cells and required movements, in integer steps of the grid on which the values lie.

Witnesses are deviations from the true table, so only slacks and levels are rounded: slacks inwards, levels
outwards. Witnesses are exact for any values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hitoku.errors import NeedError, some
from hitoku.model import EXACT_SUMS, MAX_DECIMALS, ROUNDING, SUM_ROUNDING, Floats, Integers, Mask, Need

# Steps per unit of the grid if deviations need not be integer, so that halves and thirds are steps, too.
PARTS = 60.0


@dataclass(frozen=True, eq=False)
class Slacks:
    """Slack of each cell, in integer steps stored as doubles; infinite if unbounded."""

    scale: float
    """Steps per unit."""
    down: Floats
    up: Floats
    """Slack of each cell; zero if it must be published or an outsider knows it."""

    @classmethod
    def of(cls, value: Floats, lower: Floats, upper: Floats, movable: Mask, *, integer: bool) -> Slacks:
        """Return the slacks of the cells of a table; ``integer`` if values are integers."""
        scale = _scale(value, integer=integer)
        bounds = lower * scale, upper * scale
        value = value * scale
        near = np.rint(value)
        value = np.where(np.abs(value - near) <= SUM_ROUNDING * np.abs(value).max(initial=1.0), near, value)
        down = _floor(value - bounds[0])
        up = _floor(bounds[1] - value)
        return cls(scale, np.where(movable, down, 0.0), np.where(movable, up, 0.0))

    @property
    def even(self) -> Floats:
        """Slack in both directions."""
        return np.minimum(self.down, self.up)


def _scale(value: Floats, *, integer: bool) -> float:
    """Return the coarsest decimal grid of the values; a fine binary one if there is none."""
    if integer:
        return 1.0
    largest = float(np.abs(value).max(initial=0.0))
    # Larger doubles have no decimals, and steps of one would overflow 64 bits.
    decimals_held = range(MAX_DECIMALS + 1) if largest <= 2.0**53 else range(0)
    for decimals in decimals_held:
        steps = value * 10.0**decimals
        off = np.abs(steps - np.rint(steps)).max(initial=0.0)
        if off <= min(0.05, SUM_ROUNDING * largest * 10.0**decimals):
            finer = largest * 10.0**decimals * PARTS < EXACT_SUMS
            return 10.0**decimals * (PARTS if finer else 1.0)
    # Values that lie on no grid of decimals: 2**44 steps up to the largest.
    return float(2.0 ** np.floor(np.log2(2.0**44 / max(largest, 1.0))))


def _floor(room: Floats) -> Floats:
    near = np.rint(room)
    with np.errstate(invalid="ignore"):  # infinite slacks remain infinite
        whole = np.abs(room - near) <= ROUNDING * np.abs(room)
    return np.maximum(np.where(whole, near, np.floor(room)), 0.0)


def _ceil(level: Floats) -> Floats:
    near = np.rint(level)
    return np.where(np.abs(level - near) <= ROUNDING * np.abs(level), near, np.ceil(level))


@dataclass(eq=False)
class Requirements:
    """Required movements of unsafe cells: two each, up (or in both directions at once) and down."""

    cells: Integers
    """The unsafe cells; requirements k and n + k belong to the k-th of n."""
    amount: Floats
    """Required steps; zero for none."""
    even: Mask
    """Whether the first requirement applies to both directions: a witness and its opposite are feasible."""
    lower: Floats
    upper: Floats
    width: Floats
    """Levels of the need, in steps."""

    @classmethod
    def of(cls, need: Need, slacks: Slacks, describe: Callable[[int], str]) -> Requirements:
        """Split every need into requirements: both directions at once if the cell itself has slack for that.

        ``describe`` names a cell in an error.

        Raises
        ------
        NeedError
            If bounds that an outsider knows are closer than a level.
        """
        cells = np.flatnonzero(need.unsafe)
        lower, upper, width = (
            _ceil(level[cells] * slacks.scale) for level in (need.lower, need.upper, need.width)
        )
        # A single value is not protected, whatever the levels.
        width = np.maximum(width, 1.0)
        down, up = slacks.down[cells], slacks.up[cells]
        known = cells[(lower > down) | (upper > up) | (width > down + up)]
        if len(known):
            raise NeedError(
                "known_bounds_too_close",
                "{n} cell(s) cannot reach their protection: bounds that an outsider knows are closer",
                where="cells {cells}",
                fix="require lower levels, or widen the table's lower and upper bounds if they are not known",
                n=len(known),
                cells=some((describe(int(p)) for p in known[:4]), 3),
            )
        return cls.within(cells, lower, upper, width, down, up)

    @classmethod
    def within(
        cls, cells: Integers, lower: Floats, upper: Floats, width: Floats, down: Floats, up: Floats
    ) -> Requirements:
        """Return requirements for levels in steps that the slacks of the cells allow.

        Parameters
        ----------
        cells
            The unsafe cells; a cell may occur more than once.
        lower, upper, width
            Required movement of each cell down, up and in total.
        down, up
            Slack of each cell.
        """
        requirements = cls(
            cells, np.zeros(2 * len(cells)), np.zeros(2 * len(cells), dtype=bool), lower, upper, width
        )
        level = np.maximum(np.maximum(lower, upper), np.ceil(width / 2))
        both = np.minimum(down, up) >= level
        requirements.amount[: len(cells)] = np.where(both, level, 0.0)
        requirements.even[: len(cells)] = both
        for place in np.flatnonzero(~both).tolist():
            requirements.split(place, float(down[place]), float(up[place]))
        return requirements

    def split(self, place: int, down: float, up: float) -> bool:
        """Require both directions separately, given the slack of the cell; return whether that is enough."""
        lower, upper, width = self.lower[place], self.upper[place], self.width[place]
        fall = max(lower, min(down, np.ceil(width / 2)))
        rise = max(upper, width - fall)
        if rise > up:
            rise, fall = max(upper, up), max(fall, width - up)
        n = len(self.cells)
        self.even[place] = False
        self.amount[place], self.amount[n + place] = rise, fall
        return bool(rise <= up and fall <= down)

    @property
    def made(self) -> Integers:
        """Requirements that are not zero."""
        return np.flatnonzero(self.amount > 0)

    @property
    def sign(self) -> Integers:
        n = len(self.cells)
        return np.repeat(np.array([1, -1]), n)
