"""Contributors to each cell: their number, the largest contributions, and all single contributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Integers, frozen
from hitoku.model.dimension import Dimension

Magnitude = Literal["signed", "abs"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contributors:
    """Contributions to every cell at one level: per unit, or per holding.

    Parameters
    ----------
    count
        Number of distinct contributors to each cell.
    largest
        Largest contributions in descending order, cells by ranks, padded with zeros. With weights, a
        contributor of weight w takes w ranks (the last one in part).
    total
        Sum of all contributions to each cell, on the same scale as ``largest``.
    negative
        Whether some contribution is negative.
    magnitude
        Treatment of negative contributions. "signed": they lower the total and are never among the largest.
        "abs": they are ranked by absolute value, and ``total`` sums absolute values. None: not chosen.
    """

    count: Integers
    largest: Floats
    total: Floats
    negative: bool = False
    magnitude: Magnitude | None = None

    def __post_init__(self) -> None:
        n_cells = len(np.atleast_1d(self.count))
        top = np.shape(self.largest)[1] if np.ndim(self.largest) == 2 else 0
        count = frozen(self.count, np.int64, shape=(n_cells,), what="number of contributors")
        largest = frozen(self.largest, np.float64, shape=(n_cells, top), what="largest contributions")
        total = frozen(self.total, np.float64, shape=(n_cells,), what="total of contributions")
        if not (np.isfinite(largest).all() and np.isfinite(total).all()):
            raise TableError(
                "contribution_not_finite",
                "a contribution is not a finite number",
                fix="remove NaN and infinite values first",
            )
        if np.any(count < 0):
            raise TableError(
                "contributors_negative",
                "a cell has a negative number of contributors",
                fix="counts start at zero",
            )
        if np.any(np.diff(largest, axis=1) > 0) or np.any(largest < 0):
            raise TableError(
                "largest_not_falling",
                "largest contributions are not in falling order, or below zero",
                fix="sort each cell's, the largest first; pad with zeros",
            )
        if self.magnitude not in (None, "signed", "abs"):
            raise TableError(
                "magnitude_invalid",
                "magnitude must be 'signed' or 'abs', got {magnitude!r}",
                magnitude=self.magnitude,
            )
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "largest", largest)
        object.__setattr__(self, "total", total)

    def __len__(self) -> int:
        return len(self.count)

    def take(self, cells: Integers) -> Contributors:
        """Return the contributors to some of the cells."""
        return Contributors(
            count=self.count[cells],
            largest=self.largest[cells],
            total=self.total[cells],
            negative=self.negative,
            magnitude=self.magnitude,
        )

    def __repr__(self) -> str:
        return f"Contributors({len(self)} cells, largest {self.largest.shape[1]})"


# Maximum number of shares in memory. A record has a share in every total of its table.
MAX_SHARES = 50_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """Contributions by contributor and cell, at most one for each pair."""

    names: Sequence[str]
    """Names of the contributors; confidential."""
    who: Integers
    cell: Integers
    """Index of the contributor and index of the cell, for each share."""
    amount: Floats
    """Contribution to the cell: a sum, or a number of records."""

    def __repr__(self) -> str:
        return f"Shares({len(self.names):_} contributors, {len(self.who):_} shares)"

    def in_all_cells(self, dimensions: Sequence[Dimension]) -> Shares:
        """Return the shares in all cells of a table, given those in its leaf cells.

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
            if often.sum() > MAX_SHARES:
                raise TableError(
                    "too_many_shares",
                    "the records have too many totals: more than {most:_} shares",
                    fix="use a table with fewer levels, or fewer records",
                    most=MAX_SHARES,
                )
            step = np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
            code = above.indices[np.repeat(above.indptr[leaf[share]], often) + step]
            share, cell = np.repeat(share, often), np.repeat(cell, often) * len(dimension) + code
        n_cells = int(np.prod([len(d) for d in dimensions], dtype=np.int64))
        keys, first = np.unique(self.who[share] * n_cells + cell, return_inverse=True)
        amount = np.bincount(first, weights=self.amount[share], minlength=len(keys))
        return Shares(self.names, keys // n_cells, keys % n_cells, np.asarray(amount, dtype=np.float64))
