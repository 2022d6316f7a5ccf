"""Feasible tables as witnesses: deviations from the true table, each kept for the one cell that it moves.

A deviation that moves few cells agrees with nearly everybody: only who knows something about a cell that it
moves may have a word to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.need import reaches

# A cell, and how far somebody thinks that it can go down and up.
Sight = tuple[int, float, float]


class CellWitnesses:
    """Deviations by the cell that each is kept for; withholding more leaves them feasible.

    Examples
    --------
    Somebody knows that cell 1 cannot fall by more than 2, somebody else knows cell 2.

    >>> witnesses = CellWitnesses(4)
    >>> witnesses.add(0, np.array([0, 1, 3]), np.array([5.0, -5.0, 2.0]))
    >>> float(witnesses.high[0]), witnesses.shrunk([(1, 2.0, 9.0)]), witnesses.shrunk([(2, 0.0, 0.0)])
    (5.0, {0: 0.4}, {})
    """

    def __init__(self, n_cells: int) -> None:
        # The farthest that the witnesses of each cell take it.
        self.low, self.high = np.zeros(n_cells), np.zeros(n_cells)
        # By witness: its cell, and how far it moves that. By cell: its witnesses, and those that move it.
        self._owner: list[int] = []
        self._moved: list[float] = []
        self._kept_for: dict[int, list[int]] = {}
        self._through: dict[int, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self._owner)

    def add(self, own: int, cells: Integers, amounts: Floats) -> None:
        """Keep one more for a cell."""
        number, moved = len(self._owner), float(amounts[cells == own].sum())
        self._owner.append(own)
        self._moved.append(moved)
        self._kept_for.setdefault(own, []).append(number)
        for cell, amount in zip(cells.tolist(), amounts.tolist(), strict=True):
            self._through.setdefault(cell, []).append((number, amount))
        self.low[own], self.high[own] = min(self.low[own], moved), max(self.high[own], moved)

    def shrunk(self, room: Iterable[Sight]) -> dict[int, float]:
        """Return the witnesses that go farther than some cells can, with how much of each agrees with that.

        Parameters
        ----------
        room
            Cells, and how far each can go down and up.
        """
        scale: dict[int, float] = {}
        for cell, down, up in room:
            for number, amount in self._through.get(cell, ()):
                far = up if amount > 0 else down
                if abs(amount) > far:
                    scale[number] = min(scale.get(number, 1.0), far / abs(amount))
        return scale

    def owners(self, numbers: Iterable[int]) -> set[int]:
        """Return the cells that witnesses are kept for."""
        return {self._owner[number] for number in numbers}

    def reach(self, own: int, scale: Mapping[int, float]) -> tuple[float, float]:
        """Tell how far down and up a cell is taken by its witnesses when some of them are shrunk."""
        moved = [scale.get(number, 1.0) * self._moved[number] for number in self._kept_for.get(own, ())]
        return -min(moved, default=0.0), max(moved, default=0.0)


class CoalitionReach:
    """How far each cell is known to move in the eyes of one coalition, and how far it must.

    Parameters
    ----------
    cells
        Positions of the cells, sorted; everything else is by position in this list.
    slack
        What counts as rounding.
    least
        What moves less than this may not move at all: the solver cannot tell.
    lower, upper, width
        How far each must move down, up, and in all.
    """

    def __init__(
        self, cells: Integers, slack: Floats, least: Floats, lower: Floats, upper: Floats, width: Floats
    ) -> None:
        self.cells, self.slack, self.least = cells, slack, least
        self.lower, self.upper, self.width = lower, upper, width
        self.enough = np.maximum(np.maximum(lower, upper), width) + 4 * least
        self.down, self.up = np.zeros(len(cells)), np.zeros(len(cells))

    @property
    def missing(self) -> Mask:
        """Cells that are not known to move far enough; a single value never is."""
        return ~self.far_enough(self.down, self.up)

    def far_enough(self, down: Floats, up: Floats) -> Mask:
        """Tell which cells would have what they need if they moved so far."""
        far = reaches(down, up, self.lower, self.upper, self.width, self.slack)
        return np.asarray(far & (down + up > self.least))

    def lacks(self, one: int, down: float, up: float) -> bool:
        """Tell whether one cell needs more than to move so far."""
        need = (each[one : one + 1] for each in (self.lower, self.upper, self.width, self.slack))
        far = reaches(np.array([down]), np.array([up]), *need)
        return not (far[0] and down + up > self.least[one])

    def take(self, witnesses: CellWitnesses, scale: Mapping[int, float]) -> None:
        """Take witnesses into account, some of them shrunk."""
        self.down, self.up = -witnesses.low[self.cells], witnesses.high[self.cells]
        for own in witnesses.owners(scale):
            one = int(np.searchsorted(self.cells, own))
            if one < len(self.cells) and self.cells[one] == own:
                self.down[one], self.up[one] = witnesses.reach(own, scale)

    def note(self, which: Integers, moved: Floats) -> None:
        """Take into account that some cells can move so far."""
        self.down[which] = np.maximum(self.down[which], -moved)
        self.up[which] = np.maximum(self.up[which], moved)
