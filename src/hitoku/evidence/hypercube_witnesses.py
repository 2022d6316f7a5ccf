"""Witnesses of large cross tables without linear programs, for patterns that come without any.

Boxes through withheld cells are changes that nobody can see. Where one, or a sum of some, takes an unsafe
cell as far as it must go, that is its witness; they are added up to few common tables. What is handed on is
checked like anybody else's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.evidence.problem import AuditProblem
from hitoku.feasibility.hypercubes import (
    EnclosingTable,
    HypercubeSearch,
    Requirements,
    Slacks,
    cross_table_of,
    packed,
)
from hitoku.model import EXACT_SUMS, Deviations, Floats, Integers, Mask, Release

# Starts of every search, published cells that further boxes may cancel, up to how many leaves all are tried.
WITHIN, THROUGH = (8, 0, 2**20), (8, 24, 2**20)


def hypercube_witnesses(release: Release, problem: AuditProblem, places: Integers) -> Iterator[Deviations]:
    """Search for boxes that move unsafe cells as far as they must; nothing where a table has no boxes.

    First boxes that lie in withheld cells; then sums of boxes, which may pass through published cells where
    others cancel them; then the same for each direction of a cell apart. What takes more is quicker found by
    small linear programs.

    Parameters
    ----------
    release
        Its variables and relations count.
    problem
        Withheld cells, how far each may move, and what unsafe ones need.
    places
        The unsafe cells to look at, by position among the withheld.
    """
    cross_table = cross_table_of(release)
    if cross_table is None:
        return
    withheld, steps = release.withheld, problem.in_doubles
    down, up = np.zeros(release.n_cells), np.zeros(release.n_cells)
    down[problem.cells], up[problem.cells] = -steps.lower, steps.upper
    rooms = Slacks(float(problem.scale), np.maximum(down, 0.0), np.maximum(up, 0.0))
    levels = problem.levels().take(places)
    lower, upper, width = levels.down, levels.up, levels.width
    width = np.maximum(width, 1.0)  # a single point protects nobody
    cells = problem.cells[places]
    down, up = rooms.down[cells], rooms.up[cells]
    possible = (lower <= down) & (upper <= up) & (width <= down + up)
    possible &= np.maximum(np.maximum(lower, upper), width) < EXACT_SUMS
    wanted = np.array([cells, lower, upper, width])[:, possible]
    through = Slacks(rooms.scale, *(np.where(withheld, room, np.inf) for room in (rooms.down, rooms.up)))
    price = np.where(withheld, 0.0, 1.0)
    for room, effort, apart in ((rooms, WITHIN, False), (through, THROUGH, False), (through, THROUGH, True)):
        if wanted.shape[1] == 0:
            return
        hypercubes = HypercubeSearch(cross_table, room, _requirements(wanted, room, apart=apart), price)
        hypercubes.route(hypercubes.by_size(hypercubes.requirements.made), effort=effort)
        _forget_visible(hypercubes, cross_table, withheld)
        yield packed(hypercubes, rooms)[0]
        lacking = np.zeros(wanted.shape[1], dtype=np.bool_)
        lacking[hypercubes.open() % len(lacking)] = True
        wanted = wanted[:, lacking]


def _requirements(wanted: Floats, rooms: Slacks, *, apart: bool) -> Requirements:
    """Ask for both directions at once, or for each apart."""
    cells, (lower, upper, width) = wanted[0].astype(np.int64), wanted[1:]
    requirements = Requirements.within(cells, lower, upper, width, rooms.down[cells], rooms.up[cells])
    for place, cell in enumerate(cells.tolist() if apart else ()):
        requirements.split(place, float(rooms.down[cell]), float(rooms.up[cell]))
    return requirements


def _forget_visible(hypercubes: HypercubeSearch, cross_table: EnclosingTable, withheld: Mask) -> None:
    """Drop witnesses that still move a published cell."""
    published = np.zeros(cross_table.size, dtype=np.bool_)
    published[cross_table.position] = ~withheld
    requirement, position, _ = hypercubes.entries()
    for seen in np.unique(requirement[published[position]]).tolist():
        hypercubes.forget(seen)
