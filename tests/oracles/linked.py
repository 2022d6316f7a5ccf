"""What follows from several tables of one register, by one linear program over the cross of its codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from hitoku.model import Table


def memberships(table: Table, where: dict[str, list[str]], cross: pd.DataFrame) -> np.ndarray:
    """Cells of a table by combinations of codes, one where the combination belongs to the cell."""
    kept = np.ones(len(cross), dtype=bool)
    for name, codes in where.items():
        kept &= cross[name].isin(codes).to_numpy()
    rows = np.zeros((table.n_cells, len(cross)))
    for cell in range(table.n_cells):
        inside = kept.copy()
        for dimension, code in zip(table.dimensions, table.labels.codes_of(cell), strict=True):
            below = dimension.closure[[dimension.position[code]]].indices
            inside &= cross[dimension.name].isin([dimension.leaves[leaf] for leaf in below]).to_numpy()
        rows[cell] = inside
    return rows


def extremes(row: np.ndarray, known: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest sum of some combinations, given those of others; none is negative."""
    ends = []
    for sign in (1.0, -1.0):
        solved = linprog(sign * row, A_eq=known, b_eq=values, bounds=(0, None))
        assert solved.status in {0, 3}, solved.message  # solved, or without an end
        ends.append(sign * solved.fun if solved.status == 0 else -sign * np.inf)
    return ends[0], ends[1]
