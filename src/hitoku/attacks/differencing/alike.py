"""Units that all outputs treat alike, in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hitoku.model import Integers


@dataclass(frozen=True, eq=False, repr=False)
class Alike:
    """Blocks of units that lie in the same cell of every partition.

    Examples
    --------
    >>> alike = Alike(np.array([0, 1, 1], dtype=np.int32), np.array([0, 1]), np.ones(3, dtype=np.uint64))
    >>> alike, alike.weights.tolist(), alike.units(np.array([1])).tolist()
    (Alike(3 units in 2 blocks), [1, 2], [1, 2])
    """

    block: NDArray[np.int32]
    """The block of every unit, from 0."""
    first: Integers
    """One unit of every block."""
    unit_keys: NDArray[np.uint64]
    """One number per unit."""

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def weights(self) -> Integers:
        """Number of units in every block."""
        return np.bincount(self.block, minlength=len(self))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """One number per block: the wrapped sum of its units'."""
        total = np.zeros(len(self), dtype=np.uint64)
        np.add.at(total, self.block, self.unit_keys)
        return total

    def units(self, blocks: Integers) -> Integers:
        """Return the units of some blocks, in order."""
        there = np.zeros(len(self), dtype=np.bool_)
        there[blocks] = True
        return np.flatnonzero(there[self.block])

    def __repr__(self) -> str:
        return f"Alike({len(self.block):_} units in {len(self):_} blocks)"
