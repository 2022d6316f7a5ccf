"""Witnesses of large cross tables without linear programs, for patterns without deviations.

Deviations along hypercubes of suppressed cells change no published cell. If one, or a sum of some, moves an
unsafe cell as far as required, it is a witness; they are added up to few common tables. The results are
checked like any other deviations.
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
    pack_witnesses,
)
from hitoku.model import EXACT_SUMS, Deviations, Floats, Integers, Mask, Release

# Starts of every search; published cells that further hypercubes may cancel; maximum number of leaves.
WITHIN, THROUGH = (8, 0, 2**20), (8, 24, 2**20)


def hypercube_witnesses(release: Release, problem: AuditProblem, places: Integers) -> Iterator[Deviations]:
    """Search for hypercubes that move unsafe cells as far as required; none if a table has no hypercubes.

    First hypercubes of suppressed cells; then sums of hypercubes, which may contain published cells if
    others cancel them; then the same for each direction of a cell separately. Other cells are faster found by
    small linear programs.

    Parameters
    ----------
    release
        Provides variables and relations.
    problem
        Suppressed cells, their bounds, and requirements of unsafe ones.
    places
        Unsafe cells to consider, by position among the suppressed.
    """
    cross_table = cross_table_of(release)
    if cross_table is None:
        return
    withheld, steps = release.withheld, problem.in_doubles
    down, up = np.zeros(release.n_cells), np.zeros(release.n_cells)
    down[problem.cells], up[problem.cells] = -steps.lower, steps.upper
    slacks = Slacks(float(problem.scale), np.maximum(down, 0.0), np.maximum(up, 0.0))
    levels = problem.levels().take(places)
    lower, upper, width = levels.down, levels.up, levels.width
    width = np.maximum(width, 1.0)  # a single point never protects
    cells = problem.cells[places]
    down, up = slacks.down[cells], slacks.up[cells]
    possible = (lower <= down) & (upper <= up) & (width <= down + up)
    possible &= np.maximum(np.maximum(lower, upper), width) < EXACT_SUMS
    wanted = np.array([cells, lower, upper, width])[:, possible]
    through = Slacks(slacks.scale, *(np.where(withheld, slack, np.inf) for slack in (slacks.down, slacks.up)))
    price = np.where(withheld, 0.0, 1.0)
    for slack, effort, apart in (
        (slacks, WITHIN, False),
        (through, THROUGH, False),
        (through, THROUGH, True),
    ):
        if wanted.shape[1] == 0:
            return
        hypercubes = HypercubeSearch(cross_table, slack, _requirements(wanted, slack, apart=apart), price)
        hypercubes.route(hypercubes.by_size(hypercubes.requirements.made), effort=effort)
        _forget_visible(hypercubes, cross_table, withheld)
        yield pack_witnesses(hypercubes, slacks)[0]
        lacking = np.zeros(wanted.shape[1], dtype=np.bool_)
        lacking[hypercubes.open() % len(lacking)] = True
        wanted = wanted[:, lacking]


def _requirements(wanted: Floats, slacks: Slacks, *, apart: bool) -> Requirements:
    """Return requirements for both directions at once, or for each separately."""
    cells, (lower, upper, width) = wanted[0].astype(np.int64), wanted[1:]
    requirements = Requirements.within(cells, lower, upper, width, slacks.down[cells], slacks.up[cells])
    for place, cell in enumerate(cells.tolist() if apart else ()):
        requirements.split(place, float(slacks.down[cell]), float(slacks.up[cell]))
    return requirements


def _forget_visible(hypercubes: HypercubeSearch, cross_table: EnclosingTable, withheld: Mask) -> None:
    """Drop witnesses that still move a published cell."""
    published = np.zeros(cross_table.size, dtype=np.bool_)
    published[cross_table.position] = ~withheld
    requirement, position, _ = hypercubes.entries()
    for seen in np.unique(requirement[published[position]]).tolist():
        hypercubes.forget(seen)
