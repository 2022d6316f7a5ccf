"""Who is behind each cell: how many contributors, and how large the largest are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Integers, frozen

Magnitude = Literal["signed", "abs"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contributors:
    """Contributions to every cell at one level: per unit, or per holding.

    Parameters
    ----------
    count
        Distinct contributors in each cell.
    largest
        Cells by ranks: the largest contributions, falling, zero where there are fewer. With weights,
        a contributor of weight w fills w places (the last one in part).
    total
        What ``largest`` is compared with, on the same scale: the sum of all contributions.
    negative
        Some contribution is below zero.
    magnitude
        What becomes of contributions below zero. "signed": they lower the total and are never among
        the largest; "abs": they are ranked by size, and ``total`` adds sizes. None: nobody has said.
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
                "a contribution is not a finite number", fix="remove NaN and infinite values first"
            )
        if np.any(count < 0):
            raise TableError("a cell has a negative number of contributors", fix="counts start at zero")
        if np.any(np.diff(largest, axis=1) > 0) or np.any(largest < 0):
            raise TableError(
                "largest contributions are not in falling order, or below zero",
                fix="sort each cell's, the largest first; pad with zeros",
            )
        if self.magnitude not in (None, "signed", "abs"):
            raise TableError(f"magnitude must be 'signed' or 'abs', got {self.magnitude!r}")
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "largest", largest)
        object.__setattr__(self, "total", total)

    def __len__(self) -> int:
        return len(self.count)

    def take(self, cells: Integers) -> Contributors:
        """Return the same for some of the cells."""
        return Contributors(
            count=self.count[cells],
            largest=self.largest[cells],
            total=self.total[cells],
            negative=self.negative,
            magnitude=self.magnitude,
        )

    def __repr__(self) -> str:
        return f"Contributors({len(self)} cells, largest {self.largest.shape[1]})"
