"""What a reader can infer, by scipy alone: one linear or integer program for each end of each interval."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp


def ends(
    sums: np.ndarray,
    value: np.ndarray,
    withheld: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    cell: int,
    *,
    whole: bool = False,
) -> tuple[float, float]:
    """Smallest and largest value of a cell over all tables that agree with what is published.

    Works in deviations from the truth, in units of the largest value that matters: the absolute tolerances
    of a solver then mean the same in every table.
    """
    if not withheld[cell]:
        return float(value[cell]), float(value[cell])
    free = np.flatnonzero(withheld)
    place = int(np.searchsorted(free, cell))
    matrix = sums[:, free]
    matrix = matrix[np.any(matrix != 0, axis=1)]
    unit = 1.0 if whole else max(1.0, float(np.abs(value[free]).max()))
    low, high = (lower[free] - value[free]) / unit, (upper[free] - value[free]) / unit
    found = []
    for sign in (1.0, -1.0):
        cost = np.zeros(len(free))
        cost[place] = sign
        if whole:
            limits = Bounds(low, high)
            rows = [LinearConstraint(matrix, 0, 0)] if len(matrix) else []
            answer = milp(cost, constraints=rows, bounds=limits, integrality=np.ones(len(free)))
        else:
            equal = {"A_eq": matrix, "b_eq": np.zeros(len(matrix))} if len(matrix) else {}
            answer = linprog(cost, bounds=np.column_stack([low, high]), method="highs", **equal)
        if answer.status in (3, 4) and answer.x is None:
            found.append(-sign * np.inf)
        elif answer.x is None:
            message = f"scipy has no answer: status {answer.status}"
            raise ArithmeticError(message)
        else:
            found.append(float(answer.x[place]))
    smallest, largest = (end * unit if np.isfinite(end) else end for end in found)
    return float(value[cell]) + smallest, float(value[cell]) + largest
