"""How far cells can move at most, one relation at a time: a quick bound that needs no solver.

In a relation, a cell can rise by no more than what the others together can make up for. Handing such limits
from relation to relation never cuts off a table that fits, so a cell held too close by them is held
too close in truth. The reverse does not hold: what passes here still has to be shown by a solver.
"""

from __future__ import annotations

import numpy as np

from hitoku.methods.greedy.pattern import Pattern
from hitoku.model.arrays import Floats, Mask

# Limits that shrink by less than this share count as settled: a chain of relations can creep on forever.
CREEP = 1e-9
# Rounding of a sum of doubles, as a share of it, with room for thousands of terms.
ROUNDING = 1e-12


class Propagation:
    """Limits of the loose cells of a pattern, tightened round by round.

    Attributes
    ----------
    down, up
        Per cell of the table: how far it can fall and rise at most; zero where it is not loose.
    settled
        Another round would change nothing worth having.
    """

    def __init__(self, pattern: Pattern, down: Floats, up: Floats) -> None:
        self.down = np.where(pattern.loose, down, 0.0)
        self.up = np.where(pattern.loose, up, 0.0)
        loose = np.flatnonzero(pattern.loose)
        degree = pattern.degree(loose)
        self._cells = loose[degree > 0]
        degree = degree[degree > 0]
        places, rows = pattern.entries_of(self._cells)
        used, self._rows = np.unique(rows, return_inverse=True)
        self._n_rows = len(used)
        self._starts = np.cumsum(degree) - degree
        self._own = np.repeat(np.arange(len(self._cells)), degree)
        coefficients = pattern.coefficients[places]
        self._size, self._negative = np.abs(coefficients), coefficients < 0
        self.settled = len(self._cells) == 0

    def tighten(self) -> None:
        """One round over all relations."""
        down, up = self.down[self._cells], self.up[self._cells]
        # Per entry: how much the cell can add to its relation, and take away from it.
        adds = self._size * np.where(self._negative, down[self._own], up[self._own])
        takes = self._size * np.where(self._negative, up[self._own], down[self._own])
        # What a cell adds, the others must take away, and the other way round.
        may_add = self._others(takes) / self._size
        may_take = self._others(adds) / self._size
        new_up = np.minimum(up, self._least(np.where(self._negative, may_take, may_add)))
        new_down = np.minimum(down, self._least(np.where(self._negative, may_add, may_take)))
        self.settled = not (_shrank(up, new_up) or _shrank(down, new_down))
        self.up[self._cells], self.down[self._cells] = new_up, new_down

    def _others(self, amounts: Floats) -> Floats:
        """Per entry the sum over the other entries of its relation; infinite amounts are counted apart."""
        infinite: Mask = np.isinf(amounts)
        positive: Mask = amounts > 0
        finite = np.where(infinite, 0.0, amounts)
        total = np.bincount(self._rows, finite, self._n_rows)[self._rows]
        endless = np.bincount(self._rows, infinite, self._n_rows)[self._rows]
        some = np.bincount(self._rows, positive, self._n_rows)[self._rows]
        # Subtracting a large amount from the total leaves the rounding of the large one: allow for it.
        others = np.where(some > positive, np.maximum(total - finite, 0.0) + ROUNDING * total, 0.0)
        return np.where(endless > infinite, np.inf, others)

    def _least(self, limits: Floats) -> Floats:
        least: Floats = np.minimum.reduceat(limits, self._starts)
        return least


def _shrank(old: Floats, new: Floats) -> bool:
    finite = np.isfinite(old)
    fell = old[finite] - new[finite] > CREEP * np.maximum(1.0, old[finite])
    return bool(fell.any() or np.isfinite(new[~finite]).any())
