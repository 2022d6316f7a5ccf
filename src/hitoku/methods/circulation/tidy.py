"""Withheld cells published again: all batches are led round one cell after the other, the dearest first.

Only withheld cells move here, so programs are small, and each is solved from where it stood: all that changes
is that some cells no longer move. Before that, the relations are asked: a cell that is left alone in one must
be published too, and if an unsafe one falls in this way nothing is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache

import numpy as np
from scipy import sparse

from hitoku.feasibility import Pattern
from hitoku.methods.circulation.batches import Batches, BatchProgram, WitnessBatch
from hitoku.methods.circulation.reach import CellReach, levelled
from hitoku.model import Integers
from hitoku.solver.linear import Warm
from hitoku.solver.work import CountedWork

# Simplex steps of one try.
STEPS = 1_500


class BatchTidy:
    """The withheld cells of a pattern, and one program for each batch.

    Parameters
    ----------
    state
        Rooms, claims and prices.
    reach, relations
        The relations, in whole numbers and as the table has them.
    batches
        The changes that make the pattern.
    """

    def __init__(
        self,
        state: Batches,
        reach: CellReach,
        relations: sparse.csr_array,
        batches: Sequence[WitnessBatch],
    ) -> None:
        self._state, self._batches = state, list(batches)
        self._pinned = state.price <= 0
        self._held = state.moved(batches) | self._pinned
        self._pattern = Pattern(relations, np.ones(len(self._held), dtype=bool), self._held)
        self._program = BatchProgram(reach, relations, state, np.flatnonzero(self._held))
        self._weight = levelled(state.price, self._held & state.ordinary)
        self.tried = 0

    def run(self, work: int, more: Callable[[], bool]) -> list[WitnessBatch]:
        """Publish what can be published; return the batches.

        Parameters
        ----------
        work
            Cells that the programs which are solved may have together.
        more
            Asked before every cell: False ends it.
        """
        price = self._state.price
        secondary = np.flatnonzero(self._held & ~self._pinned)
        secondary = secondary[np.lexsort((secondary, -price[secondary]))]
        if len(secondary) == 0:
            return self._batches
        with ExitStack() as stack:
            # A batch that is never in the way needs no program.
            warm = cache(lambda _number: stack.enter_context(self._program.opened(STEPS, CountedWork())))
            for cell in secondary.tolist():
                if self.tried * len(self._program.cells) >= work or not more():
                    break
                falling = self._pattern.given_away(cell, self._pinned) if self._held[cell] else None
                if falling is not None:
                    self._publish(np.array(sorted({cell, *falling}), dtype=np.int64), warm)
        return self._batches

    def _publish(self, falling: Integers, warm: Callable[[int], Warm]) -> None:
        """Publish some cells, if all batches can be led round them."""
        held = self._held.copy()
        held[falling] = False
        new = {}
        for number, batch in enumerate(self._batches):
            if np.any(batch.change[falling]):
                self.tried += 1
                found = self._program.solved(batch, self._weight, warm(number), held)
                if found is None:
                    return
                new[number] = found
        for number, found in new.items():
            self._batches[number] = found
        self._held = held
        for cell in falling.tolist():
            self._pattern.publish(cell)
