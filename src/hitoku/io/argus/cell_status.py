"""Cells with their τ-ARGUS status, and manual marks set before suppression."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from hitoku.io.argus.batch_request import Safety
from hitoku.model import Floats, Integers, Mask, Need, Protection, Table


class ArgusStatus(IntEnum):
    """Status codes of τ-ARGUS."""

    SAFE = 1
    SAFE_BY_HAND = 2
    RULE = 3
    REQUEST = 4
    FREQUENCY = 5
    ZERO = 6
    BY_HAND = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_BY_HAND = 12
    EMPTY = 14


UNSAFE = (ArgusStatus.RULE, ArgusStatus.REQUEST, ArgusStatus.FREQUENCY, ArgusStatus.ZERO, ArgusStatus.BY_HAND)
BY_HAND = "given"  # rule name of manually marked cells in a need


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Marks:
    """Manual marks in a table that was read."""

    # unsafe, protected, withheld: masks of cells marked as unsafe, as never to be suppressed, and as
    # suppressed.
    unsafe: Mask
    protected: Mask
    withheld: Mask
    # lower, upper: given protection levels, zero if none; levels of safe cells have no meaning.
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Judged:
    """Table with its statuses and protection requirements."""

    table: Table  # Table with costs, fixed cells and known bounds.
    need: Need  # Unsafe cells and their levels.
    status: Integers  # Status codes, as in :class:`ArgusStatus`.
    safety: Safety  # Applied rules.
    decimals: int = 0  # Decimals of the values in files.
    # Values for files if those of the table were adjusted to be additive; None: values of the table.
    shown: Floats | None = None

    @property
    def step(self) -> float:
        """Unit of the last decimal, the smallest level."""
        return float(10.0**-self.decimals)

    @property
    def withheld(self) -> Mask:
        """Cells other than unsafe ones that are suppressed before any method runs."""
        return np.isin(self.status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_BY_HAND))

    def after(self, protection: Protection | None) -> Integers:
        """Return the status of every cell after suppression."""
        if protection is None:
            return self.status
        added = protection.withheld & ~self.need.unsafe & ~self.withheld
        by_hand = np.where(
            self.status == ArgusStatus.SAFE_BY_HAND,
            int(ArgusStatus.SECONDARY_BY_HAND),
            int(ArgusStatus.SECONDARY),
        )
        return np.where(added, by_hand, self.status)

    def range_of(self, percent: float) -> Floats:
        """Return a level in percent of every value, at least one unit of the last decimal."""
        return np.maximum(percent / 100 * np.abs(self.table.value), self.step)

    def __repr__(self) -> str:
        return f"Judged({self.table!r}, {self.need!r})"
