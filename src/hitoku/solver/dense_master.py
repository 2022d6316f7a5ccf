"""Master problem on a dense tableau in compiled code: many short solves of some hundred columns.

The tableau holds the columns of least reduced cost when it was built. All others are at zero; columns with
negative reduced cost at an optimum are added, and the solve continues.

The contract is that of :class:`hitoku.solver.master.Master`: bounds are recomputed from multipliers, and so
is every proof of infeasibility. If the tableau's point does not agree with the recomputed bound, the tableau
is rebuilt, and finally the other solver is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hitoku.solver.highs import FEASIBLE, NO_LIMIT
from hitoku.solver.master import Covering, Floats, Integers, Mask, Master, Relaxed, SparseRows
from hitoku.solver.solution import SolverStatus

# The tableau is rebuilt after this many steps.
MAX_STEPS = 20_000
# Least number of columns of a new tableau; it has two for each row where that is more.
MIN_COLUMNS = 120
# Largest excess of the point's cost over the proven bound, as a share, and largest violation of a row.
AGREES = 1e-6


class DenseMaster(Covering):
    """Minimise ``cost @ x`` subject to ``rows @ x >= rhs`` and bounds, repeatedly.

    Examples
    --------
    One of two columns is needed, and one of the last two.

    >>> master = DenseMaster(np.array([2.0, 3.0, 2.0]))
    >>> master.add(sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.ones(2))
    >>> master.solve().bound
    3.0
    """

    def __init__(self, cost: Floats) -> None:
        super().__init__(cost)
        self._reduced = self.cost
        self._set_up()

    def _set_up(self, *, everything: bool = False) -> None:
        """Build a tableau with all slacks basic, and all free columns or the most promising ones."""
        columns = np.flatnonzero(self.lower < self.upper)
        most = max(MIN_COLUMNS, 2 * self.n_rows)
        if not everything and len(columns) > most:
            order = np.argsort(self._reduced[columns], kind="stable")
            columns = np.sort(columns[order[:most]])
        self._columns = columns
        self._place = np.full(len(self.cost), -1)
        self._place[self._columns] = np.arange(len(self._columns))
        # All other columns are fixed at their value, or at zero.
        self._fixed = np.where(self._place < 0, self.lower, 0.0)
        n, n_rows = len(self._columns), self.n_rows
        self._age, self._stale = 0, False
        self._at = np.zeros(n)
        self._tableau = np.zeros((max(64, 2 * n_rows + 2), n + 1))
        self._tableau[0, :n] = self.cost[self._columns] / self._unit
        self._basic = np.full(len(self._tableau), -1, dtype=np.int64)
        self._nonbasic = np.arange(n)
        self._append(0)

    def _let_in(self, columns: Integers) -> None:
        """Add columns to the tableau, nonbasic."""
        from hitoku.kernels.dual_simplex import write_columns  # noqa: PLC0415 - numba loads slowly

        n, more, n_rows = len(self._columns), len(columns), self.n_rows + 1
        wider = np.zeros((len(self._tableau), n + more + 1))
        wider[:, :n], wider[:, -1] = self._tableau[:, :n], self._tableau[:, n]
        self._basic[1:n_rows] += more * (self._basic[1:n_rows] >= n)
        slack = self._nonbasic >= n
        self._nonbasic = np.concatenate([self._nonbasic + more * slack, n + np.arange(more)])
        self._at = np.concatenate([self._at, np.zeros(more)])
        self._columns = np.concatenate([self._columns, columns])
        self._place = self._place.copy()
        self._place[columns] = n + np.arange(more)
        self._tableau = wider
        write_columns(
            wider, n_rows, self._basic, self._nonbasic, (self.ptr, self.index, self.data), columns,
            self.cost[columns] / self._unit, len(self.cost),
        )  # fmt: skip

    def _append(self, first: int) -> None:
        """Append the rows of the problem from ``first`` on."""
        from hitoku.kernels.dual_simplex import append_rows  # noqa: PLC0415 - numba loads slowly

        n, last = len(self._columns), self.n_rows
        if last + 1 > len(self._tableau):
            wider = np.zeros((2 * last + 2, n + 1))
            wider[: len(self._tableau)] = self._tableau
            basic = np.full(len(wider), -1, dtype=np.int64)
            basic[: len(self._basic)] = self._basic
            self._tableau, self._basic = wider, basic
        append_rows(
            self._tableau, first, self._basic, self._nonbasic, (self.ptr, self.index, self.data), self.rhs,
            self._place, self._fixed,
        )  # fmt: skip

    def add(self, rows: sparse.csr_array | SparseRows, rhs: Floats) -> None:
        """Append rows."""
        before = self.n_rows
        self._extend(rows, rhs)
        if not self._stale:
            self._append(before)

    def keep(self, kept: Mask) -> None:
        """Drop all other rows; a slack that is nonbasic is first made basic."""
        from hitoku.kernels.pivoting import PIVOT, pivot_rows  # noqa: PLC0415 - numba loads slowly

        if kept.all():
            return
        if self._stale:
            self._drop(~kept)
            return
        n, n_rows = len(self._columns), self.n_rows
        for k in np.flatnonzero(~kept):
            column = np.flatnonzero(self._nonbasic == n + k)
            if not len(column):
                continue
            j = int(column[0])
            # In exchange for a column, or for a slack that is dropped, too.
            stay = np.ones(n_rows, dtype=bool)
            here = self._basic[1 : n_rows + 1]
            stay[here >= n] = ~kept[here[here >= n] - n]
            row = 1 + int(np.argmax(np.where(stay, np.abs(self._tableau[1 : n_rows + 1, j]), 0.0)))
            if abs(self._tableau[row, j]) < 10 * PIVOT:
                row = 1 + int(np.argmax(np.abs(self._tableau[1 : n_rows + 1, j])))
            self._nonbasic[j], self._basic[row] = self._basic[row], n + k
            pivot_rows(self._tableau, n_rows + 1, row, j)
        number = np.concatenate([np.arange(n), n + np.cumsum(kept) - 1])
        here = self._basic[1 : n_rows + 1]
        left = 1 + np.flatnonzero((here < n) | kept[np.maximum(here - n, 0)])
        self._drop(~kept)
        self._tableau[1 : len(left) + 1] = self._tableau[left]
        self._basic[1 : len(left) + 1] = number[self._basic[left]]
        self._nonbasic = number[self._nonbasic]
        if len(left) != self.n_rows:
            self._set_up()

    def replace(self, n_kept: int, rows: sparse.csr_array | SparseRows, rhs: Floats) -> None:
        """Keep the first rows and replace all others."""
        self._drop(np.arange(self.n_rows) >= n_kept)
        self._extend(rows, rhs)
        self._set_up()

    def fix(self, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of all columns."""
        self.lower, self.upper = lower.copy(), upper.copy()
        # Columns outside the tableau may be added from zero; their values must not change otherwise.
        gone = self._place < 0
        self._stale = self._stale or bool(np.any(lower[gone] != self._fixed[gone]))

    def freeze(self) -> Any:
        """Return the current basis for :meth:`thaw`."""
        n_rows = self.n_rows + 1
        state = self._tableau[:n_rows], self._basic[:n_rows], self._nonbasic, self._at
        return *(array.copy() for array in state), self._columns, self._place, self._fixed

    def thaw(self, state: Any) -> None:
        """Restore a basis; rows must not have changed since, nor columns been freed."""
        tableau, basic, nonbasic, at, self._columns, self._place, self._fixed = state
        if tableau.shape[1] != self._tableau.shape[1]:
            # The tableau was rebuilt meanwhile, or columns were added.
            self._tableau = np.zeros((len(self._tableau), tableau.shape[1]))
        self._tableau[: len(tableau)], self._basic[: len(basic)] = tableau, basic
        self._nonbasic, self._at, self._stale = nonbasic.copy(), at.copy(), False

    def solve(self, *, steps: int = NO_LIMIT, cutoff: float = np.inf) -> Relaxed:
        """Re-solve from the last basis."""
        if self._stale or self._age > MAX_STEPS:
            self._set_up()
        for _ in range(2):
            relaxed = self._solve(min(steps, MAX_STEPS), cutoff)
            if relaxed is not None:
                return relaxed
            self._set_up(everything=True)
        return self._solve_by_highs(steps, cutoff)

    def _solve_by_highs(self, steps: int, cutoff: float) -> Relaxed:
        """Solve by HiGHS."""
        other = Master(self.cost)
        other.add(self.rows, self.rhs)
        other.fix(self.lower, self.upper)
        return other.solve(steps=steps, cutoff=cutoff)

    def _solve(self, steps: int, cutoff: float) -> Relaxed | None:
        """Solve on the tableau, adding columns as needed; None if point and bound do not agree."""
        while True:
            relaxed = self._solve_over_tableau(steps, cutoff)
            if relaxed is None or relaxed.status is SolverStatus.INFEASIBLE:
                return relaxed
            cheap = (
                (relaxed.reduced < -FEASIBLE * self._unit) & (self._place < 0) & (self._fixed < self.upper)
            )
            if relaxed.status is not SolverStatus.OPTIMAL or not cheap.any():
                break
            self._let_in(np.flatnonzero(cheap))
        if relaxed.status is SolverStatus.OPTIMAL:
            self._reduced = relaxed.reduced
            short = (self.rhs - self._across(relaxed.x)).max(initial=0.0)
            above = float(self.cost @ relaxed.x) - relaxed.bound
            if short > AGREES or above > AGREES * max(abs(relaxed.bound), self._unit):
                return None
        return relaxed

    def _solve_over_tableau(self, steps: int, cutoff: float) -> Relaxed | None:
        """Solve over the columns of the tableau; None if it failed."""
        from hitoku.kernels.dual_simplex import (  # noqa: PLC0415 - numba loads slowly
            INFEASIBLE,
            LOST,
            OPTIMAL,
            read_off,
            solve,
        )

        columns = self._columns
        n, n_rows = len(columns), self.n_rows + 1
        lower = np.concatenate([self.lower[columns], np.zeros(n_rows - 1)])
        upper = np.concatenate([self.upper[columns], np.full(n_rows - 1, np.inf)])
        value = np.zeros(n_rows)
        ended, done, row = solve(
            self._tableau, n_rows, self._basic, self._nonbasic, lower, upper, self._at, value, steps,
            (cutoff - float(self.cost @ self._fixed)) / self._unit,
        )  # fmt: skip
        self.steps += int(done)
        self._age += int(done)
        if ended == LOST or (ended != OPTIMAL and done >= MAX_STEPS):
            return None
        if ended == INFEASIBLE:
            slack = self._nonbasic >= n
            y = np.zeros(self.n_rows)
            way = 1.0 if value[row] < lower[self._basic[row]] else -1.0
            y[self._nonbasic[slack] - n] = np.maximum(-way * self._tableau[row, :n][slack], 0.0)
            if self._basic[row] >= n:
                y[self._basic[row] - n] = 1.0
            if self.impossible(y):
                return Relaxed(SolverStatus.INFEASIBLE, np.inf, self.lower, self.cost, y)
            return None
        x, multipliers = self._fixed.copy(), np.zeros(self.n_rows)
        read_off(self._tableau, n_rows, self._basic, self._nonbasic, self._at, value, columns, x, multipliers)
        multipliers *= self._unit
        bound, reduced = self.proven(multipliers)
        x = np.clip(x, self.lower, self.upper)
        status = SolverStatus.OPTIMAL if ended == OPTIMAL else SolverStatus.LIMIT
        return Relaxed(status, bound, x, reduced, multipliers)
