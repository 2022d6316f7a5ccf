"""What must be able to move, and what may: everything in whole steps of the grid that the values lie on.

Witnesses are differences from the true table, so only rooms and levels are rounded: rooms inwards, levels
outwards. What is found is exact, whatever the values are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hitoku.errors import NeedError, some
from hitoku.model import EXACT_SUMS, MAX_DECIMALS, ROUNDING, SUM_ROUNDING, Floats, Integers, Mask, Need

# Steps per unit of the grid where differences need not be whole: thirds and halves of a vertex are steps too.
PARTS = 60.0


@dataclass(frozen=True, eq=False)
class Rooms:
    """How far each cell may move, in whole steps held in doubles; infinite where nothing is in the way."""

    scale: float
    """Steps per unit."""
    down: Floats
    up: Floats
    """Room of each cell; zero where it must stay published or an outsider knows it."""

    @classmethod
    def of(cls, value: Floats, lower: Floats, upper: Floats, movable: Mask, *, integer: bool) -> Rooms:
        """Measure how far the cells of a table may move; ``integer`` for whole numbers."""
        scale = _scale(value, integer=integer)
        bounds = lower * scale, upper * scale
        value = value * scale
        near = np.rint(value)
        value = np.where(np.abs(value - near) <= SUM_ROUNDING * np.abs(value).max(initial=1.0), near, value)
        down = _floored(value - bounds[0])
        up = _floored(bounds[1] - value)
        return cls(scale, np.where(movable, down, 0.0), np.where(movable, up, 0.0))

    @property
    def even(self) -> Floats:
        """Room in both directions."""
        return np.minimum(self.down, self.up)


def _scale(value: Floats, *, integer: bool) -> float:
    """Find the coarsest grid of decimals; a fine one of powers of two where the values lie on none."""
    if integer:
        return 1.0
    largest = float(np.abs(value).max(initial=0.0))
    # Beyond, doubles hold no grid, and steps of one would leave 64 bits.
    decimals_held = range(MAX_DECIMALS + 1) if largest <= 2.0**53 else range(0)
    for decimals in decimals_held:
        steps = value * 10.0**decimals
        off = np.abs(steps - np.rint(steps)).max(initial=0.0)
        if off <= min(0.05, SUM_ROUNDING * largest * 10.0**decimals):
            finer = largest * 10.0**decimals * PARTS < EXACT_SUMS
            return 10.0**decimals * (PARTS if finer else 1.0)
    # Values that lie on no grid of decimals: 2**44 steps up to the largest.
    return float(2.0 ** np.floor(np.log2(2.0**44 / max(largest, 1.0))))


def _floored(room: Floats) -> Floats:
    near = np.rint(room)
    with np.errstate(invalid="ignore"):  # infinite rooms stay what they are
        whole = np.abs(room - near) <= ROUNDING * np.abs(room)
    return np.maximum(np.where(whole, near, np.floor(room)), 0.0)


def _ceiled(level: Floats) -> Floats:
    near = np.rint(level)
    return np.where(np.abs(level - near) <= ROUNDING * np.abs(level), near, np.ceil(level))


@dataclass(eq=False)
class Requirements:
    """How far unsafe cells must be able to go: two claims each, up (or both ways at once) and down."""

    cells: Integers
    """The unsafe cells; claim k and claim n + k belong to the k-th of n."""
    amount: Floats
    """Steps; zero for a claim that is not made."""
    even: Mask
    """The first claim holds both ways: a witness and its opposite both fit."""
    lower: Floats
    upper: Floats
    width: Floats
    """What the need asks for, in steps."""

    @classmethod
    def of(cls, need: Need, rooms: Rooms, describe: Callable[[int], str]) -> Requirements:
        """Split every need into claims: both ways at once where the cell itself has room for that.

        ``describe`` names a cell in an error.

        Raises
        ------
        NeedError
            When bounds that an outsider knows are closer than a need.
        """
        cells = np.flatnonzero(need.unsafe)
        lower, upper, width = (
            _ceiled(level[cells] * rooms.scale) for level in (need.lower, need.upper, need.width)
        )
        # A single value protects nobody, whatever the levels.
        width = np.maximum(width, 1.0)
        down, up = rooms.down[cells], rooms.up[cells]
        known = cells[(lower > down) | (upper > up) | (width > down + up)]
        if len(known):
            raise NeedError(
                "known_bounds_too_close",
                "{n} cell(s) cannot reach their protection: bounds that an outsider knows are closer",
                where="cells {cells}",
                fix="ask for lower levels, or widen the table's lower and upper bounds if they are not known",
                n=len(known),
                cells=some((describe(int(p)) for p in known[:4]), 3),
            )
        return cls.within(cells, lower, upper, width, down, up)

    @classmethod
    def within(
        cls, cells: Integers, lower: Floats, upper: Floats, width: Floats, down: Floats, up: Floats
    ) -> Requirements:
        """Make claims of levels in steps that the rooms of the cells allow.

        Parameters
        ----------
        cells
            The unsafe cells; one may be there more than once.
        lower, upper, width
            How far each must be able to go down, up and in all.
        down, up
            How far each can go.
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
        """Ask for both directions apart, given how far the cell can go; tell whether that is far enough."""
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
        """Claims that ask for something."""
        return np.flatnonzero(self.amount > 0)

    @property
    def sign(self) -> Integers:
        n = len(self.cells)
        return np.repeat(np.array([1, -1]), n)
