"""The least and the largest value of a sum over all points of a program, by scipy."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog


def both_ends(
    cost: np.ndarray, matrix: np.ndarray | None, rhs: np.ndarray | None, bounds: np.ndarray
) -> tuple[float, float]:
    """Return both ends of ``cost @ x`` where ``matrix @ x == rhs`` within bounds, or infinity.

    Setting a program up takes scipy longer than solving it when it is small: so both ends are those of one,
    over two copies of it that share nothing. Where that has no answer, each end is asked for alone.
    """
    cost = np.asarray(cost, dtype=float)
    equal = {} if matrix is None else {"A_eq": np.kron(np.eye(2), matrix), "b_eq": np.tile(rhs, 2)}
    together = linprog(np.concatenate([cost, -cost]), bounds=np.tile(bounds, (2, 1)), **equal)
    if together.status == 0:
        least, largest = together.x.reshape(2, -1) @ cost
        return float(least), float(largest)
    alone = {} if matrix is None else {"A_eq": matrix, "b_eq": rhs}
    ends = []
    for sign in (1.0, -1.0):
        answer = linprog(sign * cost, bounds=bounds, **alone)
        assert answer.status in {0, 3}, answer.message  # an optimum, or no end to it
        ends.append(sign * answer.fun if answer.status == 0 else -sign * math.inf)
    return ends[0], ends[1]
