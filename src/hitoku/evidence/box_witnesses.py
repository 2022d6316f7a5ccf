"""Witnesses of large cross tables without linear programs, for patterns that come without any.

Boxes through withheld cells are changes that nobody can see. Where one, or a sum of some, takes an unsafe
cell as far as it must go, that is its witness; they are added up to few common tables. What is handed on is
checked like anybody else's.
"""

from __future__ import annotations

import numpy as np

from hitoku.boxes.box_search import Boxes
from hitoku.boxes.claims import Claims, Rooms
from hitoku.boxes.cover import cover_of
from hitoku.boxes.packs import packed
from hitoku.evidence.problem import FAR, AuditProblem
from hitoku.model.arrays import Integers
from hitoku.model.moves import Moves
from hitoku.model.release import Release

# Levels of more steps than this are left to linear programs: sums of some must be exact in doubles.
LARGEST = 2.0**50


def box_witnesses(release: Release, problem: AuditProblem, places: Integers) -> Moves | None:
    """Search for boxes that move unsafe cells as far as they must; None where a table has no boxes.

    Parameters
    ----------
    release
        Its variables and relations count.
    problem
        Withheld cells, how far each may move, and what unsafe ones need.
    places
        The unsafe cells to look at, by position among the withheld.
    """
    cover = cover_of(release)
    if cover is None:
        return None
    low, high = problem.steps
    down, up = np.zeros(release.n_cells), np.zeros(release.n_cells)
    down[problem.cells] = np.where(low <= -FAR, np.inf, -low.astype(np.float64))
    up[problem.cells] = np.where(high >= FAR, np.inf, high.astype(np.float64))
    rooms = Rooms(float(problem.scale), np.maximum(down, 0.0), np.maximum(up, 0.0))
    lower, upper, width = problem.needs()[0][:, places]
    width = np.maximum(width, 1.0)  # a single point protects nobody
    cells = problem.cells[places]
    down, up = rooms.down[cells], rooms.up[cells]
    possible = (lower <= down) & (upper <= up) & (width <= down + up)
    possible &= np.maximum(np.maximum(lower, upper), width) < LARGEST
    cells, lower, upper, width = (each[possible] for each in (cells, lower, upper, width))
    boxes = Boxes(cover, rooms, Claims.within(cells, lower, upper, width, rooms), np.ones(release.n_cells))
    boxes.serve_within()
    return packed(boxes, rooms)[0]
