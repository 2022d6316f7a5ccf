"""How far a need asks a cell to move, and which way it can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.errors import NeedError, some
from hitoku.model import Floats, Mask, Need, Table

UP, DOWN = 1, -1


@dataclass(frozen=True, slots=True)
class AllowedDeviations:
    """Deviations that are allowed, before the senses are known.

    Parameters
    ----------
    unsafe
        Cells that must move.
    down, up
        How far each of them must fall, or else rise; zero elsewhere, and where that way is no protection.
    lower, upper
        Bounds of every deviation; both zero where a cell is kept.
    """

    unsafe: Mask
    down: Floats
    up: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, table: Table, need: Need, kept: Mask) -> AllowedDeviations:
        """Read them from a need: ``lower`` and ``upper``, both raised alike until they span ``width``."""
        if len(need) != table.n_cells:
            raise NeedError(
                "need_of_other_table",
                "a need of {n_need} cells for a table of {n_table}",
                fix="assess this very table",
                n_need=len(need),
                n_table=table.n_cells,
            )
        unsafe = need.unsafe
        missing = np.maximum(need.width - need.lower - need.upper, 0.0) / 2
        down, up = need.lower + missing, need.upper + missing
        _refuse(
            table,
            unsafe & kept,
            "may not be changed",
            "take them out of keep or fixed, or merge their codes until they are safe",
        )
        _refuse(
            table,
            unsafe & (down == 0) & (up == 0),
            "come without a level, so nobody says how far they must move",
            "give a width with the rules, or levels with the rule given",
        )
        lower = np.where(kept, 0.0, table.lower - table.value)
        upper = np.where(kept, 0.0, table.upper - table.value)
        levels = cls(unsafe, down, up, lower, upper)
        _refuse(
            table,
            unsafe & ~levels.can(UP) & ~levels.can(DOWN),
            "can move far enough neither up nor down within their bounds",
            "widen lower or upper of the table, or ask for less",
        )
        return levels

    def can(self, sense: int) -> Mask:
        """Tell which cells may move this way: there is a level to reach, and their own bounds allow it."""
        if sense == UP:
            return np.asarray((self.up > 0) & (self.up <= self.upper))
        return np.asarray((self.down > 0) & (-self.down >= self.lower))

    def within(self, sense: Floats) -> tuple[Floats, Floats]:
        """Bounds of the deviations once every unsafe cell has a sense: formula (5) of Castro (2012)."""
        lower = np.where(self.unsafe & (sense > 0), self.up, self.lower)
        upper = np.where(self.unsafe & (sense < 0), -self.down, self.upper)
        return lower, upper


def _refuse(table: Table, wrong: Mask, what: str, fix: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        cells = some((table.describe(int(p)) for p in places[:4]), 3)
        raise NeedError(
            "unsafe_cells_cannot_deviate",
            "{n} unsafe cell(s) {reason}",
            where="cells {cells}",
            fix=fix,
            n=len(places),
            reason=what,
            cells=cells,
        )
