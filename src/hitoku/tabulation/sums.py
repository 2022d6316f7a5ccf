"""Sums and counts of records: per leaf while records pass by, then for every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels import record_order
from hitoku.model.arrays import Floats, Integers
from hitoku.model.relations import add_up
from hitoku.tabulation.contributors import RecordRows, leaf_bits
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.numbers import Numbers


@dataclass(frozen=True)
class LeafSums:
    """Arrays over the leaves that grow with every batch of rows.

    Parameters
    ----------
    records
        Number of records.
    amounts
        By name of the measure: the sum on the scale of its numbers, and what rounding lost.
    """

    cube: Cube
    numbers: Numbers
    records: Integers
    amounts: dict[str, Floats]

    @classmethod
    def empty(cls, cube: Cube, numbers: Numbers, *, valued: bool, weighted: bool) -> LeafSums:
        """Start with nothing."""
        names = ["sum"] * valued + ["weighted_sum"] * (valued and weighted) + ["weighted_count"] * weighted
        amounts = {name: np.zeros((cube.n_leaves, 2)) for name in names}
        return cls(cube, numbers, np.zeros(cube.n_leaves, dtype=np.int64), amounts)

    def watch(self, rows: RecordRows) -> None:
        """Add some rows; their order follows from the data, so the sums do too."""
        mask = (1 << leaf_bits(self.cube)) - 1
        record_order.leaf_counts(rows.key, mask, self.records)
        for name, sums in self.amounts.items():
            record_order.leaf_sums(rows.key, mask, self._amount(name, rows), sums)

    def _amount(self, name: str, rows: RecordRows) -> Floats:
        if name == "sum":
            return rows.x
        scale, rounded = self.numbers.weight_scale, self.numbers.rounded
        if name == "weighted_sum" and rounded:
            return np.asarray(np.rint(rows.w * rows.x))
        alone = rounded and "sum" not in self.amounts
        weights = rows.w if scale == 1.0 and not alone else np.rint(rows.w * scale)
        return weights if name == "weighted_count" else weights * rows.x

    def measures(self) -> dict[str, NDArray[Any]]:
        """Every cell's number of records and sums."""
        scales = {"sum": self.numbers.scale, "weighted_count": self.numbers.weight_scale}
        scales["weighted_sum"] = self.numbers.scale * self.numbers.weight_scale
        found: dict[str, NDArray[Any]] = {"records": self._spread(self.records).astype(np.int64)}
        for name, sums in self.amounts.items():
            found[name] = self._spread(sums[:, 0] + sums[:, 1]) / scales[name]
        return found

    def _spread(self, leaves: NDArray[Any]) -> Floats:
        return add_up(leaves.reshape(self.cube.leaf_shape), self.cube.dimensions)
