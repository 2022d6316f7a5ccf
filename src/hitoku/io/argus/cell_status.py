"""Cells with their τ-ARGUS status, and what people marked before anything is suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from hitoku.io.argus.batch_request import Safety
from hitoku.model import Floats, Integers, Mask, Need, Protection, Table


class ArgusStatus(IntEnum):
    """How τ-ARGUS numbers what it knows about a cell."""

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
BY_HAND = "given"  # what a need calls cells that somebody marked


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Marks:
    """What people said about single cells of a table that was read.

    Parameters
    ----------
    unsafe, protected, withheld
        Cells marked as unsafe, as never to be withheld, as withheld already.
    lower, upper
        Levels that were given, zero where they were not; those of safe cells mean nothing.
    """

    unsafe: Mask
    protected: Mask
    withheld: Mask
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Judged:
    """A table with what must be protected in it.

    Parameters
    ----------
    table
        Values, costs, cells that stay published, known bounds.
    need
        Unsafe cells and their levels.
    status
        Numbers of :class:`ArgusStatus`.
    safety
        The rules that were applied.
    decimals
        Decimals of the values in files.
    shown
        Values for files where those of the table were made to add up; None: those of the table.
    """

    table: Table
    need: Need
    status: Integers
    safety: Safety
    decimals: int = 0
    shown: Floats | None = None

    @property
    def step(self) -> float:
        """One unit of the last decimal, the least level there is."""
        return float(10.0**-self.decimals)

    @property
    def withheld(self) -> Mask:
        """Cells that are withheld before any method runs, besides the unsafe ones."""
        return np.isin(self.status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_BY_HAND))

    def after(self, protection: Protection | None) -> Integers:
        """Return the status of every cell once a method has decided."""
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
        """Return a level in percent of every value, one last decimal at least."""
        return np.maximum(percent / 100 * np.abs(self.table.value), self.step)

    def __repr__(self) -> str:
        return f"Judged({self.table!r}, {self.need!r})"
