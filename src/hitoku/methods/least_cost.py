"""What any safe pattern costs at least: a bound that takes no linear program, for tables of any size.

An unsafe cell must be able to move, so every relation that it is in holds another cell that moves: one that
is withheld. Of relations with a single unsafe cell, each asks for a secondary cell; the least cost of such a
choice is a covering problem, and any feasible solution of its dual is a bound. Prices of relations are raised
one after the other, as far as the costs of their cells allow.
"""

from __future__ import annotations

import numpy as np

from hitoku.model import Floats, Mask, Need, Table


def least_cost(table: Table, need: Need, cost: Floats, stay: Mask, first: Mask) -> float:
    """Return a number that no safe pattern is cheaper than.

    Parameters
    ----------
    table, need
        What to protect.
    cost
        Of each cell.
    stay
        Cells that stay published.
    first
        Cells that are withheld in any case, unsafe ones among them.

    Examples
    --------
    Rows and columns through the unsafe cell need a second blank each, for 10 and for 20.

    >>> table = Table.from_array([[1, 10, 30], [20, 40, 90], [50, 60, 70]])
    >>> need = Need(unsafe=table.value == 1)
    >>> nothing = np.zeros(16, dtype=bool)
    >>> least_cost(table, need, table.value, nothing, need.unsafe)
    31.0
    """
    relations = table.relations
    held = first & (table.upper > table.lower)
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    count = np.bincount(row[held[relations.indices]], minlength=relations.shape[0])
    asks = np.bincount(row[need.unsafe[relations.indices]], minlength=relations.shape[0])
    # Withheld in any case, such a cell may already be what the relation asks for.
    asking = np.flatnonzero((asks == 1) & (count == 1))
    free = ~(stay | first) & (table.upper > table.lower)
    left = np.where(free, cost, np.inf)
    begins, ends = relations.indptr[asking], relations.indptr[asking + 1]
    cheapest = np.array(
        [left[relations.indices[i:j]].min(initial=np.inf) for i, j in zip(begins, ends, strict=True)]
    )
    total = float(cost[first].sum())
    # Dear relations first: a cheap one that shares their cells would use up what they can be charged.
    for number in np.argsort(-cheapest, kind="stable"):
        cells = relations.indices[begins[number] : ends[number]]
        price = float(left[cells].min(initial=np.inf))
        if 0 < price < np.inf:
            total += price
            left[cells] -= price
    return total
