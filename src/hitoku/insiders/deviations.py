"""Feasible tables as witnesses: deviations from the true table, and how far they show that cells can move."""

from __future__ import annotations

import numpy as np

from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.need import reaches


class DeviationPool:
    """Differences between feasible tables and the true one; withholding more leaves them feasible."""

    def __init__(self, n_cells: int) -> None:
        self._rows = np.zeros((16, n_cells))
        self._n = 0
        # The farthest that any of them takes each cell.
        self.low, self.high = np.zeros(n_cells), np.zeros(n_cells)

    @property
    def rows(self) -> Floats:
        """The deviations collected so far, by cells."""
        return self._rows[: self._n]

    def add(self, deviation: Floats) -> None:
        """Collect one more."""
        if self._n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._n] = deviation
        self._n += 1
        np.minimum(self.low, deviation, out=self.low)
        np.maximum(self.high, deviation, out=self.high)


class CoalitionReach:
    """How far each cell is known to move in the eyes of one coalition, and how far it must.

    Parameters
    ----------
    cells
        Positions of the cells; everything else is by position in this list.
    slack
        What counts as rounding.
    least
        What moves less than this may not move at all: the solver cannot tell.
    lower, upper, width
        How far each must move down, up, and in all.
    """

    def __init__(
        self, cells: Integers, slack: Floats, least: Floats, lower: Floats, upper: Floats, width: Floats
    ) -> None:
        self.cells = cells
        self._slack, self._least = slack, least
        self._lower, self._upper, self._width = lower, upper, width
        self.enough = np.maximum(np.maximum(lower, upper), width) + 4 * least
        self.down, self.up = np.zeros(len(cells)), np.zeros(len(cells))

    @property
    def missing(self) -> Mask:
        """Cells that are not known to move far enough; a single value never is."""
        return ~self.far_enough(self.down, self.up)

    def far_enough(self, down: Floats, up: Floats) -> Mask:
        """Tell which cells would have what they need if they moved so far."""
        far = reaches(down, up, self._lower, self._upper, self._width, self._slack)
        return np.asarray(far & (down + up > self._least))

    def take(self, deviations: DeviationPool, scale: Floats) -> None:
        """Take deviations into account, each shrunk."""
        rows, whole = deviations.rows, scale == 1.0
        if whole.all():
            self.up, self.down = deviations.high[self.cells], -deviations.low[self.cells]
            return
        left = np.arange(len(self.cells))
        for some, factor in ((whole, 1.0), ((scale > 0) & ~whole, scale[(scale > 0) & ~whole, None])):
            shrunk = rows[np.ix_(np.flatnonzero(some), self.cells[left])] * factor
            self.up[left] = np.maximum(self.up[left], shrunk.max(axis=0, initial=0.0))
            self.down[left] = np.maximum(self.down[left], -shrunk.min(axis=0, initial=0.0))
            # Most cells are settled by deviations that need not shrink.
            left = np.flatnonzero(self.missing)

    def note(self, deviation: Floats) -> bool:
        """Take one more into account; tell whether it went farther than any before."""
        moved = deviation[self.cells]
        better = (moved > self.up + self._slack / 2) | (-moved > self.down + self._slack / 2)
        self.up, self.down = np.maximum(self.up, moved), np.maximum(self.down, -moved)
        return bool(better.any())
