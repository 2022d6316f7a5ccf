"""Capacity constraints by dense arrays, one push after the other."""

from __future__ import annotations

import numpy as np


def capacity_row(relations, multipliers, grid, cells, senses, rooms, amount, forced):
    """The row that some pushes of one level prove together; None when it says nothing.

    Multipliers are whole multiples of ``1 / grid``.
    """
    total = np.zeros(relations.shape[1])
    for y, cell, sense in zip(multipliers, cells, senses, strict=True):
        g = y @ relations
        g[cell] += sense * grid
        g = g / grid
        c = np.where(g > 0, rooms[0] * g, rooms[1] * -g)
        total += np.minimum(np.where(g == 0, 0.0, c), amount)
    total = np.minimum(total, amount)
    left = amount - total[forced].sum()
    if left <= 1e-9 * amount:
        return None
    return np.where(forced | (total == 0), 0.0, np.maximum(np.minimum(total / left, 1.0), 1e-6))


def without(relations, multipliers, grid, cells, senses, peeled):
    """Set multipliers of relations so that some cells do not count, one after the other."""
    made = multipliers.copy()
    for y, cell, sense in zip(made, cells, senses, strict=True):
        for out, row in peeled:
            g = y @ relations[:, out] + (sense * grid if out == cell else 0)
            y[row] -= g // relations[row, out]
    return made
