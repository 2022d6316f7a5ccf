"""The linear relaxation: the master problem over fractional patterns, and the separation of violated cuts.

All cuts are valid for every safe pattern, so one linear program serves the whole tree; only the bounds of its
columns change from node to node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import Cuts, dot_rows, factor, strengthen, zero_half_cuts
from hitoku.methods.optimal.instance import Budget, Instance
from hitoku.methods.optimal.objective import Objective
from hitoku.methods.optimal.row_pool import MAX_AT_ONCE, RowPool
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.dense_master import DenseMaster
from hitoku.solver.master import Master, Relaxed, SparseRows
from hitoku.solver.solution import SolverStatus

# A row is added if the relaxed point violates it by at least this much; derived rows need more.
VIOLATION, VIOLATION_AGAIN = 1e-4, 1e-3
# Known rows with more slack than this are not examined again.
NEARLY = 0.5
# With fewer new rows than this other kinds of rows are separated.
FEW = 5
# Rounds without a multiplier after which rows are dropped: at the root, in the tree, when cells are fixed.
PURGE_ROOT, PURGE_NODE, LIVELY = 12, 40, 3
# On a dense tableau every row counts: rows are dropped sooner, because the pool keeps them.
PURGE_DENSE, POOL_VIOLATION = 4, 0.01
# The same for halves in networks, which are many and dense.
PURGE_HALVED = 8
# Largest number of columns of a network for which {0, 1/2} cuts are separated.
HALVED_COLUMNS = 12_000
# Maximum number of rows of the pool that are added at once at the root.
MAX_AT_ROOT = 60
# Maximum number of columns on a dense tableau, in networks and elsewhere: few columns matter.
WIDE_NETWORK, WIDE = 4000, 2000
# Number of rows of the pool that are passed on when cells are fixed.
HANDED_ON = 3000

Row = tuple[Integers, Floats]
# A new row, or the number of one in the pool.
Found = Row | int


class Relaxation:
    """The master problem and the separation of cuts for its solution; columns are the free cells."""

    def __init__(self, instance: Instance, goal: Objective, budget: Budget, rows: Cuts | None = None) -> None:
        self.instance, self.budget = instance, budget
        self.engine = subproblems_for(instance, budget)
        # Halves close most of the gap. In a network rows are long: there they wait until cells are fixed.
        self.network = self.engine.network
        self.free = instance.free
        self.halving = not self.network or len(self.free) <= HALVED_COLUMNS
        self._place = np.full(len(instance), -1)
        self._place[self.free] = np.arange(len(self.free))
        self.paid = float(goal.cost[instance.forced].sum())
        # If attacker subproblems are fast, solves are many: a dense tableau and a pool of rows pay off.
        tableau = self.engine.tableau
        most = WIDE if tableau else WIDE_NETWORK if self.network else 0
        small = len(self.free) <= most
        # The master problem on a dense tableau, if it is small enough.
        self.dense = DenseMaster(goal.cost[self.free]) if small else None
        self.master = Master(goal.cost[self.free]) if self.dense is None else self.dense
        if goal.other is not None:
            # Limit on a second cost, written as a lower bound with the signs reversed.
            row = sparse.csr_array(-goal.other[self.free][None, :])
            self.master.add(row, np.array([goal.other[instance.forced].sum() - goal.most]))
        self._pool = RowPool() if small or tableau else None
        self.standing = self.master.n_rows
        # By row of the master problem: rounds without a multiplier, and the number in the pool.
        self._idle = np.zeros(self.standing, dtype=np.int64)
        self._numbers = np.full(self.standing, -1)
        self._times = np.zeros(self.standing, dtype=np.int64)
        self._known: dict[tuple[bytes, bytes], Row] = {}
        # In a node: whether the last separation added little to the pool.
        self._exhausted = False
        if rows is not None:
            given = [rows.row(k) for k in range(len(rows))]
            if self._pool is not None:
                self._pool.add([(self._place[cells], c) for cells, c in given[rows.n_lively :]])
            self.add(given[: rows.n_lively])
            self._remember(given[: rows.n_lively])

    def solve(self, enough: float = np.inf) -> tuple[Relaxed, float]:
        """Solve the linear program; return its point and a lower bound for patterns within its bounds.

        A bound above ``enough`` ends the solve: the point is then not optimal.
        """
        self.budget.spend()
        relaxed = self.master.solve(cutoff=enough - self.paid)
        if relaxed.status is SolverStatus.LIMIT and relaxed.bound + self.paid <= enough:
            # The solver's own bound was above, but the bound proved by its multipliers is not.
            relaxed = self.master.solve()
        return relaxed, relaxed.bound + self.paid

    def begin_node(self) -> None:
        """Allow separation again, whatever its result in another node."""
        self._exhausted = False

    def add(self, rows: Sequence[Found]) -> None:
        """Append rows over cells of the instance, or from the pool."""
        if not rows:
            return
        if self._pool is not None:
            numbers = self._row_numbers(self._pool, rows)
            added, times = self._pool.together(numbers), self._pool.times(numbers)
        else:
            own = [row for row in rows if not isinstance(row, int)]
            made, numbers = Cuts.of(own), np.full(len(own), -1)
            added = SparseRows(made.indptr, self._place[made.cells], made.coefficients)
            times = np.array([factor(c) for _, c in own], dtype=np.int64)
        self.master.add(added, np.ones(len(numbers)))
        self._idle = np.concatenate([self._idle, np.zeros(len(numbers), dtype=np.int64)])
        self._numbers = np.concatenate([self._numbers, numbers])
        self._times = np.concatenate([self._times, times])

    def _row_numbers(self, pool: RowPool, rows: Sequence[Found]) -> Integers:
        """Return the numbers of rows in the pool, after adding missing ones.

        The pool may drop others for that, which are then found again.
        """
        known = [row for row in rows if isinstance(row, int)]
        own = [(self._place[row[0]], row[1]) for row in rows if not isinstance(row, int)]
        added = pool.add(own)
        return pool.still(np.concatenate([np.array(known, dtype=np.int64), added]))

    def purge(self, relaxed: Relaxed, rounds: int) -> None:
        """Drop rows that have had no multiplier for some rounds, if there are many of them."""
        self._idle = np.where(relaxed.multipliers > 0, 0, self._idle + 1)
        if self._pool is not None:
            self._pool.touch(self.active(relaxed))
        if self.dense is not None:
            rounds = min(rounds, PURGE_DENSE)
        elif self.network and self.halving:
            rounds = min(rounds, PURGE_HALVED)
        old = self._idle > rounds
        old[: self.standing] = False
        if old.sum() > max(0.2 * len(old), 20):
            self.master.keep(~old)
            self._idle, self._times, self._numbers = self._idle[~old], self._times[~old], self._numbers[~old]

    def active(self, relaxed: Relaxed) -> Integers:
        """Return the numbers of the rows that are active at a point, for :meth:`restore`."""
        there = (relaxed.multipliers > 0) & (self._numbers >= 0)
        return np.asarray(self._numbers[there])

    def restore(self, numbers: Integers) -> None:
        """Restore rows; on a dense tableau only, where other rows would cost time."""
        if self._pool is None or self.dense is None:
            return
        numbers = self._pool.still(numbers)
        self.dense.replace(self.standing, self._pool.together(numbers), np.ones(len(numbers)))
        none = np.full(self.standing, -1)
        self._numbers = np.concatenate([none, numbers])
        self._idle = np.zeros(len(self._numbers), dtype=np.int64)
        self._times = np.concatenate([0 * none, self._pool.times(numbers)])

    def rows(self) -> Cuts:
        """Return the recently used rows, and other known ones."""
        ptr, columns, c = self.master.parts
        rows = Cuts(ptr, self.free[columns], c)
        lively = np.flatnonzero(self._idle <= LIVELY)
        used = [rows.row(int(k)) for k in lively[lively >= self.standing]]
        if self._pool is None:
            return Cuts.of(used)
        others = self._over_cells(self._pool.latest(HANDED_ON))
        return Cuts.of(used + others, len(used))

    def pattern(self, x: Floats) -> Floats:
        """Extend a point to all cells of the instance."""
        full = self.instance.forced.astype(np.float64)
        full[self.free] = x
        return full

    def safe(self, pattern: Mask) -> bool:
        """Return whether a pattern reaches every level, tested with true slacks."""
        return bool(self.engine.separate(pattern.astype(np.float64), exact=True)[1].all())

    def separate(self, x: Floats, *, whole: bool, root: bool = False) -> tuple[list[Found], bool]:
        """Return cuts that the point violates, and whether every level is reached there.

        At the root more of them at once: rounds are long there, and rows soon dropped.
        """
        full = self.pattern(x)
        if self._pool is not None and not whole:
            return self._separate_pooled(self._pool, x, full, root=root)
        found, reached = self.engine.separate(full, exact=whole)
        rows: list[Found] = [*_distinct([_strengthen(row, full) for row in found], full, VIOLATION)]
        if not whole and self.network:
            self._remember(found)
            if len(rows) < FEW and not self.halving:
                near = [
                    (cells, c) for cells, c in self._known.values() if dot_rows(c, full[cells]) < 1 + NEARLY
                ]
                rows += _distinct([strengthen(*row, full) for row in near], full, VIOLATION_AGAIN)
        if whole and not rows and not reached.all():
            # A pattern that is not safe needs another cell: valid despite rounding.
            cells = self.free[x < 0.5]
            rows = [(cells, np.ones(len(cells)))]
        return rows, bool(reached.all())

    def _separate_pooled(
        self, pool: RowPool, x: Floats, full: Floats, *, root: bool
    ) -> tuple[list[Found], bool]:
        """Search the pool first; separate only if it has few rows.

        In the nodes of a tree separate only if the pool has none, and not again in a node after a separation
        with few rows: subproblems take longer than the linear program, and a third of calls found nothing.
        """
        most = MAX_AT_ROOT if root and not self.network else MAX_AT_ONCE
        known = pool.violated(x, POOL_VIOLATION, most)
        if len(known) >= (FEW if root else 1) or (self._exhausted and not root):
            return known.tolist(), False
        found, reached = self.engine.separate(full, exact=False)
        self._exhausted = len(found) < FEW
        if self.network:
            # Knapsack covers matter there; elsewhere the chosen rows are strengthened later.
            found = [_strengthen(row, full) for row in found]
        new = pool.add([(self._place[cells], c) for cells, c in found])
        taken = pool.violated(x, VIOLATION, most, pool.still(np.concatenate([known, new])))
        rows: list[Found] = taken.tolist()
        if not self.network:
            # A set-cover row cannot be strengthened.
            covers = pool.times(taken) == 1
            rows = taken[covers].tolist()
            rows += [strengthen(*row, full) for row in self._over_cells(pool.rows(taken[~covers]))]
        return rows, bool(reached.all())

    def _over_cells(self, rows: list[Row]) -> list[Row]:
        return [(self.free[columns], c) for columns, c in rows]

    def _remember(self, rows: list[Row]) -> None:
        """Store rows unchanged, to strengthen them for other points."""
        for cells, c in rows:
            self._known.setdefault((cells.tobytes(), c.tobytes()), (cells, c))

    def halves(self, x: Floats) -> list[Found]:
        """Separate {0, 1/2} cuts, if they are enabled."""
        if not self.halving:
            return []
        return [(self.free[columns], c) for columns, c in zero_half_cuts(self.master.parts, self._times, x)]


def _strengthen(row: Row, full: Floats) -> Row:
    """Strengthen a row; a set-cover row cannot be strengthened."""
    return row if row[1].min(initial=1.0) >= 1.0 else strengthen(*row, full)


def _distinct(rows: list[Row], full: Floats, violation: float) -> list[Row]:
    """Return distinct rows that the point violates by enough."""
    seen: dict[tuple[bytes, bytes], Row] = {}
    for cells, c in rows:
        if 1 - dot_rows(c, full[cells]) > violation:
            seen.setdefault((cells.tobytes(), c.tobytes()), (cells, c))
    return list(seen.values())
