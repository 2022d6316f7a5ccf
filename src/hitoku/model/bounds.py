"""Results of attacks: proved bounds of each cell, and estimates."""

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
        Bounds of each cell; equal if the cell is published or known exactly.
    unknown
        Cells for which the attack stopped early. Their bounds are not valid.

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
        """Width of each interval."""
        with np.errstate(invalid="ignore"):
            width = self.upper - self.lower
        return np.where(np.isnan(width), np.inf, width)

    def __repr__(self) -> str:
        exact = int(((self.upper == self.lower) & ~self.unknown).sum())
        unknown = f", {int(self.unknown.sum()):_} unknown" if self.unknown.any() else ""
        return f"Bounds({len(self.lower):_} cells, {exact:_} exact{unknown})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimates:
    """Estimates of an attacker, one for every replication."""

    value: Floats
    """Estimated true values, replications by cells; NaN for replications that were not decided."""
    soft: Mask
    """Replications in which no table satisfies all guesses, so that guessed bounds were violated."""
    excess: Floats
    """Violation of guessed bounds, replications by cells; zero if satisfied."""

    def __post_init__(self) -> None:
        shape = np.shape(self.value)
        object.__setattr__(self, "value", frozen(self.value, np.float64, shape=shape, what="estimates"))
        object.__setattr__(self, "excess", frozen(self.excess, np.float64, shape=shape, what="excess"))
        object.__setattr__(self, "soft", frozen(self.soft, np.bool_, shape=shape[:1], what="soft"))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def undecided(self) -> Mask:
        """Replications that were not decided within the work limit."""
        return np.asarray(np.isnan(self.value).any(axis=1))

    def __repr__(self) -> str:
        draws, cells = self.value.shape
        open_ = int(self.undecided.sum())
        return (
            f"Estimates({draws} replications of {cells:_} cells, {int(self.soft.sum())} with broken guesses"
            f"{f', {open_} not decided' if open_ else ''})"
        )
