"""Tiny parts by enumeration: all patterns in order of their value until one is safe.

What is left of a hierarchy falls apart into hundreds of parts with a dozen cells to decide each. Setting up a
linear program for one takes longer than to list its patterns.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.budget import Budget
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.objective import Objective, SearchResult
from hitoku.model import Floats, Integers, Mask

# Cells to decide at most.
TINY = 14
# A row that lacks less than this is filled.
FILLED = 1e-6
# Patterns attacked before the tree is asked after all.
MOST_ATTACKS = 100


def cheapest_by_enumeration(
    instance: Instance, goal: Objective, budget: Budget, start: Mask, rows: Cuts
) -> SearchResult | None:
    """Return the best pattern of a tiny part; None when it is not tiny, or rows say too little about it.

    Parameters as in :func:`hitoku.methods.optimal.search.search`. Every pattern that is not dearer than the
    starting one is either ruled out by a row, or by an attack, or is the answer.
    """
    free = instance.free
    if len(free) > TINY:
        return None
    budget.spend()
    patterns, value = _listed(len(free)), goal.value(instance.forced) + _sums(goal.cost[free])
    best, most = start, goal.value(start)
    # Patterns of the same cost say which cells the tie-break must look at.
    near = np.flatnonzero(value <= most + goal.within(most))
    near = near[np.lexsort((near, value[near]))]
    near = near[_filled(patterns[near], free, len(instance), rows)]
    possible = instance.forced | start
    possible[free] |= patterns[near].any(axis=0)
    hopeless = np.array([goal.hopeless(one, most) for one in value[near].tolist()], dtype=bool)
    if goal.ties:
        # Of the same value only those that come before.
        own = int(start[free] @ (1 << np.arange(len(free))[::-1]))
        hopeless |= (np.abs(value[near] - most) < 0.5 * goal.step) & (near >= own)
    candidates = near[~hopeless]
    found: list[tuple[Integers, Floats]] = []
    engine = subproblems_for(instance, budget) if len(candidates) else None
    for _ in range(MOST_ATTACKS):
        if engine is None or not len(candidates):
            made = Cuts.of([*map(rows.row, range(len(rows))), *found], rows.n_lively)
            return SearchResult(best, goal.value(best), goal.value(best), True, possible, made)
        pattern = instance.forced.copy()
        pattern[free] = patterns[candidates[0]]
        new, met = engine.separate(pattern.astype(np.float64), exact=True)
        if met.all():
            best, candidates = pattern, candidates[:0]
            continue
        found += new
        # A pattern that is not safe needs a cell it does not have: true whatever rounding did.
        lacking = ~patterns[candidates[0]]
        candidates = candidates[(patterns[candidates] & lacking).any(axis=1)]
        candidates = candidates[_filled(patterns[candidates], free, len(instance), Cuts.of(new))]
    return None


@cache
def _listed(n: int) -> Mask:
    """List all patterns of some cells, the lexicographically smallest first.

    Examples
    --------
    >>> _listed(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    patterns: Mask = (np.arange(1 << n)[:, None] >> np.arange(n)[::-1]) & 1 == 1
    patterns.flags.writeable = False
    return patterns


def _sums(cost: Floats) -> Floats:
    """Return what each pattern costs, in the same order.

    Examples
    --------
    >>> _sums(np.array([2.0, 1.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    value = np.zeros(1)
    for one in cost[::-1].tolist():
        value = np.concatenate([value, value + one])
    return value


def _filled(patterns: Mask, free: Integers, n_cells: int, rows: Cuts) -> Mask:
    """Tell which patterns fill all rows."""
    place = np.full(n_cells, -1)
    place[free] = np.arange(len(free))
    fits = np.ones(len(patterns), dtype=bool)
    for cells, c in map(rows.row, range(len(rows))):
        fits[fits] = (patterns[fits][:, place[cells]] * c).sum(axis=1) > 1 - FILLED
    return fits
