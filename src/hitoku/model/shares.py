"""Who has how much in which cell: contributors by leaf cells, and the same in all the sums above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Integers
from hitoku.model.dimension import Dimension

# Shares that are held in memory at once: a record stands in every sum of its table.
MOST_SHARES = 50_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """Amounts of contributors in cells, each pair of them once.

    Parameters
    ----------
    names
        Names of the contributors; confidential.
    who, cell
        For each share its contributor and its cell, by position.
    amount
        What the contributor adds to the cell: a sum, or a number of records.
    """

    names: Sequence[str]
    who: Integers
    cell: Integers
    amount: Floats

    def __repr__(self) -> str:
        return f"Shares({len(self.names):_} contributors, {len(self.who):_} shares)"

    def in_all_cells(self, dimensions: Sequence[Dimension]) -> Shares:
        """Go from leaf cells to all cells of a table: a share in a leaf is one in every sum above it.

        Examples
        --------
        >>> from hitoku.model.dimension import dimensions_of
        >>> leaves = Shares(["a", "b"], np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5.0, 2.0, 1.0]))
        >>> every = leaves.in_all_cells(dimensions_of(["region"], [["N", "S"]], "Total"))
        >>> list(zip(every.who.tolist(), every.cell.tolist(), every.amount.tolist(), strict=True))
        [(0, 0, 5.0), (0, 1, 2.0), (0, 2, 7.0), (1, 1, 1.0), (1, 2, 1.0)]
        """
        places = np.unravel_index(self.cell, [len(d.leaves) for d in dimensions])
        share, cell = np.arange(len(self.who)), np.zeros(len(self.who), dtype=np.int64)
        for dimension, leaf in zip(dimensions, places, strict=True):
            above = dimension.closure.tocsc()
            often = np.diff(above.indptr)[leaf[share]]
            if often.sum() > MOST_SHARES:
                raise TableError(
                    f"every record stands in too many sums: more than {MOST_SHARES:_} shares",
                    fix="look at a table with fewer levels, or at fewer records",
                )
            step = np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
            code = above.indices[np.repeat(above.indptr[leaf[share]], often) + step]
            share, cell = np.repeat(share, often), np.repeat(cell, often) * len(dimension) + code
        n_cells = int(np.prod([len(d) for d in dimensions], dtype=np.int64))
        keys, first = np.unique(self.who[share] * n_cells + cell, return_inverse=True)
        amount = np.bincount(first, weights=self.amount[share], minlength=len(keys))
        return Shares(self.names, keys // n_cells, keys % n_cells, np.asarray(amount, dtype=np.float64))
