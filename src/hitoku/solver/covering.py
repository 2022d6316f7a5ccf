"""Covering problems with changing rows, and the bounds that multipliers prove.

For any ``y >= 0``, no point costs less than ``y @ rhs + sum(min(reduced * lower, reduced * upper))``, so an
inaccurate multiplier makes the bound weaker but never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.solver.highs import PROOF, power_of_two
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
