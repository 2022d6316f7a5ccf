"""Counts and amounts of one table that leave together: the ends of every cell over all worlds of both.

A world has whole counts and amounts that agree with all published cells of both tables, and no amount where
nobody is counted. Each end is an integer program of its own over both measures.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from hitoku.model import Release, Table


def joint_ends(
    table: Table,
    counts: Release,
    amounts: Release,
    contribution: tuple[float, float] = (0.0, np.inf),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest count and amount of every cell: two arrays of shape (2, cells)."""
    n = table.n_cells
    relations = table.relations.toarray()
    nothing = np.zeros_like(relations)
    low, high = contribution
    high = min(high, 2 * float(table.value.sum()) + 1)
    fits = [
        LinearConstraint(np.block([[relations, nothing], [nothing, relations]]), 0, 0),
        # An amount lies between the least and the largest that so many contributors may have.
        LinearConstraint(np.hstack([high * np.eye(n), -np.eye(n)]), 0, np.inf),
        LinearConstraint(np.hstack([-low * np.eye(n), np.eye(n)]), 0, np.inf),
    ]
    shown = np.concatenate([counts.published, amounts.published])
    bounds = Bounds(np.where(np.isnan(shown), 0, shown), np.where(np.isnan(shown), np.inf, shown))
    whole = np.concatenate([np.ones(n), np.zeros(n)])
    ends = np.zeros((2, 2 * n))
    for cell in range(2 * n):
        for side, sign in enumerate((1, -1)):
            if not np.isnan(shown[cell]):
                ends[side, cell] = shown[cell]
                continue
            cost = np.zeros(2 * n)
            cost[cell] = sign
            found = milp(cost, constraints=fits, bounds=bounds, integrality=whole)
            # Without an end the program has none either: nothing published bounds the cell.
            ends[side, cell] = sign * found.fun if found.success else sign * -np.inf
    return ends[:, :n], ends[:, n:]
