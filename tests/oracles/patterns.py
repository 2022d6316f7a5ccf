"""Reference implementation of optimal suppression: patterns in order of cost, judged by scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
from tests.oracles.both_ends import both_ends

from hitoku.methods.optimal import number
from hitoku.model import Need, Table

ROUNDING = 1e-7


def interval(table: Table, withheld: np.ndarray, cell: int) -> tuple[float, float]:
    """Least and largest value of a cell among the tables that fit, straight from the definition."""
    low, high = np.where(withheld, (table.lower, table.upper), table.value)
    relations = table.relations.toarray()
    cost = np.arange(table.n_cells) == cell
    return both_ends(cost, relations, np.zeros(len(relations)), np.column_stack([low, high]))


def safe(table: Table, need: Need, withheld: np.ndarray) -> bool:
    """Tell whether a pattern gives every unsafe cell what it needs, and no single point."""
    for cell in np.flatnonzero(need.unsafe):
        low, high = interval(table, withheld, cell)
        value = table.value[cell]
        least = max(
            need.width[cell], 1.0 if table.integer and not needs_anything(need, cell) else 2 * ROUNDING
        )
        if low > value - need.lower[cell] + ROUNDING or high < value + need.upper[cell] - ROUNDING:
            return False
        if high - low < least - ROUNDING:
            return False
    return True


def needs_anything(need: Need, cell: int) -> bool:
    return bool(need.lower[cell] or need.upper[cell] or need.width[cell])


def cheapest(
    table: Table, need: Need, cost: np.ndarray, keep: np.ndarray, withhold: np.ndarray
) -> np.ndarray | None:
    """Return the first safe pattern by cost, then sum of the cells' numbers, then lexicographically."""
    forced = need.unsafe | withhold
    free = np.flatnonzero(~keep & ~forced)
    tie = np.array([number(table.labels.codes_of(int(cell))) for cell in free], dtype=int)
    patterns = np.array(list(product([0, 1], repeat=len(free))), dtype=int).reshape(-1, len(free))
    # The row number is the lexicographic order; costs are rounded so that equal sums are equal.
    order = np.lexsort((np.arange(len(patterns)), patterns @ tie, np.round(patterns @ cost[free], 9)))
    everything = forced.copy()
    everything[free] = True
    if np.any(forced & keep) or not safe(table, need, everything):
        return None
    too_few: list[int] = []
    for row in order:
        bits = int("".join(map(str, patterns[row])) or "0", 2)
        # What a pattern does not protect, no part of it does.
        if any(bits | larger == larger for larger in too_few):
            continue
        withheld = forced.copy()
        withheld[free[patterns[row] == 1]] = True
        if safe(table, need, withheld):
            return withheld
        too_few.append(bits)
    return None
