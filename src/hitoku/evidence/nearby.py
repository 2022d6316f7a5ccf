"""Remaining cells of a large problem, settled one by one from nearby cells.

A few relations determine how a cell can move: a bound that they imply is proved, and a deviation that
breaks no other relation is a witness, made exact with only the cells that it moves.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from hitoku.evidence.disclosure import Disclosure, explain_bound
from hitoku.evidence.surroundings import CellSurroundings, ProblemPart
from hitoku.evidence.witness_search import WitnessSearch
from hitoku.feasibility import NEARBY_CELLS, LeastDeviation
from hitoku.model import EXACT_SUMS, Integers
from hitoku.solver.linear import open_program

# Nodes of integer programs near one cell.
NEARBY_NODES = 200
# Limit on cells of all programs together; remaining cells are undecided.
MAX_WORK = 40_000_000


def settle_nearby(search: WitnessSearch) -> bool:
    """Settle remaining cells from nearby cells, as far as possible.

    Returns False if the work limit was reached: unsettled cells then stay undecided.
    """
    around, work = CellSurroundings(search.problem), 0
    for most_cells in NEARBY_CELLS:
        for place in search.unsettled():
            if work > MAX_WORK:
                return False
            work += _settle(search, place, around, most_cells)
            search.tell()
    return True


def _settle(search: WitnessSearch, place: int, around: CellSurroundings, most_cells: int) -> int:
    """Settle one cell if at most this many cells suffice; return the work done."""
    rows: list[Integers] = []
    work = 0
    # One direction may supply what the other lacks, once that is known.
    for number, up in enumerate((True, False, True)):
        if place in search.lacking[up]:
            way, least = _way(search, place, up=up, share=Fraction(1, 2) if number == 0 else Fraction(1))
            change = around.least_deviation(place, way, least, most_cells=most_cells)
            search.n_programs += change.n_programs
            work += change.work
            rows.append(change.rows)
            _follow(search, place, change, around)
            if least and len(change.cells) == 0:
                break
    if place in search.lacking[True] or place in search.lacking[False]:
        _rule_out(search, place, around.freed(place, np.unique(np.concatenate(rows))))
    return work


def _way(search: WitnessSearch, place: int, *, up: bool, share: Fraction) -> tuple[float, float]:
    """Return the distance for one direction, in steps, and the required share of it.

    For a width, it covers a share of what the other direction leaves.
    """
    demand, attained = search.problem.demands[place], search.attained[place]
    least, other = (demand.upper, -attained.low) if up else (demand.lower, attained.high)
    steps = max(1, ceil(max(least, (demand.width - other) * share) * search.problem.scale))
    return float(steps if up else -steps), float(ceil(least * search.problem.scale) / steps)


def _follow(search: WitnessSearch, place: int, change: LeastDeviation, around: CellSurroundings) -> None:
    """Keep a deviation of the solver and its opposite as they are in integer steps, or else a nearby one."""
    whole = np.rint(change.steps)
    fitting = [
        search.problem.changed(change.cells, way * whole.astype(np.int64), 1)
        for way in (1, -1)
        if len(whole) and np.abs(whole).max() < EXACT_SUMS
    ]
    for witness in fitting:
        if witness is not None:
            search.add(witness)
    if len(whole) and not any(fitting):
        _reach_within(search, place, around.held(set(search.unsettled()), change.cells))


def _rule_out(search: WitnessSearch, place: int, part: ProblemPart) -> bool:
    """Return whether a few relations alone exclude the requirement of a cell; store the reasons."""
    own, found, demand = part.place(place), dict[bool, Disclosure](), search.problem.demands[place]
    within = WitnessSearch(part.problem, frozenset())
    with open_program(within.split.program) as warm:
        for up in (True, False):
            search.n_programs += 1
            solution = warm.solve(within.reward([own], np.ones(1), up=up), maximise=up)
            if solution.x is None:
                return False
            far = float(within.split.joined(solution.x)[own])
            if abs(far) >= float(max(demand.upper if up else demand.lower, demand.width)) > 0:
                continue  # these relations do not exclude the requirement
            reached = Fraction(round(far * search.problem.scale), search.problem.scale)
            reason = explain_bound(part.problem, own, solution, reached, within.exact_work, up=up)
            if reason is not None:
                found[up] = part.disclosure(reason)
    return search.keep_excluding(place, found)


def _reach_within(search: WitnessSearch, place: int, part: ProblemPart) -> None:
    """Push a cell, and other open cells, moving only cells near it."""
    own, within = part.place(place), WitnessSearch(part.problem, frozenset())
    with open_program(within.split.program) as within.warm:
        within.push_all()
        for up in (True, False):
            if own in within.lacking[up] and place in search.lacking[up]:
                within.push([own], np.ones(1), up=up)
                if search.problem.integer and own in within.lacking[up]:
                    within.settle_whole(own, None, up=up, nodes=NEARBY_NODES)
    search.n_programs += within.n_programs
    for witness in within.witnesses:
        search.add(part.witness(witness))
