"""A linear program that grows: columns and rows are added, and the dual simplex restarts from the last basis.

For searches that begin with a few rows and add those that the last solution violated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.solver.highs import GRANTED, ROUNDING, Simplex, accept, run, simplex_engine
from hitoku.solver.solution import SolverStatus

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class GrowingProgram:
    """Minimise ``cost @ x`` over ``rows @ x == 0`` and ``0 <= x <= upper``, with a growing number of rows.

    Zero is feasible and every column is bounded, so there is always an optimum. Nothing is scaled: numbers
    other than costs should be near one.

    Examples
    --------
    Two columns must be equal; then the second must also be twice a third one, which is at most one half.

    >>> program = GrowingProgram()
    >>> program.add_columns(np.array([-1.0, 0.0]), np.array([4.0, 3.0]))
    >>> program.add_rows(np.array([0, 2]), np.array([0, 1]), np.array([1.0, -1.0]))
    >>> program.solve().tolist()
    [3.0, 3.0]
    >>> program.add_columns(np.array([0.0]), np.array([0.5]))
    >>> program.add_rows(np.array([0, 2]), np.array([1, 2]), np.array([1.0, -2.0]))
    >>> program.solve().tolist()
    [1.0, 1.0, 0.5]
    """

    def __init__(self) -> None:
        self._highs = simplex_engine(simplex_strategy=Simplex.DUAL)
        self._upper = np.zeros(0)
        # Row, column and coefficient of every entry, to check solutions.
        self._entries: list[tuple[Integers, Integers, Floats]] = []
        self._n_rows = 0

    def add_columns(self, cost: Floats, upper: Floats) -> None:
        """Add columns that are in no row yet; all bounds are finite."""
        n, nothing = len(cost), np.zeros(0, dtype=np.int32)
        begins = np.zeros(n, dtype=np.int32)
        added = self._highs.addCols(n, cost, np.zeros(n), upper, 0, begins, nothing, np.zeros(0))
        accept(added, "adding columns")
        self._upper = np.concatenate([self._upper, upper])

    def add_rows(self, begins: Integers, columns: Integers, coefficients: Floats) -> None:
        """Add rows that must be zero, as CSR arrays."""
        n, ends = len(begins) - 1, np.zeros(len(begins) - 1)
        places = begins[:-1].astype(np.int32), columns.astype(np.int32)
        accept(self._highs.addRows(n, ends, ends, len(columns), *places, coefficients), "adding rows")
        row = np.repeat(np.arange(self._n_rows, self._n_rows + n), np.diff(begins))
        self._entries.append((row, columns, coefficients))
        self._n_rows += n

    def solve(self) -> Floats | None:
        """Return an optimal point; None if the solver finds none within rows and bounds."""
        for again in (False, True):
            if again:
                self._highs.clearSolver()
            status = run(self._highs, 1)
            point: Any = self._highs.getSolution()
            if status is SolverStatus.OPTIMAL and point.value_valid:
                x = np.asarray(point.col_value)
                if self._meets(x):
                    return np.asarray(np.clip(x, 0.0, self._upper))
        return None

    def _meets(self, x: Floats) -> bool:
        slack = GRANTED + ROUNDING * self._upper
        if np.any(x < -slack) or np.any(x > self._upper + slack):
            return False
        off, size = np.zeros(self._n_rows), np.zeros(self._n_rows)
        for row, column, coefficient in self._entries:
            terms = coefficient * x[column]
            off += np.bincount(row, terms, self._n_rows)
            size += np.bincount(row, np.abs(terms), self._n_rows)
        return bool(np.all(np.abs(off) <= GRANTED + ROUNDING * size))
