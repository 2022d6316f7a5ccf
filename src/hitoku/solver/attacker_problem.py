"""Attacker subproblems: how far one cell can be pushed when the deviation of every cell is bounded.

The same relations are solved for one cell and set of bounds after another. Results include multipliers of
the relations; callers recompute the bounds that they prove.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.solver.highs import accept, hand_over, run, simplex_engine
from hitoku.solver.solution import SolverStatus

Floats = NDArray[np.float64]


class AttackerProblem:
    """Deviations ``d`` with ``relations @ d == 0`` and ``low <= d <= high``, where ``low <= 0 <= high``.

    Examples
    --------
    A total and its two parts: the first part can go up by what the second can go down.

    >>> attacker = AttackerProblem(sparse.csr_array([[1.0, 1.0, -1.0]]))
    >>> low, high = np.array([-3.0, -2.0, 0.0]), np.array([9.0, 9.0, 0.0])
    >>> attacker.push(0, 1.0, low, high)[0]
    2.0
    """

    def __init__(self, relations: sparse.csr_array, price: Floats | None = None) -> None:
        n_rows, n = relations.shape
        self._n = n
        self._places = np.arange(n, dtype=np.int32)
        self._cost = np.zeros(n) if price is None else np.asarray(price, dtype=np.float64)
        self._highs: Any = simplex_engine()
        zero, rows = np.zeros(n), np.zeros(n_rows)
        hand_over(self._highs, relations, relations.data, self._cost, (zero, zero), (rows, rows))

    def push(self, cell: int, sense: float, low: Floats, high: Floats) -> tuple[float, Floats, Floats]:
        """Push one cell up (sense 1) or down (-1); return distance, deviation and multipliers ``y``.

        For any ``y``, ``sense * d[cell]`` equals ``(sense * e_cell + relations.T @ y) @ d``.
        """
        highs = self._highs
        accept(highs.changeColsBounds(self._n, self._places, low, high), "changing bounds")
        accept(highs.changeColCost(cell, -sense), "changing costs")
        status = run(highs, 1)
        if status is not SolverStatus.OPTIMAL:
            highs.clearSolver()
            status = run(highs, 1)
        accept(highs.changeColCost(cell, 0.0), "changing costs")
        if status is not SolverStatus.OPTIMAL:
            raise SolverError(
                "attacker_program_without_optimum",
                "an attacker's linear program has no optimum",
                where="solver",
            )
        solution = highs.getSolution()
        point = np.asarray(solution.col_value)
        return sense * float(point[cell]), point, np.asarray(solution.row_dual)

    def free(self) -> None:
        """Reset the prices of :meth:`cheapest` before cells are pushed again."""
        accept(self._highs.changeColsCost(self._n, self._places, np.zeros(self._n)), "changing costs")

    def cheapest(self, price: Floats, low: Floats, high: Floats) -> Floats | None:
        """Return the cheapest deviation within bounds, which need not contain zero; None if infeasible."""
        highs = self._highs
        accept(highs.changeColsBounds(self._n, self._places, low, high), "changing bounds")
        accept(highs.changeColsCost(self._n, self._places, price), "changing costs")
        status = run(highs, 1)
        if status not in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE):
            highs.clearSolver()
            status = run(highs, 1)
        if status is not SolverStatus.OPTIMAL:
            return None
        return np.asarray(highs.getSolution().col_value)
