"""The stages of the method: starting pattern and root bound, least cost, then the tie-break at that cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hitoku.errors import SolverError
from hitoku.methods.costs import CostScale
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.budget import Budget, Stopped
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.objective import REAL, Objective, SearchResult
from hitoku.methods.optimal.relaxation import Relaxation
from hitoku.methods.optimal.repair_heuristic import complete_pattern, drop_redundant
from hitoku.methods.optimal.search import search
from hitoku.methods.optimal.star_cuts import star_cuts
from hitoku.methods.optimal.starting_patterns import first_patterns
from hitoku.methods.optimal.variable_fixing import fix_cells, restrict_cuts
from hitoku.model import Mask

# Added to whole costs where a linear program compares them.
WHOLE_SLACK = 1e-3
# Up to here cost and tie-break are minimised as one sum, exact in doubles with room for a bound's rounding.
LARGEST_SUM = 2.0**46


def minimise(instance: Instance, grid: CostScale, budget: Budget, start: Mask | None = None) -> SearchResult:
    """Minimise the cost, then the tie-break among patterns of that cost.

    A limit or an interruption at any point leaves the best pattern known by then: finished, when its cost is
    proven already; canonical, when the tie-break is settled too.
    """
    goal = Objective(instance.weight, 1.0 if grid.whole else 0.0)
    everything = np.ones(len(instance), dtype=bool)
    rows = star_cuts(instance)
    found = SearchResult(
        everything, goal.value(everything), goal.value(instance.forced), False, everything, rows
    )
    try:
        # Neither bound nor pattern costs much; both are there before anything long begins.
        bound = Relaxation(instance, goal, Budget(), rows).solve()[1]
        found = replace(found, bound=min(bound, found.value))
        for pattern in _patterns(instance, goal, budget, start):
            if goal.value(pattern) < found.value:
                found = replace(found, pattern=pattern, value=goal.value(pattern))
            budget.report(found.bound, found.value)
        first = search(instance, goal, budget, found.pattern, rows=rows, report=budget.report, core=True)
        found = replace(first, bound=max(first.bound, found.bound))
        budget.report(found.bound, found.value)
        if found.finished:
            found = break_ties(instance, goal, found, budget)
    except Stopped:
        pass
    except KeyboardInterrupt:
        budget.interrupted = True
    return found


def _patterns(instance: Instance, goal: Objective, budget: Budget, start: Mask | None) -> Iterator[Mask]:
    """Yield safe patterns: from the one that was given, then our own."""
    engine = subproblems_for(instance, budget)
    if start is not None:
        # What somebody gave is made use of whatever the limit: only tidying it up is counted.
        patient = subproblems_for(instance, Budget())
        given = (start | instance.forced).astype(np.float64)
        safe = complete_pattern(patient, given, goal.cost, instance.free)
        if safe is not None:
            yield safe
            yield drop_redundant(engine, safe, goal.cost, safe)
    yield from first_patterns(engine, goal.cost)


def break_ties(instance: Instance, goal: Objective, first: SearchResult, budget: Budget) -> SearchResult:
    """Return, of all patterns that cost as much as the one found, the one that the tie-break picks."""
    narrow = fix_cells(instance, first.possible | first.pattern, np.zeros(0, dtype=np.int64))
    if narrow is None:
        raise SolverError(
            "pattern_lost", "the search lost its own pattern", where="optimal", fix="report this"
        )
    cells = np.isin(instance.cells, narrow.cells)
    start = first.pattern[cells]
    known = float(narrow.tie[start].sum())
    if goal.step and first.value * (known + 1) < LARGEST_SUM:
        # No pattern costs less, so one unit of cost need only outweigh the sum that is known.
        second_goal = Objective(narrow.weight * (known + 1) + narrow.tie, 1.0, ties=True)
    else:
        # Whole costs tie exactly; the fraction only keeps the solver's tolerance out of it.
        most = first.value + WHOLE_SLACK if goal.step else first.value * (1 + REAL)
        second_goal = Objective(narrow.tie.astype(np.float64), 1.0, ties=True, other=narrow.weight, most=most)
    rows = restrict_cuts(first.rows, instance, narrow)
    second = search(narrow, second_goal, replace(budget, gap=0.0), start, rows=rows)
    pattern = np.zeros(len(instance), dtype=bool)
    pattern[cells] = second.pattern
    return replace(first, pattern=pattern, value=goal.value(pattern), canonical=second.finished)
