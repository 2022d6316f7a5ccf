"""Requirements: how far cells must be able to move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.model import Floats, Integers, Mask, Need


@dataclass(frozen=True, eq=False)
class Levels:
    """Protection levels of the cells of a problem, in its units."""

    down: Floats
    up: Floats
    width: Floats
    """Distance that each cell must be able to move down, up and in total."""
    required: Mask
    """Cells that must be able to move at all; levels of the others are zero."""

    @classmethod
    def none(cls, n: int) -> Levels:
        """Return levels that require nothing of ``n`` cells."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_))

    @classmethod
    def of(cls, need: Need, cells: Integers, required: Mask) -> Levels:
        """Return the levels of a need for some cells, rounded up to whole numbers."""
        down, up, width = (
            np.ceil(np.where(required, level[cells], 0.0)) for level in (need.lower, need.upper, need.width)
        )
        return cls(down, up, width, required)

    def take(self, cells: Integers) -> Levels:
        """Return the levels of some cells."""
        return Levels(self.down[cells], self.up[cells], self.width[cells], self.required[cells])
