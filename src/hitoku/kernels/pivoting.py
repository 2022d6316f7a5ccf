"""Pivots of dense tableaus, and the tolerances of all searches that compute in doubles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hitoku.kernels.compiled import compiled

Floats = NDArray[np.float64]

# Numbers are scaled to be near one. Smaller entries and gains are rounding.
TINY = 1e-12
# Bounds, levels and sums hold up to this.
FEASIBLE = 1e-9
# Smallest pivot. Reduced costs this close to zero, and cells withheld to a smaller share, count as zero.
PIVOT = 1e-7


@compiled
def pivot_rows(tableau: Floats, n_rows: int, row: int, column: int) -> None:
    """Solve a row for a column, and substitute it in all other rows."""
    n = tableau.shape[1]
    turn = 1.0 / tableau[row, column]
    # On a copy: a compiler that knows that the rows do not overlap works on several entries at once.
    solved = tableau[row].copy()
    for j in range(n):
        solved[j] *= -turn
    solved[column] = turn
    for i in range(n_rows):
        here = tableau[i]
        factor = here[column]
        if i == row or factor == 0.0:
            continue
        here[column] = 0.0
        for j in range(n):
            value = here[j] + factor * solved[j]
            here[j] = value if abs(value) > TINY else 0.0
    tableau[row] = solved


def warm_up() -> None:
    """Compile for the types that callers use, or load what was compiled before."""
    pivot_rows(np.ones((1, 1)), 1, 0, 0)
