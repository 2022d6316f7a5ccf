"""Witnesses: deviations from the true table to feasible tables, each kept for one cell that it moves.

A deviation that moves few cells is feasible for nearly all coalitions: only a coalition that knows something
about a cell that it moves can rule it out.

In cross tables, they are found without linear programs. Deviations along hypercubes keep all sums;
combinations may pass through published cells where they cancel. Cells that a coalition knows are published as
far as it is concerned. Cells that any contributor knows are expensive, so that deviations found for one
coalition are feasible for most others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hitoku.feasibility.hypercubes import (
    EnclosingTable,
    HypercubeSearch,
    Requirements,
    Slacks,
    cross_table_of,
)
from hitoku.model import EXACT_SUMS, Floats, Integers, Mask, Table, reaches

# Witnesses are sorted again if more than this share of their entries is unsorted.
FRESH = 0.05

# A cell, and its slacks down and up for a coalition.
CellRange = tuple[int, float, float]


@dataclass(frozen=True, eq=False)
class CoalitionDeviations:
    """Deviations, concatenated."""

    owner: Integers
    """Cell for which each deviation is kept."""
    begins: Integers
    """Start of each deviation among the entries, and the end of the last one."""
    cells: Integers
    amounts: Floats
    """Cells that move, and distances."""

    @classmethod
    def none(cls) -> CoalitionDeviations:
        """Return an empty list."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, np.zeros(1, dtype=np.int64), nothing, np.zeros(0))

    def and_then(self, others: CoalitionDeviations) -> CoalitionDeviations:
        """Return these deviations followed by others."""
        return CoalitionDeviations(
            np.concatenate([self.owner, others.owner]),
            np.concatenate([self.begins, self.begins[-1] + others.begins[1:]]),
            np.concatenate([self.cells, others.cells]),
            np.concatenate([self.amounts, others.amounts]),
        )

    def opposite(self, which: Mask) -> CoalitionDeviations:
        """Return the opposites of some deviations."""
        entries = np.repeat(which, np.diff(self.begins))
        lengths = np.diff(self.begins)[which]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        return CoalitionDeviations(self.owner[which], begins, self.cells[entries], -self.amounts[entries])


class SortedWitnesses:
    """Witnesses sorted by number and by cell.

    Parameters
    ----------
    deviations
        Witnesses by number.
    by_cell
        Start of each cell; numbers of the witnesses that move it, the shortest first; distances.
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
        """Return the witnesses that move a cell, and distances."""
        begins, numbers, amounts = self._by_cell
        part = slice(begins[cell], begins[cell + 1])
        return numbers[part], amounts[part]

    def repaired(self, numbers: Integers, room: tuple[Floats, Floats]) -> Mask:
        """Repair witnesses to stay within slacks; return which still move their cell as far."""
        from hitoku.kernels.repair import repair  # noqa: PLC0415 - numba loads when it is needed

        found, (begins, listed, _) = self.deviations, self._by_cell
        witnesses = found.begins, found.cells, found.amounts
        done = np.zeros(len(numbers), dtype=np.bool_)
        repair(witnesses, (begins, listed), found.owner, numbers, (-room[0], room[1]), self._slates, done)
        return done


class CellWitnesses:
    """Deviations by the cell for which each is kept; suppressing more cells keeps them feasible.

    Examples
    --------
    One coalition knows that cell 1 cannot fall by more than 2, another one knows cell 2.

    >>> witnesses = CellWitnesses(4)
    >>> witnesses.add(0, np.array([0, 1, 3]), np.array([5.0, -5.0, 2.0]))
    >>> float(witnesses.high[0]), witnesses.shrunk([(1, 2.0, 9.0)]), witnesses.shrunk([(2, 0.0, 0.0)])
    (5.0, {0: 0.4}, {})
    """

    def __init__(self, n_cells: int) -> None:
        # Largest movement of each cell by its witnesses.
        self.low, self.high = np.zeros(n_cells), np.zeros(n_cells)
        # By witness: the cell for which it is kept. By cell: its witnesses, and distances.
        self._owner: list[int] = []
        self._kept_for: dict[int, list[tuple[int, float]]] = {}
        # Sorted witnesses, and those that were added since.
        self._sorted = SortedWitnesses.of(CoalitionDeviations.none(), n_cells)
        self._fresh = CoalitionDeviations.none()
        self._through: dict[int, list[tuple[int, float]]] = {}

    def __len__(self) -> int:
        return len(self._owner)

    def add(self, own: int, cells: Integers, amounts: Floats) -> None:
        """Add a witness for a cell."""
        number = len(self)
        self._keep(own, float(amounts[cells == own].sum()))
        for cell, amount in zip(cells.tolist(), amounts.tolist(), strict=True):
            self._through.setdefault(cell, []).append((number, amount))
        ends = np.array([0, len(cells)])
        self._fresh = self._fresh.and_then(CoalitionDeviations(np.array([own]), ends, cells, amounts))

    def add_all(self, found: CoalitionDeviations) -> None:
        """Add witnesses, each for its owner."""
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
        """Return the witnesses that exceed the slack of some cells, with the feasible share of each.

        Parameters
        ----------
        room
            Cells, and their slacks down and up.
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
        """Return the cells for which witnesses are kept."""
        return {self._owner[number] for number in numbers}

    def reach(self, own: int, scale: Mapping[int, float]) -> tuple[float, float]:
        """Return how far down and up the witnesses of a cell move it if some are scaled down."""
        # Zero is feasible, too.
        moved = [0.0, *(scale.get(number, 1.0) * far for number, far in self._kept_for.get(own, ()))]
        return -min(moved), max(moved)

    def repaired(
        self, cells: Integers, scale: Mapping[int, float], room: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return how far down and up witnesses move cells if some are repaired instead of scaled down.

        Parameters
        ----------
        cells
            Indices of the cells.
        scale
            Witnesses that exceed slacks, and the feasible share of each.
        room
            Slacks of all cells down and up.
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
    """Attainable and required range of each cell for one coalition.

    Parameters
    ----------
    cells
        Sorted cells; all other arrays are by index in this list.
    slack
        Tolerance for rounding.
    least
        Movements smaller than this may be rounding of the solver.
    levels
        Required movement down, up, and in total.
    moved
        Proven movement down and up.
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
        """Cells that are not known to move far enough; a cell with a single value never does."""
        return ~self.far_enough(self.down, self.up)

    def far_enough(self, down: Floats, up: Floats) -> Mask:
        """Return which cells would reach their levels with given movements."""
        far = reaches(down, up, self.lower, self.upper, self.width, self.slack)
        return np.asarray(far & (down + up > self.least))

    def lacks(self, one: int, down: float, up: float) -> bool:
        """Return whether one cell misses its levels with given movements."""
        need = (each[one : one + 1] for each in (self.lower, self.upper, self.width, self.slack))
        far = reaches(np.array([down]), np.array([up]), *need)
        return not (far[0] and down + up > self.least[one])

    def note(self, which: Integers, moved: Floats) -> None:
        """Record movements of some cells."""
        self.down[which] = np.maximum(self.down[which], -moved)
        self.up[which] = np.maximum(self.up[which], moved)


# Efforts of three attempts, each for the cells that are still open: starts of every search, cells that
# further hypercubes may cancel, and number of leaves up to which all are tried.
EFFORTS = ((3, 2, 48), (3, 8, 2**20), (12, 24, 2**20))


@dataclass(frozen=True, eq=False)
class AttackerView:
    """Cells that must be able to move far enough for one attacker, and what that attacker knows."""

    cells: Integers
    """Cells that must be able to move."""
    levels: tuple[Floats, Floats, Floats]
    """Required movement of each cell down, up and in total."""
    known: Integers
    """Cells about which the attacker has knowledge."""
    room: tuple[Floats, Floats]
    """Slacks of these cells down and up, for the attacker."""


class HypercubeDeviations:
    """Search for deviations along hypercubes that move given cells of a table.

    Parameters
    ----------
    table
        True table.
    movable
        Cells that may move.
    price
        Cost of moving each cell.
    room
        Slacks of all cells down and up that every attacker knows.
    """

    def __init__(self, table: Table, movable: Mask, price: Floats, room: tuple[Floats, Floats]) -> None:
        self._cross_table = cross_table_of(table)
        slacks = Slacks.of(table.value, table.lower, table.upper, movable, integer=table.integer)
        self._scale = slacks.scale
        self._down, self._up = (
            np.minimum(own, self._steps(seen))
            for own, seen in zip((slacks.down, slacks.up), room, strict=True)
        )
        self._moving = movable & (self._down + self._up > 0)
        # A cell whose changes must cancel costs a hundred times as much as the most expensive other one.
        self._published = 100.0 * float(price.max(initial=1.0))
        self._price = np.where(self._moving, price, self._published)

    def _steps(self, room: Floats) -> Floats:
        return np.asarray(np.floor(room * self._scale))

    def found(self, wanted: Sequence[AttackerView]) -> CoalitionDeviations:
        """Search for deviations that move cells far enough; none if a table has no hypercubes."""
        found = CoalitionDeviations.none()
        if self._cross_table is None:
            return found
        for effort in EFFORTS:
            wanted = [one for one in wanted if len(one.cells)]
            if wanted:
                more, wanted = self._search(self._cross_table, wanted, effort)
                found = found.and_then(more)
        return found

    def _search(
        self, cross_table: EnclosingTable, wanted: Sequence[AttackerView], effort: tuple[int, int, int]
    ) -> tuple[CoalitionDeviations, Sequence[AttackerView]]:
        """Search with a given effort; return deviations, and the cells that remain open."""
        requirements, place, whose = self._requirements(wanted)
        through = (np.where(self._moving, side, np.inf) for side in (self._down, self._up))
        hypercubes = HypercubeSearch(cross_table, Slacks(self._scale, *through), requirements, self._price)
        made = hypercubes.by_size(requirements.made)
        order = made[np.argsort(whose[made % max(len(whose), 1)], kind="stable")]
        begins = np.searchsorted(whose[order % max(len(whose), 1)], np.arange(len(wanted) + 1))
        for number, one in enumerate(wanted):
            part = order[begins[number] : begins[number + 1]]
            if len(part):
                position, had = self._tell(hypercubes, cross_table, one)
                hypercubes.route(part, effort=effort)
                hypercubes.ground[:, position] = had
        hidden = self._hidden(hypercubes, wanted, whose)
        # A cell is settled if its requirements are, one or two of them.
        n = len(whose)
        lacking = (requirements.amount > 0) & ~hidden
        open_places = place[lacking[:n] | lacking[n:]]
        return self._witnesses_of(hypercubes, hidden), _restrict_views(wanted, open_places)

    def _requirements(self, wanted: Sequence[AttackerView]) -> tuple[Requirements, Integers, Integers]:
        """Return the feasible requirements, the indices of their cells in all views, and their views."""
        whose = np.repeat(np.arange(len(wanted)), [len(one.cells) for one in wanted])
        cells = np.concatenate([one.cells for one in wanted])
        lower, upper, width = (
            np.ceil(np.concatenate([one.levels[side] for one in wanted]) * self._scale) for side in range(3)
        )
        width = np.maximum(width, 1.0)
        down, up = self._down[cells], self._up[cells]
        first = 0
        for one in wanted:
            own, place = _places(one.known, one.cells)
            part = first + np.flatnonzero(own)
            down[part] = np.minimum(down[part], self._steps(one.room[0][place]))
            up[part] = np.minimum(up[part], self._steps(one.room[1][place]))
            first += len(one.cells)
        possible = (lower <= down) & (upper <= up) & (width <= down + up)
        possible &= np.maximum(np.maximum(lower, upper), width) < EXACT_SUMS
        some = (each[possible] for each in (cells, lower, upper, width, down, up))
        return Requirements.within(*some), np.flatnonzero(possible), whose[possible]

    def _room_of(self, one: AttackerView) -> tuple[Floats, Floats, Mask]:
        """Return the slacks of known cells for an attacker, in steps, and whether these can move at all."""
        down, up = (
            np.minimum(side[one.known], self._steps(room))
            for side, room in zip((self._down, self._up), one.room, strict=True)
        )
        return down, up, self._moving[one.known] & (down + up > 0)

    def _tell(
        self, hypercubes: HypercubeSearch, cross_table: EnclosingTable, one: AttackerView
    ) -> tuple[Integers, Floats]:
        """Set known cells in the search as an attacker sees them; return their positions and former state."""
        position = cross_table.position[one.known]
        had = hypercubes.ground[:, position].copy()
        down, up, moving = self._room_of(one)
        even = np.minimum(down, up)
        for kind, sides in enumerate(((down, up), (even, even))):
            hypercubes.ground[kind, position, 0] = np.where(moving, had[kind, :, 0], self._published)
            for way, side in enumerate(sides):
                hypercubes.ground[kind, position, 1 + way] = np.where(moving, side, np.inf)
        return position, had

    def _hidden(self, hypercubes: HypercubeSearch, wanted: Sequence[AttackerView], whose: Integers) -> Mask:
        """Return which requirements have a witness that moves no cell fixed for the attacker of its view."""
        requirement, cell, _ = hypercubes.shown_entries()
        n = len(whose)
        seen = ~self._moving[cell]
        of = whose[requirement % n] if n else requirement
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(wanted) + 1))
        for number, one in enumerate(wanted):
            part = order[ends[number] : ends[number + 1]]
            own, place = _places(one.known, cell[part])
            seen[part[own]] |= ~self._room_of(one)[2][place]
        return np.asarray(
            (np.bincount(requirement, seen, 2 * n) == 0) & (np.bincount(requirement, minlength=2 * n) > 0)
        )

    def _witnesses_of(self, hypercubes: HypercubeSearch, which: Mask) -> CoalitionDeviations:
        """Return the witnesses of some requirements, and their opposites where these are feasible, too."""
        requirement, cell, amount = hypercubes.shown_entries()
        lengths = np.bincount(requirement, minlength=len(which))[which]
        requirements, entries, n = hypercubes.requirements, which[requirement], max(len(which) // 2, 1)
        found = CoalitionDeviations(
            requirements.cells[np.flatnonzero(which) % n],
            np.concatenate([[0], np.cumsum(lengths)]),
            cell[entries],
            amount[entries] / self._scale,
        )
        return found.and_then(found.opposite(requirements.even[which]))


def _restrict_views(wanted: Sequence[AttackerView], places: Integers) -> list[AttackerView]:
    """Restrict views to the cells at some indices, counted over all views."""
    kept = np.zeros(sum(len(one.cells) for one in wanted), dtype=np.bool_)
    kept[places] = True
    some, first = [], 0
    for one in wanted:
        mine = kept[first : first + len(one.cells)]
        lower, upper, width = (level[mine] for level in one.levels)
        some.append(replace(one, cells=one.cells[mine], levels=(lower, upper, width)))
        first += len(one.cells)
    return some


def _places(listed: Integers, cells: Integers) -> tuple[Mask, Integers]:
    """Return which cells are in a sorted list, and their indices there."""
    place = np.searchsorted(listed, cells)
    inside = place < len(listed)
    inside[inside] = listed[place[inside]] == cells[inside]
    return inside, place[inside]
