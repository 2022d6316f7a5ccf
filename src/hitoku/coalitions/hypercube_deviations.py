"""Deviations of cross tables without linear programs, in the eyes of outsiders and of insiders.

Boxes are changes that nobody can see; sums of some may pass through published cells where they cancel. What
insiders know is as good as published to them. Cells that somebody knows are dear, so that what is found for
one agrees with most others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hitoku.coalitions.cell_witnesses import CoalitionDeviations
from hitoku.feasibility.hypercubes import CrossTable, HypercubeSearch, Requirements, Slacks, cross_table_of
from hitoku.model import EXACT_SUMS, Floats, Integers, Mask, Table

# Starts of every search, cells that further boxes may cancel, up to how many leaves all are tried: for all
# cells, for those without a box after that, and for those without one even then.
EFFORTS = ((3, 2, 48), (3, 8, 2**20), (12, 24, 2**20))


@dataclass(frozen=True, eq=False)
class AttackerView:
    """Cells that must be able to go far in the eyes of somebody."""

    cells: Integers
    """The cells."""
    levels: tuple[Floats, Floats, Floats]
    """How far each must go down, up and in all."""
    known: Integers
    """Cells about which somebody knows something."""
    room: tuple[Floats, Floats]
    """How far these can go down and up."""


class HypercubeDeviations:
    """The search for boxes of a table that move some of its cells.

    Parameters
    ----------
    table
        Its variables and values count.
    movable
        The cells that may move.
    price
        What it costs to move each.
    room
        How far all cells can go down and up as everybody knows.
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
        """Look for deviations that take cells far enough; none where a table has no boxes."""
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
        self, cross_table: CrossTable, wanted: Sequence[AttackerView], effort: tuple[int, int, int]
    ) -> tuple[CoalitionDeviations, Sequence[AttackerView]]:
        """Look with some effort; return what is found, and what is still wanted."""
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
        # A cell has what it wants when all its claims have, one or two of them.
        n = len(whose)
        lacking = (requirements.amount > 0) & ~hidden
        open_places = place[lacking[:n] | lacking[n:]]
        return self._written(hypercubes, hidden), _restricted(wanted, open_places)

    def _requirements(self, wanted: Sequence[AttackerView]) -> tuple[Requirements, Integers, Integers]:
        """Make claims of what is wanted as far as it is possible; say of which cells of all, and whose."""
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
        """Return how many steps cells can go down and up for somebody who knows them, and whether any."""
        down, up = (
            np.minimum(side[one.known], self._steps(room))
            for side, room in zip((self._down, self._up), one.room, strict=True)
        )
        return down, up, self._moving[one.known] & (down + up > 0)

    def _tell(
        self, hypercubes: HypercubeSearch, cross_table: CrossTable, one: AttackerView
    ) -> tuple[Integers, Floats]:
        """Let the search see cells as somebody does who knows some; return these, and how they were."""
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
        """Tell which claims have a witness that moves no cell seen by the one for whom it was found."""
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
        """Return the witnesses of some claims, and their opposites where these are feasible too."""
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
    """Keep of what is wanted the cells at some places, counted through all."""
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
    """Tell which cells are in a sorted list, and where those are in it."""
    place = np.searchsorted(listed, cells)
    inside = place < len(listed)
    inside[inside] = listed[place[inside]] == cells[inside]
    return inside, place[inside]
