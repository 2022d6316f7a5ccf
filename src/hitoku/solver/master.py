"""Master problem of a cutting-plane method: a covering problem with changing rows, warm-started.

The solver's optimum is not trusted: the bound is recomputed from its multipliers
(:mod:`hitoku.solver.covering`).
"""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.solver.covering import Covering, Floats, Mask, Relaxed, SparseRows
from hitoku.solver.highs import FEASIBLE, GRANTED, NO_LIMIT, PROOF, accept, hand_over, run, simplex_engine
from hitoku.solver.solution import SolverStatus

# Above this number of columns only some are passed to the solver: the cheapest ones of each new row, and
# those whose reduced cost is negative beyond the solver's tolerance.
MAX_COLUMNS = 2000


class Master(Covering):
    """Minimise ``cost @ x`` subject to ``rows @ x >= rhs`` and ``lower <= x <= upper``, repeatedly.

    If there are many columns, only those that rows need or that have negative reduced costs are passed to the
    solver (sifting); all others are zero.

    Parameters
    ----------
    cost
        One number per column, zero or more.

    Examples
    --------
    One of two columns is needed, and one of the last two.

    >>> master = Master(np.array([2.0, 3.0, 2.0]))
    >>> master.add(sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.ones(2))
    >>> master.solve().bound
    3.0
    """

    def __init__(self, cost: Floats) -> None:
        super().__init__(cost)
        self._highs: Any = simplex_engine()
        # Columns in the order of the solver, and the index of each column there.
        self._columns = np.arange(len(self.cost) if len(self.cost) <= MAX_COLUMNS else 1)
        self._place = np.full(len(self.cost), -1)
        self._place[self._columns] = self._columns
        none, here = np.zeros(0), self._columns
        bounds = (self.lower[here], self.upper[here])
        empty = sparse.csr_array((0, len(here)), dtype=np.float64)
        hand_over(self._highs, empty, none, self.cost[here] / self._unit, bounds, (none, none))

    def _enter(self, columns: NDArray[np.int64]) -> None:
        """Pass further columns to the solver."""
        columns = columns[self._place[columns] < 0]
        if not len(columns):
            return
        self._place[columns] = len(self._columns) + np.arange(len(columns))
        self._columns = np.concatenate([self._columns, columns])
        part = sparse.csc_array(self.rows[:, columns])
        starts, places = part.indptr[:-1].astype(np.int32), part.indices.astype(np.int32)
        bounds = self.lower[columns], self.upper[columns]
        price = self.cost[columns] / self._unit
        added = self._highs.addCols(len(columns), price, *bounds, part.nnz, starts, places, part.data)
        accept(added, "adding columns")

    def _enter_all(self) -> bool:
        """Pass all remaining columns to the solver; return whether there were any."""
        missing = np.flatnonzero((self._place < 0) & (self.upper > 0))
        self._enter(missing)
        return len(missing) > 0

    def _cheapest(self, rows: sparse.csr_array) -> NDArray[np.int64]:
        """Return the columns that fill each row most cheaply, eight times over."""
        chosen = [np.zeros(0, dtype=np.int64)]
        for k in range(rows.shape[0]):
            here = slice(rows.indptr[k], rows.indptr[k + 1])
            columns, c = rows.indices[here].astype(np.int64), np.abs(rows.data[here])
            order = np.argsort(self.cost[columns] / np.maximum(c, FEASIBLE), kind="stable")
            chosen.append(columns[order[: np.searchsorted(np.cumsum(c[order]), 8.0) + 1]])
        return np.unique(np.concatenate(chosen))

    def add(self, rows: sparse.csr_array | SparseRows, rhs: Floats) -> None:
        """Append rows; the basis stays dual feasible."""
        if not len(rhs):
            return
        if isinstance(rows, SparseRows):
            shape = (len(rhs), len(self.cost))
            rows = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)
        if len(self._columns) < len(self.cost):
            self._enter(self._cheapest(rows))
        self._extend(rows, rhs)
        none = np.full(len(rhs), np.inf)
        if len(self._columns) < len(self.cost):
            rows = sparse.csr_array(rows[:, self._columns])
            places = rows.indices.astype(np.int32)
        else:
            places = self._place[rows.indices].astype(np.int32)
        starts = rows.indptr[:-1].astype(np.int32)
        added = self._highs.addRows(len(rhs), rhs, none, rows.nnz, starts, places, rows.data)
        accept(added, "adding rows")

    def keep(self, kept: Mask) -> None:
        """Drop all other rows."""
        gone = np.flatnonzero(~kept).astype(np.int32)
        if len(gone):
            accept(self._highs.deleteRows(len(gone), gone), "dropping rows")
            self._drop(~kept)

    def fix(self, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of all columns where they changed."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        if not len(changed):
            return
        self.lower, self.upper = lower.copy(), upper.copy()
        self._enter(np.flatnonzero((self._place < 0) & (lower > 0)))
        changed = changed[self._place[changed] >= 0]
        if len(changed):
            places = self._place[changed].astype(np.int32)
            done = self._highs.changeColsBounds(len(changed), places, lower[changed], upper[changed])
            accept(done, "changing bounds")

    def solve(self, *, steps: int = NO_LIMIT, cutoff: float = np.inf) -> Relaxed:
        """Re-solve from the last basis.

        Parameters
        ----------
        steps
            Maximum number of simplex steps; the bound is valid in any case.
        cutoff
            The solver may stop once its objective exceeds this.
        """
        while True:
            relaxed = self._solve(steps, cutoff)
            if len(self._columns) == len(self.cost):
                return relaxed
            cheap = (relaxed.reduced < -GRANTED * self._unit) & (self._place < 0) & (self.upper > 0)
            if relaxed.status is not SolverStatus.OPTIMAL or not cheap.any():
                return relaxed
            self._enter(np.flatnonzero(cheap))

    def _solve(self, steps: int, cutoff: float) -> Relaxed:
        """Solve over the columns that were passed to the solver."""
        self._highs.setOptionValue("simplex_iteration_limit", steps)
        self._highs.setOptionValue("objective_bound", cutoff / self._unit if np.isfinite(cutoff) else np.inf)
        status = run(self._highs, 1)
        self.steps += max(int(self._highs.getInfo().simplex_iteration_count), 0)
        if status is SolverStatus.INFEASIBLE:
            if self._enter_all():
                return self._solve(steps, cutoff)
            ray = self._ray()
            if ray is not None:
                return Relaxed(status, np.inf, self.lower, self.cost, ray)
            # Infeasibility is not proven: a cold start gives a ray or an optimum.
            self._highs.clearSolver()
            status = run(self._highs, 1)
            if status is SolverStatus.INFEASIBLE:
                ray = self._ray()
                if ray is not None:
                    return Relaxed(status, np.inf, self.lower, self.cost, ray)
        solution = self._highs.getSolution()
        multipliers = np.zeros(self.n_rows)
        if solution.dual_valid:
            multipliers = np.maximum(np.asarray(solution.row_dual) * self._unit, 0.0)
        bound, reduced = self.proven(multipliers)
        x = np.zeros(len(self.cost))
        if solution.value_valid:
            x[self._columns] = np.asarray(solution.col_value)
        x = np.clip(x, self.lower, self.upper)
        if not solution.value_valid or not np.isfinite(x).all():
            x = self.upper.copy()
        return Relaxed(
            status if status is SolverStatus.OPTIMAL else SolverStatus.LIMIT, bound, x, reduced, multipliers
        )

    def freeze(self) -> Any:
        """Return a state for :meth:`thaw`; None, because HiGHS continues from its last basis."""

    def thaw(self, state: Any) -> None:
        """Restore a basis; does nothing."""

    def _ray(self) -> Floats | None:
        """Return multipliers that prove infeasibility, None if there are none."""
        # A single row may prove it; HiGHS then offers no ray.
        rows = self.rows
        ends = np.where(rows.data > 0, self.upper[rows.indices], self.lower[rows.indices])
        most = sparse.csr_array((rows.data * ends, rows.indices, rows.indptr), rows.shape)
        short = self.rhs - most.sum(axis=1)
        if short.max(initial=0.0) > PROOF:
            return np.asarray(np.arange(self.n_rows) == np.argmax(short), dtype=np.float64)
        status, exists, ray = self._highs.getDualRay()
        if status != highspy.HighsStatus.kOk or not exists:
            return None
        for sign in (1.0, -1.0):
            y = np.maximum(sign * np.asarray(ray), 0.0)
            if self.impossible(y):
                return y
        return None
