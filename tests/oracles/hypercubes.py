"""Boxes listed one by one, slowly and without doubt."""

from __future__ import annotations

from itertools import product

import numpy as np


def moves_through(dimension, code):
    """Every move of one variable that takes a code up: codes with their signs."""
    closure = dimension.closure.toarray() > 0
    found = []
    for up in range(len(dimension.leaves)):
        for down in [None, *range(len(dimension.leaves))]:
            if down is not None and closure[code, down]:
                continue
            if not closure[code, up]:
                continue
            sign = closure[:, up].astype(int) - (0 if down is None else closure[:, down].astype(int))
            found.append({c: int(s) for c, s in enumerate(sign) if s})
    return found


def hypercubes_through(table, cell):
    """Every box that takes a cell up, as changes of all cells."""
    codes = np.unravel_index(cell, table.shape)
    for moves in product(*(moves_through(d, c) for d, c in zip(table.dimensions, codes, strict=True))):
        change = np.zeros(table.shape, dtype=int)
        for combination in product(*(move.items() for move in moves)):
            change[tuple(c for c, _ in combination)] = np.prod([s for _, s in combination])
        yield change.ravel()


def cheapest(table, cell, amount, price, down, up):
    """Price of the cheapest box with room for an amount; infinite where there is none."""
    best = np.inf
    for change in hypercubes_through(table, cell):
        rises, falls = change > 0, change < 0
        if np.all(up[rises] >= amount) and np.all(down[falls] >= amount):
            best = min(best, price[change != 0].sum())
    return best
