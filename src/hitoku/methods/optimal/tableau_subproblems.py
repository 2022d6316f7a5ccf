"""Attacker subproblems on a persistent tableau, for tables that are no network and not too large for one.

Cuts come out of the kernel recomputed in whole numbers; see :mod:`hitoku.kernels.attacker_cuts`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.instance import Instance
from hitoku.model import Floats, Integers, Mask

# Entries of a tableau at most, and turns after which it is set up anew against the drift of rounding.
MOST_ENTRIES, MOST_TURNS = 1_500_000, 1_000

Row = tuple[Integers, Floats]


class Tableau:
    """The relations of an instance as a tableau of differences.

    Parameters
    ----------
    rows
        The relations in reduced echelon form, whole numbers.
    pivots
        The basic cell of each row.
    """

    def __init__(self, instance: Instance, rows: sparse.csr_array, pivots: Integers) -> None:
        self._instance, self._rows, self._pivots = instance, rows, pivots
        self._rooms, self._forced = np.array([instance.up, instance.down]), np.array(instance.forced)
        self._parts = tuple(np.asarray(a, dtype=np.int64) for a in (rows.indptr, rows.indices, rows.data))
        self._reset()

    @classmethod
    def of(cls, instance: Instance) -> Tableau | None:
        """Set up a tableau; None where the numbers of the relations do not allow it, or it is too large."""
        from hitoku.kernels.attacker_cuts import echelon  # noqa: PLC0415 - numba loads slowly

        relations = instance.relations
        n_rows, n = relations.shape
        whole = np.array_equal(relations.data, np.rint(relations.data))
        if not whole or n_rows * n > 2 * MOST_ENTRIES:
            return None
        dense, pivots = relations.astype(np.int64).toarray(), np.empty(n_rows, dtype=np.int64)
        rank = echelon(dense, _pivot_order(relations), pivots)
        if rank <= 0 or rank * (n - rank) > MOST_ENTRIES:
            return None
        return cls(instance, sparse.csr_array(dense[pivots >= 0]), pivots[pivots >= 0])

    def _reset(self) -> None:
        from hitoku.kernels.attacker_tableau import prefer_cheap  # noqa: PLC0415 - numba loads slowly

        n = len(self._instance)
        self._basic = self._pivots.copy()
        self._nonbasic = np.setdiff1d(np.arange(n), self._basic)
        self._tableau = np.ascontiguousarray(-self._rows[:, self._nonbasic].toarray().astype(np.float64))
        cost = self._instance.weight
        order = np.argsort(cost[self._nonbasic], kind="stable")
        prefer_cheap(self._tableau, self._basic, self._nonbasic, cost, order)
        self._turns = 0

    def push(
        self, x: Floats, chosen: Integers, *, exact: bool, least: float, flows: Floats
    ) -> tuple[Floats, Mask, list[Row], int]:
        """Push some levels; return the reach of each, up and down, what is settled, cuts, problems solved."""
        from hitoku.kernels.attacker_tableau import SUPPORT, push_levels  # noqa: PLC0415 - numba loads slowly

        if self._turns > MOST_TURNS:
            self._reset()
        instance, n_levels = self._instance, len(chosen)
        levels = instance.levels.take(chosen)
        reach, settled = np.zeros((n_levels, 2)), np.ones(n_levels, dtype=bool)
        space = n_levels * len(x) if least <= 1 else 0
        ptr, index, data = (
            np.zeros(n_levels + 1, dtype=np.int64),
            np.empty(space, dtype=np.int64),
            np.empty(space),
        )
        n_cuts, solved, turned = push_levels(
            (self._tableau, self._basic, self._nonbasic), (self._parts, self._pivots),
            np.ascontiguousarray(x), self._rooms, self._forced, np.flatnonzero(x > SUPPORT),
            (levels.cell, levels.side.astype(np.int64), levels.amount),
            exact, least, flows, reach, settled, (ptr, index, data),
        )  # fmt: skip
        self._turns += turned
        ends = pairwise(ptr[: n_cuts + 1].tolist())
        return reach, settled, [(index[a:b].copy(), data[a:b].copy()) for a, b in ends], int(solved)


def _pivot_order(relations: sparse.csr_array) -> Integers:
    """Totals first, and of these the ones in the fewest relations: the echelon form stays sparse."""
    n_rows, n = relations.shape
    row = np.repeat(np.arange(n_rows), np.diff(relations.indptr))
    plus = np.bincount(row[relations.data > 0], minlength=n_rows)
    minus = np.bincount(row[relations.data < 0], minlength=n_rows)
    alone = np.where(relations.data > 0, plus[row], minus[row]) == 1
    total = np.bincount(relations.indices[alone], minlength=n)
    count = np.bincount(relations.indices, minlength=n)
    order = np.empty(n, dtype=np.int64)
    order[np.lexsort((np.arange(n), count, -total))] = np.arange(n)
    return order
