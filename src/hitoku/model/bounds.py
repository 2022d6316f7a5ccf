"""What an attack finds out about each cell: bounds that it proves, and estimates without a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.errors import TableError
from hitoku.model.arrays import Floats, Mask, frozen


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bounds:
    """An interval for every cell.

    Parameters
    ----------
    lower, upper
        The ends; equal where a cell is published or worked out exactly.
    unknown
        Cells for which the attack stopped early: their interval is no result.

    Examples
    --------
    >>> bounds = Bounds(lower=[3, 0], upper=[3, 8])
    >>> bounds, bounds.width.tolist()
    (Bounds(2 cells, 1 exact), [0.0, 8.0])
    """

    lower: Floats
    upper: Floats
    unknown: Mask = False  # type: ignore[assignment]  # a scalar is repeated

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.lower))
        lower = frozen(self.lower, np.float64, shape=(n,), what="lower bounds")
        upper = frozen(self.upper, np.float64, shape=(n,), what="upper bounds")
        unknown = frozen(self.unknown, np.bool_, shape=(n,), what="unknown")
        if np.isnan(lower).any() or np.isnan(upper).any() or np.any(lower > upper):
            raise TableError(
                "bounds_invalid", "a bound is not a number, or lies on the wrong side of the other"
            )
        for name, array in (("lower", lower), ("upper", upper), ("unknown", unknown)):
            object.__setattr__(self, name, array)

    @property
    def width(self) -> Floats:
        """Length of each interval."""
        with np.errstate(invalid="ignore"):
            width = self.upper - self.lower
        return np.where(np.isnan(width), np.inf, width)

    def __repr__(self) -> str:
        exact = int(((self.upper == self.lower) & ~self.unknown).sum())
        unknown = f", {int(self.unknown.sum()):_} unknown" if self.unknown.any() else ""
        return f"Bounds({len(self.lower):_} cells, {exact:_} exact{unknown})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimates:
    """What an attacker arrives at, once for every replication."""

    value: Floats
    """Replications by cells: the estimated true values; NaN in a replication that was not decided within the
    work limit of the attack."""
    soft: Mask
    """Replications in which no table met everything that had been guessed, so that guessed bounds were broken
    at a price."""
    excess: Floats
    """Replications by cells: by how much a guessed bound of the deviation was broken; zero where kept."""

    def __post_init__(self) -> None:
        shape = np.shape(self.value)
        object.__setattr__(self, "value", frozen(self.value, np.float64, shape=shape, what="estimates"))
        object.__setattr__(self, "excess", frozen(self.excess, np.float64, shape=shape, what="excess"))
        object.__setattr__(self, "soft", frozen(self.soft, np.bool_, shape=shape[:1], what="soft"))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def undecided(self) -> Mask:
        """Replications that were not decided within the work limit of the attack."""
        return np.asarray(np.isnan(self.value).any(axis=1))

    def __repr__(self) -> str:
        draws, cells = self.value.shape
        open_ = int(self.undecided.sum())
        return (
            f"Estimates({draws} replications of {cells:_} cells, {int(self.soft.sum())} with broken guesses"
            f"{f', {open_} not decided' if open_ else ''})"
        )
