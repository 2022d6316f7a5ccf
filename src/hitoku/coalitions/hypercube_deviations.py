"""Deviations of cross tables without linear programs, for outsiders and for coalitions.

Deviations along hypercubes keep all sums; combinations may pass through published cells where they cancel.
Cells that a coalition knows are published as far as it is concerned. Cells that any contributor knows are
expensive, so that deviations found for one coalition are feasible for most others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hitoku.coalitions.cell_witnesses import CoalitionDeviations
from hitoku.feasibility.hypercubes import (
    EnclosingTable,
    HypercubeSearch,
    Requirements,
    Slacks,
    cross_table_of,
)
from hitoku.model import EXACT_SUMS, Floats, Integers, Mask, Table

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
        The true table.
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
                more, wanted = self._found(self._cross_table, wanted, effort)
                found = found.and_then(more)
        return found

    def _found(
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
        return self._written(hypercubes, hidden), _restricted(wanted, open_places)

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

    def _written(self, hypercubes: HypercubeSearch, which: Mask) -> CoalitionDeviations:
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


def _restricted(wanted: Sequence[AttackerView], places: Integers) -> list[AttackerView]:
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
