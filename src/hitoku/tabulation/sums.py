"""Sums and counts of records: per leaf while records pass by, then for every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels import fixed_point, record_order
from hitoku.model.arrays import Floats, Integers
from hitoku.model.relations import add_up
from hitoku.tabulation.contributors import leaf_bits
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.numbers import Numbers


@dataclass(frozen=True, eq=False)
class LeafSums:
    """Arrays over the leaves that grow with every batch of rows, in any order.

    Parameters
    ----------
    records
        Number of records.
    amounts
        By name of the measure, integers of two words; see :mod:`hitoku.kernels.fixed_point`.
    """

    cube: Cube
    numbers: Numbers
    records: Integers
    amounts: dict[str, Integers]

    @classmethod
    def empty(cls, cube: Cube, numbers: Numbers, *, valued: bool, weighted: bool) -> LeafSums:
        """Start with nothing."""
        names = ["sum"] * valued + ["weighted_sum"] * (valued and weighted) + ["weighted_count"] * weighted
        amounts = {name: np.zeros((cube.n_leaves, 2), dtype=np.int64) for name in names}
        return cls(cube, numbers, np.zeros(cube.n_leaves, dtype=np.int64), amounts)

    def watch(self, key: record_order.Keys, x: Floats, w: Floats) -> None:
        """Add some rows; the leaf stands in the low bits of the key."""
        mask = (1 << leaf_bits(self.cube)) - 1
        record_order.leaf_counts(key, mask, self.records)
        for name, words in self.amounts.items():
            fixed_point.leaf_sums(key, mask, self._amount(name, x, w), self.numbers.fine.sums[name], words)

    def _amount(self, name: str, x: Floats, w: Floats) -> Floats:
        if name == "sum":
            return x
        scale, rounded = self.numbers.weight_scale, self.numbers.rounded
        if name == "weighted_sum" and rounded:
            return np.asarray(np.rint(w * x))
        alone = rounded and "sum" not in self.amounts
        weights = w if scale == 1.0 and not alone else np.rint(w * scale)
        return weights if name == "weighted_count" else weights * x

    def measures(self) -> dict[str, NDArray[Any]]:
        """Every cell's number of records and sums."""
        scales = {"sum": self.numbers.scale, "weighted_count": self.numbers.weight_scale}
        scales["weighted_sum"] = self.numbers.scale * self.numbers.weight_scale
        shape, dimensions = self.cube.leaf_shape, self.cube.dimensions
        found: dict[str, NDArray[Any]] = {
            "records": add_up(self.records.reshape(shape), dimensions).astype(np.int64)
        }
        for name, words in self.amounts.items():
            cells = fixed_point.round_all(self._spread(words), self.numbers.fine.sums[name])
            found[name] = cells / scales[name]
        return found

    def _spread(self, words: Integers) -> Integers:
        for indptr, indices, before, n_leaves, after in self.cube.upward():
            target = np.zeros((before * (len(indptr) - 1) * after, 2), dtype=np.int64)
            fixed_point.add_axis(words, indptr, indices, target, before, n_leaves, after)
            words = target
        return words
