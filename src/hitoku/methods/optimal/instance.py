"""Secondary suppression as arrays: which cells can move, by how much, at what cost, and what must be reached.

Only cells that can help are kept. The unknowns are differences ``d`` from the true table: zero outside the
withheld cells, ``relations @ d == 0``, ``-down <= d <= up``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.model import Floats, Integers, Mask

UP, DOWN, WIDTH = 1, -1, 0


@dataclass(frozen=True, slots=True, eq=False)
class ProtectionLevels:
    """What must be reached, one entry per cell and side.

    Parameters
    ----------
    cell
        Which cell must move.
    side
        ``UP``: by ``amount`` up; ``DOWN``: down; ``WIDTH``: the two ways together.
    amount
        How far, above zero.
    """

    cell: Integers
    side: NDArray[np.int8]
    amount: Floats

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, chosen: Mask | Integers) -> ProtectionLevels:
        return ProtectionLevels(self.cell[chosen], self.side[chosen], self.amount[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A suppression problem over the cells that can move.

    Parameters
    ----------
    cells
        Their positions in the table.
    relations
        Rows with at least two of them.
    up, down
        How far an outsider believes each cell can lie above and below its value.
    forced
        Cells that are withheld in any case.
    weight
        Cost of withholding each cell.
    tie
        Small whole numbers that decide between patterns of equal cost.
    levels
        What must be reached.
    """

    cells: Integers
    relations: sparse.csr_array
    up: Floats
    down: Floats
    forced: Mask
    weight: Floats
    tie: Integers
    levels: ProtectionLevels

    @property
    def free(self) -> Integers:
        """Cells to decide on."""
        return np.flatnonzero(~self.forced)

    def __len__(self) -> int:
        return len(self.cells)

    def kept(self, alive: Mask) -> Instance:
        """Give up all other cells; those in ``levels`` must be kept."""
        if alive.all():
            return self
        place = np.cumsum(alive) - 1
        # By hand: hundreds of small parts are taken out, and a library's slicing takes longer than a search.
        rows = self.relations
        there = alive[rows.indices]
        lengths = np.diff(np.concatenate([[0], np.cumsum(there)])[rows.indptr])
        lengths = lengths[lengths > 0]
        parts = rows.data[there], place[rows.indices[there]], np.concatenate([[0], np.cumsum(lengths)])
        return Instance(
            cells=self.cells[alive],
            relations=sparse.csr_array(parts, shape=(len(lengths), int(place[-1]) + 1)),
            up=self.up[alive],
            down=self.down[alive],
            forced=self.forced[alive],
            weight=self.weight[alive],
            tie=self.tie[alive],
            levels=replace(self.levels, cell=place[self.levels.cell]),
        )

    def with_levels(self, chosen: Mask) -> Instance:
        """Ask for some of the levels only."""
        return replace(self, levels=self.levels.take(chosen))
