"""What a reader can infer and what protection must cost, by numpy and scipy alone.

One linear or integer program for each end of each interval; one integer program for the cheapest pattern.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

# As scipy numbers its answers.
INFEASIBLE = 2


class UnansweredError(ArithmeticError):
    """scipy has no answer, so there is nothing to compare with."""


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
            # The truth itself is a solution: who calls that infeasible is asked again, in another way.
            for way in (
                {"method": "highs"},
                {"method": "highs", "options": {"presolve": False}},
                {"method": "highs-ipm"},
            ):
                answer = linprog(cost, bounds=np.column_stack([low, high]), **equal, **way)
                if answer.status != INFEASIBLE:
                    break
        if answer.status in (3, 4) and answer.x is None:
            found.append(-sign * np.inf)
        elif answer.x is None:
            raise UnansweredError
        else:
            found.append(float(answer.x[place]))
    smallest, largest = (end * unit if np.isfinite(end) else end for end in found)
    return float(value[cell]) + smallest, float(value[cell]) + largest


def worked_out(sums: np.ndarray, withheld: np.ndarray, cell: int) -> bool:
    """Tell whether a cell follows from sums alone: its unit vector is among their combinations."""
    free = np.flatnonzero(withheld)
    if cell not in free:
        return True
    matrix = sums[:, free]
    unit = (free == cell).astype(float)
    return bool(np.linalg.matrix_rank(np.vstack([matrix, unit])) == np.linalg.matrix_rank(matrix))


def cheapest(
    sums: np.ndarray,
    value: np.ndarray,
    lower: np.ndarray,
    unsafe: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    width: np.ndarray,
) -> int | None:
    """Count the cells of the cheapest pattern: a binary for each cell, two real tables for each unsafe one.

    The whole program as Fischetti & Salazar write it, without a single cut; None where scipy has no answer.
    """
    n, hidden = len(value), np.flatnonzero(unsafe)
    most = float(2 * (np.abs(value).max() + below.max() + above.max() + width.max()))
    down, up = np.minimum(value - lower, most), np.full(n, most)
    n_tables = 2 * len(hidden)
    n_all = n * (1 + n_tables)
    rows, least, greatest = [], [], []

    def row(at: np.ndarray, factors: np.ndarray, low: float, high: float) -> None:
        made = np.zeros(n_all)
        made[at] = factors
        rows.append(made)
        least.append(low)
        greatest.append(high)

    everywhere = np.arange(n)
    for number in range(n_tables):
        start = n * (1 + number)
        for each in sums:
            row(start + everywhere, each, 0, 0)
        for cell in range(n):
            row(np.array([start + cell, cell]), np.array([1.0, -up[cell]]), -np.inf, 0)
            row(np.array([start + cell, cell]), np.array([1.0, down[cell]]), 0, np.inf)
    for number, cell in enumerate(hidden):
        low, high = n * (1 + 2 * number) + cell, n * (2 + 2 * number) + cell
        row(np.array([low]), np.array([1.0]), -np.inf, -below[cell])
        row(np.array([high]), np.array([1.0]), above[cell], np.inf)
        row(np.array([high, low]), np.array([1.0, -1.0]), width[cell], np.inf)
    cost = np.zeros(n_all)
    cost[:n] = 1
    limits = Bounds(
        np.concatenate([unsafe.astype(float), *[-down] * n_tables]),
        np.concatenate([np.ones(n), *[up] * n_tables]),
    )
    whole = np.concatenate([np.ones(n), np.zeros(n_all - n)])
    answer = milp(
        cost,
        constraints=[LinearConstraint(np.array(rows), least, greatest)],
        bounds=limits,
        integrality=whole,
        options={"time_limit": 30.0, "mip_rel_gap": 0.0},
    )
    return None if answer.status != 0 else round(float(answer.fun))
