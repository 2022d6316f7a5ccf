"""Deviations of cross tables without linear programs, in the eyes of an outsider or of several insiders.

Boxes are changes that nobody can see; sums of some may pass through published cells where they cancel. What
insiders know is as good as published to them. Cells that somebody knows are dear, so that what is found for
one agrees with most others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.boxes.box_search import Boxes
from hitoku.boxes.claims import Claims, Rooms
from hitoku.boxes.cover import cover_of
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.table import Table

# Prices of a withheld cell, of one that some insider knows, and of one that must come out as it was.
PLAIN, KNOWN, PUBLISHED = 0.01, 1.0, 100.0
# Starts of every search, cells that further boxes may cancel, up to how many leaves all are tried.
EFFORT = (8, 24, 2**20)
# Levels of more steps than this are left to linear programs: sums of some must be exact in doubles.
LARGEST = 2.0**50

# A cell, the cells that move with it, and how far; and whether the opposite is feasible, too.
BoxDeviation = tuple[int, Integers, Floats, bool]


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
    """

    def __init__(self, table: Table, withheld: Mask, watched: Mask) -> None:
        self._cover = cover_of(table)
        self._withheld = withheld
        self._rooms = Rooms.of(table, withheld)
        self._price = np.where(watched, KNOWN, PLAIN)

    def found(
        self, cells: Integers, levels: tuple[Floats, Floats, Floats], room: tuple[Floats, Floats]
    ) -> Iterator[BoxDeviation]:
        """Look for deviations that take cells far enough; nothing where a table has no boxes.

        Parameters
        ----------
        cells
            The cells.
        levels
            How far each must go down, up and in all.
        room
            How far all cells can go down and up in the eyes of those who look.
        """
        if self._cover is None or len(cells) == 0:
            return
        scale = self._rooms.scale
        known = zip((self._rooms.down, self._rooms.up), room, strict=True)
        down, up = (np.minimum(own, np.floor(np.maximum(seen, 0.0) * scale)) for own, seen in known)
        lower, upper, width = (np.ceil(level * scale) for level in levels)
        width = np.maximum(width, 1.0)
        possible = (lower <= down[cells]) & (upper <= up[cells]) & (width <= down[cells] + up[cells])
        possible &= np.maximum(np.maximum(lower, upper), width) < LARGEST
        if not possible.any():
            return
        moving = self._withheld & (down + up > 0)
        through = Rooms(scale, np.where(moving, down, np.inf), np.where(moving, up, np.inf))
        lower, upper, width = (level[possible] for level in (lower, upper, width))
        claims = Claims.within(cells[possible], lower, upper, width, Rooms(scale, down, up))
        boxes = Boxes(self._cover, through, claims, np.where(moving, self._price, PUBLISHED))
        boxes.route(boxes.by_size(claims.made), effort=EFFORT)
        yield from self._hidden(boxes, moving)

    def _hidden(self, boxes: Boxes, moving: Mask) -> Iterator[BoxDeviation]:
        """Return what moves no cell that somebody sees."""
        claim, cell, amount = boxes.shown_entries()
        claims, scale = boxes.claims, self._rooms.scale
        n = len(claims.cells)
        begins = np.searchsorted(claim, np.arange(2 * n + 1))
        for number in claims.made.tolist():
            part = slice(begins[number], begins[number + 1])
            cells = cell[part]
            if len(cells) and moving[cells].all():
                yield int(claims.cells[number % n]), cells, amount[part] / scale, bool(claims.even[number])
