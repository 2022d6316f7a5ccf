"""Master problem of a cutting-plane method: a covering problem with changing rows, warm-started.

The solver's optimum is not trusted: the bound is recomputed from its multipliers
(:mod:`hitoku.solver.master`).

Covering problems with changing rows, and the bounds that multipliers prove.

For any ``y >= 0``, no point costs less than ``y @ rhs + sum(min(reduced * lower, reduced * upper))``, so an
inaccurate multiplier makes the bound weaker but never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.solver.highs import (
    FEASIBLE,
    GRANTED,
    NO_LIMIT,
    PROOF,
    accept,
    hand_over,
    power_of_two,
    run,
    simplex_engine,
)
from hitoku.solver.solution import SolverStatus

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Solution of a relaxation."""

    status: SolverStatus
    """``INFEASIBLE`` only if proven by a ray; ``LIMIT`` if the solver stopped early."""
    bound: float
    """Lower bound on the cost within the current bounds, valid for any status; infinity if infeasible."""
    x: Floats
    reduced: Floats
    multipliers: Floats
    """The point, ``cost - rows.T @ multipliers``, and the multipliers that prove the bound."""


class SparseRows(NamedTuple):
    """CSR arrays of some rows, named as in ``scipy.sparse``, whose constructors cost more than the work."""

    indptr: Integers
    indices: Integers
    data: NDArray[Any]

    def take(self, rows: Integers) -> SparseRows:
        """Return some of the rows, in this order."""
        first, lengths = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        entries = np.arange(ptr[-1]) + np.repeat(first - ptr[:-1], lengths)
        return SparseRows(ptr, self.indices[entries], self.data[entries])

    @classmethod
    def stacked(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Stack the rows of several."""
        starts = np.cumsum([0, *(part.indptr[-1] for part in parts[:-1])])
        ends = [part.indptr[1:] + start for part, start in zip(parts, starts, strict=True)]
        index, data = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return cls(np.concatenate([np.zeros(1, dtype=np.int64), *ends]), index, data)


class Covering:
    """Rows ``rows @ x >= rhs`` over bounded columns of no negative cost, and what multipliers prove."""

    def __init__(self, cost: Floats) -> None:
        n = len(cost)
        self.cost = np.asarray(cost, dtype=np.float64)
        # CSR parts: rows change thousands of times.
        self.ptr = np.zeros(1, dtype=np.int64)
        self.index, self.data = np.zeros(0, dtype=np.int64), np.zeros(0)
        self.rhs = np.zeros(0)
        self.lower, self.upper = np.zeros(n), np.ones(n)
        self.steps = 0
        # The most expensive columns are rarely used: the median sets the scale of tolerances.
        self._unit = float(power_of_two(np.median(self.cost[self.cost > 0]) if self.cost.any() else 1.0))

    @property
    def n_rows(self) -> int:
        return len(self.rhs)

    @property
    def rows(self) -> sparse.csr_array:
        """All rows as a matrix."""
        shape = self.n_rows, len(self.cost)
        return sparse.csr_array((self.data, self.index, self.ptr), shape=shape)

    @property
    def parts(self) -> SparseRows:
        """All rows, not to be changed."""
        return SparseRows(self.ptr, self.index, self.data)

    def _extend(self, rows: sparse.csr_array | SparseRows, rhs: Floats) -> None:
        self.ptr = np.concatenate([self.ptr, self.ptr[-1] + rows.indptr[1:]])
        self.index = np.concatenate([self.index, rows.indices.astype(np.int64)])
        self.data = np.concatenate([self.data, rows.data])
        self.rhs = np.concatenate([self.rhs, rhs])

    def _drop(self, gone: Mask) -> None:
        lengths = np.diff(self.ptr)
        stay = np.repeat(~gone, lengths)
        self.index, self.data, self.rhs = self.index[stay], self.data[stay], self.rhs[~gone]
        self.ptr = np.concatenate([[0], np.cumsum(lengths[~gone])])

    def _weigh(self, multipliers: Floats) -> Floats:
        """Return ``rows.T @ multipliers``."""
        from hitoku.kernels.sparse_rows import down  # noqa: PLC0415 - numba takes a second to load

        return np.asarray(down(self.ptr, self.index, self.data, multipliers, len(self.cost)))

    def _across(self, x: Floats) -> Floats:
        """Return ``rows @ x``."""
        from hitoku.kernels.sparse_rows import across  # noqa: PLC0415 - numba takes a second to load

        return np.asarray(across(self.ptr, self.index, self.data, x))

    def proven(self, multipliers: Floats) -> tuple[float, Floats]:
        """Return the bound that non-negative multipliers prove, and the reduced costs."""
        reduced = self.cost - self._weigh(multipliers)
        ends = np.where(reduced > 0, reduced * self.lower, reduced * self.upper)
        return float(multipliers @ self.rhs + ends.sum()), reduced

    def impossible(self, multipliers: Floats) -> bool:
        """Return whether non-negative multipliers prove that no point exists."""
        weight = self._weigh(multipliers)
        reach = np.where(weight > 0, weight * self.upper, weight * self.lower).sum()
        most = max(1.0, float(multipliers.max(initial=0.0)))
        return bool(multipliers @ self.rhs > reach + PROOF * most)


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
