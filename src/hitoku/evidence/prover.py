"""Few linear programs that decide the safety of all unsafe cells, and provide the witnesses that prove it.

Given deviations are tried first, then flows, bounds and hypercubes, which need no program; then nearby cells
in a large table; then programs over all cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hitoku.evidence.disclosure import SHORT_CELLS
from hitoku.evidence.nearby import settle_nearby
from hitoku.evidence.problem import AuditProblem
from hitoku.evidence.witness_search import Progress, Proof, WitnessSearch
from hitoku.feasibility import SMALL
from hitoku.model import Release
from hitoku.solver.linear import open_program


def prove(
    problem: AuditProblem,
    exposed: Iterable[int] = (),
    deviations: Iterable[Mapping[int, int]] = (),
    release: Release | None = None,
    progress: Progress | None = None,
) -> Proof:
    """Find a low and a high witness for every unsafe cell, or report the cells that have none.

    Parameters
    ----------
    problem
        Unknowns of an outsider.
    exposed
        Cells known to be derivable by addition and subtraction: they are skipped.
    deviations
        Deviations that are claimed to keep every relation: tried first, and checked.
    release
        Release of the problem: if it has variables and is not short, hypercubes are searched before programs.
    progress
        Called with the number of settled unsafe cells of a large problem, and their total.
    """
    search = WitnessSearch(problem, frozenset(exposed) & problem.demands.keys(), progress)
    search.push_along(deviations)
    search.push_in_circles()
    if len(problem.cells) > SHORT_CELLS:
        search.propagate()
        if release is not None and search.unsettled():
            search.push_hypercubes(release)
    if len(problem.cells) > SMALL and not settle_nearby(search):
        return search.proof()
    if search.open(up=True) or search.open(up=False):
        for near in search.asking().within_scale():
            for witness in prove(near, search.exposed).witnesses:
                search.add(witness)
    if search.open(up=True) or search.open(up=False):
        with open_program(search.split.program, work=search.work) as warm:
            search.warm = warm
            search.push_all()
            search.push_each()
    return search.proof()
