"""Few linear programs that decide the safety of all unsafe cells, and leave the witnesses that prove it.

What is handed over comes first, then flows, bounds and boxes, which need no program; then what is near each
cell of a large table; then programs over everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hitoku.evidence.disclosure import SHORT_CELLS
from hitoku.evidence.nearby import settle_nearby
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.witness_search import Progress, Proof, WitnessSearch
from hitoku.feasibility import SMALL
from hitoku.model import Release
from hitoku.solver.linear import opened


def prove(
    problem: AuditProblem,
    exposed: Iterable[int] = (),
    deviations: Iterable[Mapping[int, int]] = (),
    release: Release | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Find a low and a high witness for every unsafe cell, or say which cells have none.

    Parameters
    ----------
    problem
        What an outsider does not know.
    exposed
        Cells known to be recomputable by adding and subtracting: nothing is tried for them.
    deviations
        Changes of cells of the table that somebody says keep every sum: tried first, and not trusted.
    release
        What the problem is about: where it is large and has variables, boxes are looked for before programs.
    progress
        Told how many unsafe cells of a large problem are settled, of how many.
    """
    search = WitnessSearch(problem, frozenset(exposed) & problem.demands.keys(), progress)
    search.push_along(deviations)
    search.push_in_circles()
    if len(problem.cells) > SHORT_CELLS:
        search.propagate()
    if len(problem.cells) > SMALL:
        if release is not None:
            search.push_hypercubes(release)
        if not settle_nearby(search):
            return search.proof()
    if search.open(up=True) or search.open(up=False):
        for near in search.asking().within_scale():
            for witness in prove(near, search.exposed).witnesses:
                search.add(witness)
    if search.open(up=True) or search.open(up=False):
        with opened(search.split.program, work=search.work) as warm:
            search.warm = warm
            search.push_all()
            search.push_each()
    return search.proof()
