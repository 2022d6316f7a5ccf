"""Values that an attack arrives at, without a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.model.arrays import Floats, Mask, frozen


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimates:
    """What an attacker arrives at, once for every replication.

    Parameters
    ----------
    value
        Replications by cells: the estimated true values.
    soft
        Replications in which no table met everything that had been guessed, so that guessed bounds were
        broken at a price.
    excess
        Replications by cells: by how much a guessed bound of the deviation was broken; zero where kept.
    """

    value: Floats
    soft: Mask
    excess: Floats

    def __post_init__(self) -> None:
        shape = np.shape(self.value)
        object.__setattr__(self, "value", frozen(self.value, np.float64, shape=shape, what="estimates"))
        object.__setattr__(self, "excess", frozen(self.excess, np.float64, shape=shape, what="excess"))
        object.__setattr__(self, "soft", frozen(self.soft, np.bool_, shape=shape[:1], what="soft"))

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        draws, cells = self.value.shape
        return (
            f"Estimates({draws} replications of {cells:_} cells, {int(self.soft.sum())} with broken guesses)"
        )
