"""Small problems: bit patterns of two-way tables in compiled code, and parts with few cells to decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from hitoku.kernels import MASK_BITS
from hitoku.methods.costs import CostScale, costs
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import DOWN, INTEGRAL, UP, WIDTH, Budget, Instance
from hitoku.methods.optimal.objective import NUMBERS, Objective, SearchResult, numbers
from hitoku.methods.optimal.presolve import levels_of
from hitoku.model import Floats, Integers, Mask, Need, Table

MAX_CELLS = 256
# Above this the search is not small, and the general search may be faster.
NODES = 200_000
# Slacks and levels up to this are exact integers in doubles, and sums of them fit the kernel's integers.
LARGEST = 2.0**40
# The same for weights.
HEAVIEST = 2.0**60


def fits(table: Table, keep: Mask, most_cells: int = MAX_CELLS) -> bool:
    """Return whether a table is two-way, flat, small and integer, with all its margins published."""
    if len(table.dimensions) != 2 or not table.integer or any(len(d.groups) != 1 for d in table.dimensions):
        return False
    rows, columns = (len(d.leaves) for d in table.dimensions)
    n = rows * columns
    plain = table.relations.shape[0] == rows + columns + 2 and table.relations.nnz == 2 * table.n_cells
    if n > most_cells or max(rows, columns) > MASK_BITS or not plain or not keep[~table.inner].all():
        return False
    ends = np.concatenate([table.lower, table.upper])
    ends = ends[np.isfinite(ends)]
    return bool(np.array_equal(ends, np.rint(ends)) and np.abs(table.value).max() < LARGEST)


def pattern_of_small(table: Table, need: Need, cost: Floats, keep: Mask, withhold: Mask) -> Mask | None:
    """Return the cheapest pattern; None if there is none, or if the search takes too long."""
    inner = np.flatnonzero(table.inner)
    forced = (need.unsafe | withhold)[inner]
    up, down = (table.upper - table.value)[inner], (table.value - table.lower)[inner]
    allowed = (~keep[inner] & ((up > 0) | (down > 0))) | forced
    free = allowed & ~forced
    grid = CostScale.of(cost[inner[free]])
    multiple = NUMBERS * len(inner)
    if not grid.whole or grid.weight.sum() * multiple > HEAVIEST:
        return None
    weight = np.zeros(len(inner), dtype=np.int64)
    weight[free] = grid.weight.astype(np.int64) * multiple + numbers(table.labels, inner[free])
    levels = levels_of(table, need)
    if np.any(levels.amount >= LARGEST):
        return None
    wanted = np.zeros((len(inner), 3), dtype=np.int64)
    place = np.zeros(table.n_cells, dtype=np.int64)
    place[inner] = np.arange(len(inner))
    for at, side in enumerate((UP, DOWN, WIDTH)):
        mine = levels.side == side
        # Flows with integer slacks are integer: a level between two integers is rounded up.
        wanted[place[levels.cell[mine]], at] = np.ceil(levels.amount[mine] - 1e-9).astype(np.int64)
    from hitoku.kernels.patterns import FAR, cheapest  # noqa: PLC0415 - numba takes a second to load

    slacks = [np.minimum(slack, FAR).astype(np.int64) for slack in (up, down)]
    rows, columns = (len(d.leaves) for d in table.dimensions)
    status, found, _ = cheapest(rows, columns, *slacks, wanted, weight, forced, allowed, NODES)
    if status != 1:
        return None
    withheld = need.unsafe | withhold
    withheld[inner[found]] = True
    return withheld


@dataclass(frozen=True, slots=True, eq=False)
class TwoWay:
    """Order of patterns of a two-way table of counts, independent of its suppressed counts.

    The lighter pattern is chosen, of equally light ones the lexicographically smaller. The weight of a cell
    is ``fixed + per_value * count``; weights have a scale of their own, unlike the costs of the method.
    """

    inner: Integers  # Positions of the inner cells, row by row.
    columns: int  # Number of inner cells in a row.
    # fixed, per_value: weight of each inner cell.
    fixed: Integers
    per_value: int
    allowed: Mask  # Inner cells that may be suppressed.


def two_way(table: Table, cost: str | ArrayLike, keep: Mask) -> TwoWay | None:
    """Return how patterns of a table compare; None if the search over bit patterns does not apply.

    The answer is the same for all tables with these cells and margins.
    """
    inner = np.flatnonzero(table.inner)
    if not fits(table, keep) or np.any(table.lower[inner] != 0) or np.any(table.upper[inner] < np.inf):
        return None
    by_count = isinstance(cost, str) and (
        cost == "value"
        or (
            cost == "frequency"
            and table.frequency is not None
            and bool(np.all(table.frequency == table.value))
        )
    )
    if by_count:
        weight, per_value = np.zeros(len(inner)), NUMBERS * len(inner)
        total = float(table.value[inner].sum()) * per_value
    elif isinstance(cost, str) and cost not in {"unit", "own"}:
        return None
    else:
        grid = CostScale.of(costs(table, cost)[inner])
        weight, per_value = grid.weight * NUMBERS * len(inner), 0
        total = float(weight.sum()) if grid.whole else np.inf
    if total > HEAVIEST:
        return None
    fixed = weight.astype(np.int64) + numbers(table.labels, inner)
    return TwoWay(inner, len(table.dimensions[1].leaves), fixed, per_value, ~keep[inner])


# Maximum number of undecided cells.
TINY = 14
# Maximum number of patterns attacked before the tree is used.
MAX_ATTACKS = 100


def cheapest_by_enumeration(
    instance: Instance, goal: Objective, budget: Budget, start: Mask, rows: Cuts
) -> SearchResult | None:
    """Return the best pattern of a tiny part; None if it is not tiny, or if rows exclude too few patterns.

    Parameters as in :func:`hitoku.methods.optimal.search.search`. Every pattern no more expensive than the
    starting one is either excluded by a row, or by an attack, or is the answer.
    """
    free = instance.free
    if len(free) > TINY:
        return None
    budget.spend()
    patterns, value = _list_patterns(len(free)), goal.value(instance.forced) + _sums(goal.cost[free])
    best, most = start, goal.value(start)
    # Patterns of the same cost determine which cells the tie-break must consider.
    near = np.flatnonzero(value <= most + goal.within(most))
    near = near[np.lexsort((near, value[near]))]
    near = near[_satisfying_patterns(patterns[near], free, len(instance), rows)]
    possible = instance.forced | start
    possible[free] |= patterns[near].any(axis=0)
    hopeless = np.array([goal.hopeless(one, most) for one in value[near].tolist()], dtype=bool)
    if goal.ties:
        # Among those of the same value only earlier ones.
        own = int(start[free] @ (1 << np.arange(len(free))[::-1]))
        hopeless |= (np.abs(value[near] - most) < 0.5 * goal.step) & (near >= own)
    candidates = near[~hopeless]
    found: list[tuple[Integers, Floats]] = []
    engine = subproblems_for(instance, budget) if len(candidates) else None
    for _ in range(MAX_ATTACKS):
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
        # A pattern that is not safe needs another cell: valid despite rounding.
        lacking = ~patterns[candidates[0]]
        candidates = candidates[(patterns[candidates] & lacking).any(axis=1)]
        candidates = candidates[_satisfying_patterns(patterns[candidates], free, len(instance), Cuts.of(new))]
    return None


@cache
def _list_patterns(n: int) -> Mask:
    """List all patterns of some cells, the lexicographically smallest first.

    Examples
    --------
    >>> _list_patterns(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    patterns: Mask = (np.arange(1 << n)[:, None] >> np.arange(n)[::-1]) & 1 == 1
    patterns.flags.writeable = False
    return patterns


def _sums(cost: Floats) -> Floats:
    """Return the cost of each pattern, in the same order.

    Examples
    --------
    >>> _sums(np.array([2.0, 1.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    value = np.zeros(1)
    for one in cost[::-1].tolist():
        value = np.concatenate([value, value + one])
    return value


def _satisfying_patterns(patterns: Mask, free: Integers, n_cells: int, rows: Cuts) -> Mask:
    """Return which patterns satisfy all rows."""
    place = np.full(n_cells, -1)
    place[free] = np.arange(len(free))
    fits = np.ones(len(patterns), dtype=bool)
    for cells, c in map(rows.row, range(len(rows))):
        fits[fits] = (patterns[fits][:, place[cells]] * c).sum(axis=1) > 1 - INTEGRAL
    return fits
