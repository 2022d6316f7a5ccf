"""Which cells of a pattern to set free together: those that hang together around one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.instance import Instance
from hitoku.model import Integers, Mask

# How many more cells are set free after every quarter of the failures that are the end.
MORE = 5
# So many failures in a row are the end, at least.
FAILURES = 24
# Cells are drawn from a fixed seed: one table, one answer under a work limit.
SEED = 1


@dataclass(frozen=True, slots=True)
class Extent:
    """How far neighbourhoods go.

    Parameters
    ----------
    freed
        Cells of the pattern that are set free at first.
    candidates
        Cells that may come in beside them, by reduced cost.
    per_failure
        One failure in a row for so many cells of the pattern is the end.
    share
        No more than this share of the pattern is set free.
    """

    freed: int = 20
    candidates: int = 150
    per_failure: int = 8
    share: float = 1.0


# For when rows and reduced costs are so good that a wide neighbourhood is settled at its root.
WIDE = Extent(freed=60, candidates=300, per_failure=4, share=0.5)


class Neighbourhoods:
    """Parts of patterns, the ones around each cell first.

    Parameters
    ----------
    instance
        Whose relations say which cells are near each other.
    extent
        How many cells are drawn, and for how long.
    """

    def __init__(self, instance: Instance, extent: Extent | None = None) -> None:
        self.extent = Extent() if extent is None else extent
        rows = instance.relations
        marks = sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
        self._rows, self._columns = marks, sparse.csr_array(marks.T)
        self._random = np.random.default_rng(SEED)
        self._failures = 0

    def draw(self, pattern: Mask) -> Mask | None:
        """Return cells of a pattern to set free; None when it was in vain for long."""
        cells = np.flatnonzero(pattern)
        most = max(FAILURES, len(cells) // self.extent.per_failure)
        if self._failures >= most or len(cells) < 2:
            return None
        size = self.extent.freed + MORE * (4 * self._failures // most)
        size = min(size, round(self.extent.share * len(cells)))
        centre = int(cells[self._random.integers(len(cells))])
        self._failures += 1
        return self.around(centre, cells, size)

    def near(self, cells: Mask) -> Mask:
        """Return cells that share a relation with some of these, and these."""
        return np.asarray(self._columns @ (self._rows @ cells.astype(np.float64)) > 0) | cells

    def found(self) -> None:
        """Take note of a better pattern."""
        self._failures = 0

    def around(self, centre: int, cells: Integers, size: int) -> Mask:
        """Return the cells nearest to one, by steps from relation to relation, ties by chance."""
        distance = np.full(self._rows.shape[1], np.inf)
        here = np.zeros(len(distance))
        here[centre] = 1.0
        chosen = np.zeros(len(distance), dtype=bool)
        # The pattern's own cells carry the search on: what hangs together is searched together.
        inside = np.zeros(len(distance))
        inside[cells] = 1.0
        for step in range(len(cells)):
            distance[(here > 0) & np.isinf(distance)] = step
            if np.isfinite(distance[cells]).sum() >= size:
                break
            there = self._columns @ (self._rows @ here) * inside
            if not np.any((there > 0) & np.isinf(distance)):
                there = self._columns @ (self._rows @ here)
                if not np.any((there > 0) & np.isinf(distance)):
                    break
            here = ((there > 0) | (here > 0)).astype(np.float64)
        order = np.lexsort((self._random.random(len(cells)), distance[cells]))
        chosen[cells[order[:size]]] = True
        return chosen
