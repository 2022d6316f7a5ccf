"""Deviations of cross tables without linear programs, in the eyes of outsiders and of insiders.

Boxes are changes that nobody can see; sums of some may pass through published cells where they cancel. What
insiders know is as good as published to them. Cells that somebody knows are dear, so that what is found for
one agrees with most others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hitoku.boxes.box_search import LARGE, Boxes
from hitoku.boxes.claims import Claims, Rooms
from hitoku.boxes.cover import Cover, cover_of
from hitoku.insiders.cell_witnesses import Deviations
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.table import Table

# Prices of a withheld cell, of one that some insider knows, and of one that must come out as it was.
PLAIN, KNOWN, PUBLISHED = 0.01, 1.0, 100.0
# Starts of every search, cells that further boxes may cancel, up to how many leaves all are tried.
EFFORT, EFFORT_LARGE = (8, 24, 2**20), (3, 8, 48)
# Levels of more steps than this are left to linear programs: sums of some must be exact in doubles.
LARGEST = 2.0**50


@dataclass(frozen=True, eq=False)
class Wanted:
    """Cells that must be able to go far in the eyes of somebody.

    Parameters
    ----------
    cells
        The cells.
    levels
        How far each must go down, up and in all.
    known
        Cells about which somebody knows something.
    room
        How far these can go down and up.
    """

    cells: Integers
    levels: tuple[Floats, Floats, Floats]
    known: Integers
    room: tuple[Floats, Floats]


class BoxDeviations:
    """The search for boxes in one pattern of a table.

    Parameters
    ----------
    table
        Its variables and values count.
    withheld
        The pattern.
    watched
        Cells that some insider knows something about.
    room
        How far all cells can go down and up as everybody knows.
    """

    def __init__(self, table: Table, withheld: Mask, watched: Mask, room: tuple[Floats, Floats]) -> None:
        self._cover = cover_of(table)
        rooms = Rooms.of(table, withheld)
        self._scale = rooms.scale
        self._down, self._up = (
            np.minimum(own, self._steps(seen))
            for own, seen in zip((rooms.down, rooms.up), room, strict=True)
        )
        self._moving = withheld & (self._down + self._up > 0)
        self._price = np.where(self._moving, np.where(watched, KNOWN, PLAIN), PUBLISHED)

    def _steps(self, room: Floats) -> Floats:
        return np.asarray(np.floor(np.maximum(room, 0.0) * self._scale))

    def found(self, wanted: Sequence[Wanted]) -> Deviations:
        """Look for deviations that take cells far enough; none where a table has no boxes."""
        if self._cover is None or not wanted:
            return Deviations.none()
        claims, whose = self._claims(wanted)
        if len(whose) == 0:
            return Deviations.none()
        through = (np.where(self._moving, side, np.inf) for side in (self._down, self._up))
        boxes = Boxes(self._cover, Rooms(self._scale, *through), claims, self._price)
        effort = EFFORT if self._cover.size <= LARGE else EFFORT_LARGE
        made = boxes.by_size(claims.made)
        order = made[np.argsort(whose[made % len(whose)], kind="stable")]
        begins = np.searchsorted(whose[order % len(whose)], np.arange(len(wanted) + 1))
        for number, one in enumerate(wanted):
            part = order[begins[number] : begins[number + 1]]
            if len(part):
                position, had = self._tell(boxes, self._cover, one)
                boxes.route(part, effort=effort)
                boxes.ground[:, position] = had
        return self._hidden(boxes, wanted, whose)

    def _claims(self, wanted: Sequence[Wanted]) -> tuple[Claims, Integers]:
        """Make claims of what is wanted as far as it is possible, and say whose they are."""
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
        possible &= np.maximum(np.maximum(lower, upper), width) < LARGEST
        kept = (each[possible] for each in (cells, lower, upper, width, down, up))
        return Claims.within(*kept), whose[possible]

    def _room_of(self, one: Wanted) -> tuple[Floats, Floats, Mask]:
        """Return how many steps cells can go down and up for somebody who knows them, and whether any."""
        down, up = (
            np.minimum(side[one.known], self._steps(room))
            for side, room in zip((self._down, self._up), one.room, strict=True)
        )
        return down, up, self._moving[one.known] & (down + up > 0)

    def _tell(self, boxes: Boxes, cover: Cover, one: Wanted) -> tuple[Integers, Floats]:
        """Let the search see cells as somebody does who knows some; return these, and how they were."""
        position = cover.position[one.known]
        had = boxes.ground[:, position].copy()
        down, up, moving = self._room_of(one)
        even = np.minimum(down, up)
        for kind, sides in enumerate(((down, up), (even, even))):
            boxes.ground[kind, position, 0] = np.where(moving, had[kind, :, 0], PUBLISHED)
            for way, side in enumerate(sides):
                boxes.ground[kind, position, 1 + way] = np.where(moving, side, np.inf)
        return position, had

    def _hidden(self, boxes: Boxes, wanted: Sequence[Wanted], whose: Integers) -> Deviations:
        """Return what moves no cell that is seen by the one for whom it was found."""
        claim, cell, amount = boxes.shown_entries()
        claims, n = boxes.claims, len(whose)
        seen = ~self._moving[cell]
        whose_entry = whose[claim % n]
        order = np.argsort(whose_entry, kind="stable")
        ends = np.searchsorted(whose_entry[order], np.arange(len(wanted) + 1))
        for number, one in enumerate(wanted):
            part = order[ends[number] : ends[number + 1]]
            own, place = _places(one.known, cell[part])
            seen[part[own]] |= ~self._room_of(one)[2][place]
        hidden = np.bincount(claim, seen, 2 * n) == 0
        lengths = np.bincount(claim, minlength=2 * n)
        hidden &= lengths > 0
        entries, lengths = hidden[claim], lengths[hidden]
        found = Deviations(
            claims.cells[np.flatnonzero(hidden) % n],
            np.concatenate([[0], np.cumsum(lengths)]),
            cell[entries],
            amount[entries] / self._scale,
        )
        return found.and_then(found.opposite(claims.even[hidden]))


def _places(listed: Integers, cells: Integers) -> tuple[Mask, Integers]:
    """Tell which cells are in a sorted list, and where those are in it."""
    place = np.searchsorted(listed, cells)
    inside = place < len(listed)
    inside[inside] = listed[place[inside]] == cells[inside]
    return inside, place[inside]
