"""Feasible tables as witnesses: deviations from the true table, each kept for the one cell that it moves.

A deviation that moves few cells agrees with nearly everybody: only who knows something about a cell that it
moves may have a word to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hitoku.model import Floats, Integers, Mask, reaches

# Witnesses are sorted again when this share of their entries is not.
FRESH = 0.05

# A cell, and how far somebody thinks that it can go down and up.
CellRange = tuple[int, float, float]


@dataclass(frozen=True, eq=False)
class CoalitionDeviations:
    """Deviations one after the other."""

    owner: Integers
    """The cell that each is kept for."""
    begins: Integers
    """Where each begins among the entries, and where the last one ends."""
    cells: Integers
    amounts: Floats
    """Cells that move, and how far."""

    @classmethod
    def none(cls) -> CoalitionDeviations:
        """Return an empty list."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, np.zeros(1, dtype=np.int64), nothing, np.zeros(0))

    def and_then(self, others: CoalitionDeviations) -> CoalitionDeviations:
        """Return these and others after them."""
        return CoalitionDeviations(
            np.concatenate([self.owner, others.owner]),
            np.concatenate([self.begins, self.begins[-1] + others.begins[1:]]),
            np.concatenate([self.cells, others.cells]),
            np.concatenate([self.amounts, others.amounts]),
        )

    def opposite(self, which: Mask) -> CoalitionDeviations:
        """Return some of them the other way round."""
        entries = np.repeat(which, np.diff(self.begins))
        lengths = np.diff(self.begins)[which]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        return CoalitionDeviations(self.owner[which], begins, self.cells[entries], -self.amounts[entries])


class SortedWitnesses:
    """Witnesses in order, by number and by cell.

    Parameters
    ----------
    deviations
        The witnesses.
    by_cell
        Where each cell's begin in the next two; witnesses that move it, the shortest first, and how far.
    """

    def __init__(self, deviations: CoalitionDeviations, by_cell: tuple[Integers, Integers, Floats]) -> None:
        self.deviations, self._by_cell = deviations, by_cell
        n_cells = len(by_cell[0]) - 1
        self._slates = np.zeros(n_cells), np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.bool_)

    @classmethod
    def of(cls, deviations: CoalitionDeviations, n_cells: int) -> SortedWitnesses:
        """Sort witnesses by cell."""
        lengths = np.diff(deviations.begins)
        number = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((lengths[number], deviations.cells))
        begins = np.searchsorted(deviations.cells[order], np.arange(n_cells + 1))
        return cls(deviations, (begins, number[order], deviations.amounts[order]))

    def through(self, cell: int) -> tuple[Integers, Floats]:
        """Return witnesses that move a cell, and how far."""
        begins, numbers, amounts = self._by_cell
        part = slice(begins[cell], begins[cell + 1])
        return numbers[part], amounts[part]

    def repaired(self, numbers: Integers, room: tuple[Floats, Floats]) -> Mask:
        """Tell which witnesses still take their cell as far once they are changed to keep within rooms."""
        from hitoku.kernels.repair import repair  # noqa: PLC0415 - numba loads when it is needed

        found, (begins, listed, _) = self.deviations, self._by_cell
        witnesses = found.begins, found.cells, found.amounts
        done = np.zeros(len(numbers), dtype=np.bool_)
        repair(witnesses, (begins, listed), found.owner, numbers, (-room[0], room[1]), self._slates, done)
        return done


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
        # By witness: the cell that it is kept for. By cell: its witnesses, and how far they take it.
        self._owner: list[int] = []
        self._kept_for: dict[int, list[tuple[int, float]]] = {}
        # Those in order, and those that came since.
        self._sorted = SortedWitnesses.of(CoalitionDeviations.none(), n_cells)
        self._fresh = CoalitionDeviations.none()
        self._through: dict[int, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self._owner)

    def add(self, own: int, cells: Integers, amounts: Floats) -> None:
        """Keep one more for a cell."""
        number = len(self)
        self._keep(own, float(amounts[cells == own].sum()))
        for cell, amount in zip(cells.tolist(), amounts.tolist(), strict=True):
            self._through.setdefault(cell, []).append((number, amount))
        ends = np.array([0, len(cells)])
        self._fresh = self._fresh.and_then(CoalitionDeviations(np.array([own]), ends, cells, amounts))

    def add_all(self, found: CoalitionDeviations) -> None:
        """Keep many, each for its cell."""
        number = np.repeat(np.arange(len(found.owner)), np.diff(found.begins))
        own = found.cells == found.owner[number]
        moved = np.bincount(number[own], found.amounts[own], len(found.owner))
        for cell, far in zip(found.owner.tolist(), moved.tolist(), strict=True):
            self._keep(cell, far)
        self._sort(found)

    def _keep(self, own: int, moved: float) -> None:
        self._kept_for.setdefault(own, []).append((len(self), moved))
        self._owner.append(own)
        self.low[own], self.high[own] = min(self.low[own], moved), max(self.high[own], moved)

    def _sort(self, more: CoalitionDeviations) -> None:
        every = self._sorted.deviations.and_then(self._fresh).and_then(more)
        self._sorted = SortedWitnesses.of(every, len(self.low))
        self._fresh, self._through = CoalitionDeviations.none(), {}

    def shrunk(self, room: Iterable[CellRange]) -> dict[int, float]:
        """Return the witnesses that go farther than some cells can, with how much of each agrees with that.

        Parameters
        ----------
        room
            Cells, and how far each can go down and up.
        """
        scale: dict[int, float] = {}
        for cell, down, up in room:
            numbers, amounts = self._sorted.through(cell)
            too_far = np.abs(amounts) > np.where(amounts > 0, up, down)
            through = zip(numbers[too_far].tolist(), amounts[too_far].tolist(), strict=True)
            for number, amount in (*through, *self._through.get(cell, ())):
                far = up if amount > 0 else down
                if abs(amount) > far:
                    scale[number] = min(scale.get(number, 1.0), far / abs(amount))
        return scale

    def owners(self, numbers: Iterable[int]) -> set[int]:
        """Return the cells that witnesses are kept for."""
        return {self._owner[number] for number in numbers}

    def reach(self, own: int, scale: Mapping[int, float]) -> tuple[float, float]:
        """Tell how far down and up a cell is taken by its witnesses when some of them are shrunk."""
        # It may stay where it is, too.
        moved = [0.0, *(scale.get(number, 1.0) * far for number, far in self._kept_for.get(own, ()))]
        return -min(moved), max(moved)

    def repaired(
        self, cells: Integers, scale: Mapping[int, float], room: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Tell how far down and up cells are taken by their witnesses when some are repaired, not shrunk.

        Parameters
        ----------
        cells
            The cells.
        scale
            Witnesses that go too far, and how much of each agrees with the rooms.
        room
            How far down and up all cells can go.
        """
        if self._fresh.begins[-1] > FRESH * self._sorted.deviations.begins[-1]:
            self._sort(CoalitionDeviations.none())
        listed = {number for cell in cells.tolist() for number, _ in self._kept_for.get(cell, ())}
        n_sorted = len(self._sorted.deviations.owner)
        numbers = sorted(number for number in listed & scale.keys() if number < n_sorted)
        done = self._sorted.repaired(np.array(numbers, dtype=np.int64), room)
        better = {**scale, **{number: 1.0 for number, kept in zip(numbers, done, strict=True) if kept}}
        reach = np.array([self.reach(cell, better) for cell in cells.tolist()]).reshape(-1, 2)
        return reach[:, 0], reach[:, 1]


class CoalitionRange:
    """How far each cell is known to move in the eyes of one coalition, and how far it must.

    Parameters
    ----------
    cells
        Positions of the cells, sorted; everything else is by position in this list.
    slack
        What counts as rounding.
    least
        What moves less than this may not move at all: the solver cannot tell.
    levels
        How far each must move down, up, and in all.
    moved
        How far each is known to move down and up.
    """

    def __init__(
        self,
        cells: Integers,
        slack: Floats,
        least: Floats,
        levels: tuple[Floats, Floats, Floats],
        moved: tuple[Floats, Floats],
    ) -> None:
        self.cells, self.slack, self.least = cells, slack, least
        self.lower, self.upper, self.width = lower, upper, width = levels
        self.enough = np.maximum(np.maximum(lower, upper), width) + 4 * least
        self.down, self.up = moved

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

    def note(self, which: Integers, moved: Floats) -> None:
        """Take into account that some cells can move so far."""
        self.down[which] = np.maximum(self.down[which], -moved)
        self.up[which] = np.maximum(self.up[which], moved)
