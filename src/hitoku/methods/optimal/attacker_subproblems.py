"""The attacker subproblems of Fischetti and Salazar: how far a pattern lets each unsafe cell move.

Patterns may be fractional. All engines give the same answers: maximum flow if every cell is in two
relations (all flat two-way tables), a tableau kept between calls, linear programs otherwise. A subproblem
that misses its protection level returns dual multipliers of the relations, rounded to a grid of
integers; the capacity constraint that they prove is recomputed in :mod:`hitoku.methods.optimal.cuts`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hitoku.feasibility import Incidence, arcs, parts_of
from hitoku.kernels import GRID
from hitoku.methods.optimal.cuts import capacity_separation
from hitoku.methods.optimal.instance import (
    DOWN,
    MOVED,
    SHORT,
    UP,
    WIDTH,
    Budget,
    Instance,
    Pushed,
    Row,
    Subproblems,
    levels_met,
    pushes_for,
)
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.attacker_problem import AttackerProblem
from hitoku.solver.master import SparseRows

# Maximum number of entries of a tableau, and of pivots after which it is rebuilt against rounding errors.
MAX_ENTRIES, MAX_TURNS = 1_500_000, 1_000


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
        self._slacks, self._forced = np.array([instance.up, instance.down]), np.array(instance.forced)
        self._parts = tuple(np.asarray(a, dtype=np.int64) for a in (rows.indptr, rows.indices, rows.data))
        self._reset()

    @classmethod
    def of(cls, instance: Instance) -> Tableau | None:
        """Set up a tableau; None if the coefficients of the relations do not allow it, or it is too large."""
        from hitoku.kernels.attacker_cuts import echelon  # noqa: PLC0415 - numba loads slowly

        relations = instance.relations
        n_rows, n = relations.shape
        whole = np.array_equal(relations.data, np.rint(relations.data))
        if not whole or n_rows * n > 2 * MAX_ENTRIES:
            return None
        dense, pivots = relations.astype(np.int64).toarray(), np.empty(n_rows, dtype=np.int64)
        rank = echelon(dense, _pivot_order(relations), pivots)
        if rank <= 0 or rank * (n - rank) > MAX_ENTRIES:
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
        from hitoku.kernels.attacker_tableau import push_levels  # noqa: PLC0415 - numba loads slowly
        from hitoku.kernels.pivoting import PIVOT  # noqa: PLC0415 - numba loads slowly

        if self._turns > MAX_TURNS:
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
            np.ascontiguousarray(x), self._slacks, self._forced, np.flatnonzero(x > PIVOT),
            (levels.cell, levels.side.astype(np.int64), levels.amount),
            exact, least, flows, reach, settled, (ptr, index, data),
        )  # fmt: skip
        self._turns += turned
        ends = pairwise(ptr[: n_cuts + 1].tolist())
        return reach, settled, [(index[a:b].copy(), data[a:b].copy()) for a, b in ends], int(solved)


def _pivot_order(relations: sparse.csr_array) -> Integers:
    """Return totals first, and of these the ones in the fewest relations: the echelon form stays sparse."""
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


# A slack above this multiple of a level is no restriction.
FAR = 1e9
# With more pushes than this, all are first tried at once.
MANY = 8
# Cuts of a tableau are returned if the point violates them by at least this much.
LEAST_VIOLATION = 1e-4
# This many problems on a tableau count as one unit of work.
PER_WORK = 4


def subproblems_for(instance: Instance, budget: Budget) -> Subproblems:
    """Return the engine that suits the relations."""
    network = FlowSubproblems.of(instance, budget)
    if network is not None:
        return network
    tableau = Tableau.of(instance) if len(instance.levels) else None
    return (
        PartedSubproblems(instance, budget)
        if tableau is None
        else TableauSubproblems(instance, budget, tableau)
    )


class FlowSubproblems:
    """Maximum flows: every cell is an arc between two relations (nodes), or between one and the outside."""

    network: ClassVar[bool] = True
    tableau: ClassVar[bool] = False

    def __init__(
        self, instance: Instance, budget: Budget, tail: Integers, head: Integers, sign: Integers
    ) -> None:
        self.instance, self.budget = instance, budget
        self._tail, self._head, self._sign = tail, head, sign

    @classmethod
    def of(cls, instance: Instance, budget: Budget) -> FlowSubproblems | None:
        """Sign the relations so that every column has one plus and one minus one; None: not a network."""
        relations = Incidence.of(instance.relations)
        parts = relations.parts
        if not parts.network.all() or np.any(relations.degree < 1):
            return None
        # One outside for all parts.
        tail, head, _ = arcs(relations, np.zeros(relations.n_rows, dtype=np.int64), parts.sign)
        return cls(instance, budget, tail, head, parts.sign.astype(np.int64))

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push; clipping slacks at the level does not change the result for whole patterns (``exact``)."""
        # Numba takes a second to load.
        from hitoku.kernels.capacity_cuts import multipliers_of_sides  # noqa: PLC0415
        from hitoku.kernels.mincut import push_arcs  # noqa: PLC0415

        del exact
        instance = self.instance
        self.budget.spend(len(level))
        used = np.flatnonzero(x > MOVED)
        place = np.full(len(x), -1)
        place[used] = np.arange(len(used))
        cell, amount = instance.levels.cell[level], instance.levels.amount[level]
        up = sense == UP
        slack = np.where(up, instance.up[cell], instance.down[cell])
        wanted = np.minimum(slack, amount)
        n_nodes = instance.relations.shape[0] + 1
        near = np.zeros((len(level), n_nodes), dtype=np.bool_)
        far, reach = near.copy(), np.zeros(len(level))
        moves = np.zeros((len(level) if flows else 0, len(used)))
        push_arcs(
            self._tail[used],
            self._head[used],
            n_nodes,
            instance.up[used],
            instance.down[used],
            x[used],
            place[cell],
            up,
            wanted,
            amount,
            reach,
            near,
            far,
            moves,
        )
        if flows:
            # Callers that request movements need no cuts.
            spread = np.zeros((len(level), len(x)))
            spread[:, used] = moves
            return Pushed(level, sense, reach, no_multipliers(len(level)), None, 1, spread)
        one, other = (SparseRows(*multipliers_of_sides(side, self._sign)) for side in (near, far))
        return Pushed(level, sense, reach, one, other, 1, None)

    def separate(self, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
        return capacity_separation(self, x, exact=exact)


def no_multipliers(n_pushes: int) -> SparseRows:
    """Return empty rows."""
    none = np.zeros(0, dtype=np.int64)
    return SparseRows(np.zeros(n_pushes + 1, dtype=np.int64), none, none)


class LinearSubproblems:
    """Linear programs over the suppressed cells, each warm-started from the last."""

    network: ClassVar[bool] = False
    tableau: ClassVar[bool] = False

    def __init__(self, instance: Instance, budget: Budget) -> None:
        self.instance, self.budget = instance, budget
        self._columns = sparse.csc_array(instance.relations)
        self._used: Integers = np.zeros(0, dtype=np.int64)
        self._rows: Integers = np.zeros(0, dtype=np.int64)
        self._open = np.zeros(len(instance), dtype=bool)
        self._attacker: Any = None

    def _prepare(self, x: Floats) -> None:
        """Open a model on the support of ``x``, or keep one that contains it."""
        support = x > MOVED
        n_used = len(self._used)
        if self._attacker is not None and not np.any(support & ~self._open) and 2 * support.sum() > n_used:
            return
        self._used = np.flatnonzero(support)
        self._open = support
        part = sparse.csr_array(self._columns[:, self._used])
        self._rows = np.flatnonzero(np.diff(part.indptr) > 0)
        self._attacker = AttackerProblem(sparse.csr_array(part[self._rows]))

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push one by one; a cell that an earlier push moved far enough is not pushed again.

        ``exact`` uses the true slacks, as required for deciding safety; otherwise slacks are clipped at
        the level, which makes stronger rows from fractional patterns.
        """
        instance = self.instance
        self._prepare(x)
        used, share = self._used, x[self._used]
        up, down = instance.up[used], instance.down[used]
        place = np.cumsum(self._open) - 1
        seen = {UP: np.zeros(len(used)), DOWN: np.zeros(len(used))}
        if exact and not flows and len(level) > MANY:
            self._together(
                share, place[instance.levels.cell[level]], instance.levels.amount[level], sense, seen
            )
        reach = np.zeros(len(level))
        spread = np.zeros((len(level), len(x))) if flows else None
        entries: list[tuple[Integers, Integers]] = []
        n_entries = np.zeros(len(level), dtype=np.int64)
        for k in range(len(level)):
            p = int(place[instance.levels.cell[level[k]]])
            amount, way = float(instance.levels.amount[level[k]]), int(sense[k])
            wanted = min(float(up[p] if way == UP else down[p]), amount)
            if not flows and seen[way][p] >= wanted * (1 - SHORT):
                reach[k] = wanted
                continue
            limit = FAR if exact else 1.0
            high, low = np.minimum(up / amount, limit) * share, np.minimum(down / amount, limit) * share
            if exact:
                high[high >= FAR], low[low >= FAR] = np.inf, np.inf
            if way == UP:
                high[p] = wanted / amount
            else:
                low[p] = wanted / amount
            self.budget.spend()
            far, point, y = self._attacker.push(p, float(way), -low, high)
            reach[k] = min(far * amount, wanted)
            if reach[k] >= wanted * (1 - SHORT):
                reach[k] = wanted
            else:
                rounded = np.rint(y * GRID).astype(np.int64)
                there = np.flatnonzero(rounded)
                entries.append((self._rows[there], rounded[there]))
                n_entries[k] = len(there)
            moved = point * amount
            np.maximum(seen[UP], moved, out=seen[UP])
            np.maximum(seen[DOWN], -moved, out=seen[DOWN])
            if spread is not None:
                spread[k, used] = moved
        column, y = (np.concatenate([e[i] for e in entries] or [np.zeros(0, dtype=np.int64)]) for i in (0, 1))
        ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(n_entries)])
        return Pushed(level, sense, reach, SparseRows(ptr, column, y), None, GRID, spread)

    def _together(
        self, share: Floats, cells: Integers, amount: Floats, sense: Integers, seen: dict[int, Floats]
    ) -> None:
        """Push all cells up at once, then all down, each as far as required: one point may serve many."""
        instance, unit = self.instance, float(np.median(amount))
        high = np.minimum(instance.up[self._used] / unit, FAR) * share
        low = np.minimum(instance.down[self._used] / unit, FAR) * share
        for way, ends in ((UP, high), (DOWN, low)):
            mine = np.unique(cells[sense == way])
            if not len(mine):
                continue
            wanted = np.zeros(len(share))
            np.maximum.at(wanted, cells[sense == way], amount[sense == way] / unit)
            limit = ends.copy()
            limit[mine] = np.minimum(ends[mine], wanted[mine])
            price = np.zeros(len(share))
            price[mine] = -way / np.maximum(wanted[mine], SHORT)
            bounds = (-low, limit) if way == UP else (-limit, high)
            self.budget.spend()
            point = self._attacker.cheapest(price / np.abs(price).max(), *bounds)
            self._attacker.free()
            if point is not None:
                np.maximum(seen[UP], point * unit, out=seen[UP])
                np.maximum(seen[DOWN], -point * unit, out=seen[DOWN])

    def separate(self, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
        return capacity_separation(self, x, exact=exact)


class PartedSubproblems(LinearSubproblems):
    """Maximum flows in the parts of a pattern that are networks, linear programs in the others."""

    def __init__(self, instance: Instance, budget: Budget) -> None:
        super().__init__(instance, budget)
        self._relations = Incidence.of(instance.relations)

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push; cells that cannot move by counting alone are removed first."""
        instance = self.instance
        stuck, left = self._relations.stuck(x > MOVED), x > MOVED
        left[stuck[0]] = False
        cells = np.flatnonzero(left)
        parts, network = parts_of(self._columns[:, cells]), np.zeros(len(x), dtype=bool)
        network[cells] = parts.network[parts.cell]
        cell = instance.levels.cell[level]
        reach = np.zeros(len(level))
        spread = np.zeros((len(level), len(x))) if flows else None
        found: list[list[SparseRows]] = [[], []]
        order: list[Integers] = []
        for alive in (network, left & ~network):
            mine = np.flatnonzero(alive[cell])
            if not len(mine):
                continue
            pushed, rows, cells = self._part(x, alive, level[mine], sense[mine], exact=exact, flows=flows)
            reach[mine] = pushed.reach
            if spread is not None and pushed.flows is not None:
                spread[np.ix_(mine, cells)] = pushed.flows
            order.append(mine)
            others = pushed.multipliers if pushed.others is None else pushed.others
            for rows_found, some in zip(found, (pushed.multipliers, others), strict=True):
                y = GRID // pushed.grid * some.data
                rows_found.append(SparseRows(some.indptr, rows[some.indices], y))
        order.append(np.setdiff1d(np.arange(len(level)), np.concatenate([*order, level[:0]])))
        if flows:
            return Pushed(level, sense, reach, no_multipliers(len(level)), None, GRID, spread)
        back = np.argsort(np.concatenate(order), kind="stable")
        near, far = (SparseRows.stacked([*some, no_multipliers(len(order[-1]))]).take(back) for some in found)
        peeled, relation = stuck[0][::-1], stuck[1][::-1]
        entries = self._columns[relation, peeled].ravel() if len(peeled) else np.zeros(0)
        return Pushed(level, sense, reach, near, far, GRID, None, (peeled, relation, entries))

    def _part(
        self, x: Floats, alive: Mask, level: Integers, sense: Integers, *, exact: bool, flows: bool
    ) -> tuple[Pushed, Integers, Integers]:
        """Push within some of the cells; return answers, and the relations and cells that they concern."""
        instance = self.instance
        asked, place = np.unique(level, return_inverse=True)
        inside = replace(instance, levels=instance.levels.take(asked)).kept(alive)
        network = FlowSubproblems.of(inside, self.budget)
        if network is None:
            # The model of all cells is kept between calls.
            only = np.where(alive, x, 0.0)
            pushed = super().push(only, level, sense, exact=exact, flows=flows)
            return pushed, np.arange(instance.relations.shape[0]), np.arange(len(x))
        cells = np.flatnonzero(alive)
        rows = np.flatnonzero(np.bincount(self._columns[:, cells].indices, minlength=self._columns.shape[0]))
        pushed = network.push(x[cells], place, sense, exact=exact, flows=flows)
        return pushed, rows, cells


class TableauSubproblems(LinearSubproblems):
    """A tableau kept between calls; linear programs if it does not terminate."""

    tableau: ClassVar[bool] = True

    def __init__(self, instance: Instance, budget: Budget, tableau: Tableau) -> None:
        super().__init__(instance, budget)
        self._tableau = tableau

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push without multipliers, because :meth:`separate` returns the cuts themselves."""
        instance = self.instance
        chosen, place = np.unique(level, return_inverse=True)
        if flows and np.any(instance.levels.side[chosen] == WIDTH):
            return super().push(x, level, sense, exact=exact, flows=flows)
        moves = np.zeros((len(chosen) if flows else 0, len(x)))
        reach, settled, _ = self._all(x, chosen, exact=exact, least=np.inf, flows=moves)
        if not settled.all():
            return super().push(x, level, sense, exact=exact, flows=flows)
        got, none = reach[place, np.where(sense == UP, 0, 1)], no_multipliers(len(level))
        return Pushed(level, sense, got, none, None, GRID, moves[place] if flows else None)

    def separate(self, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
        instance = self.instance
        everything = np.arange(len(instance.levels))
        none = np.zeros((0, len(x)))
        reach, settled, rows = self._all(x, everything, exact=exact, least=LEAST_VIOLATION, flows=none)
        met = reach.sum(axis=1) >= instance.levels.amount * (1 - SHORT)
        if exact:
            # A pattern is unsafe only if a cut or a linear program shows it.
            unsure = np.flatnonzero(~settled | (~met & (len(rows) == 0)))
            if len(unsure):
                pushed = super().push(x, *pushes_for(instance, unsure), exact=True)
                met[unsure] = levels_met(instance, pushed)[unsure]
        return rows, met

    def _all(
        self, x: Floats, chosen: Integers, *, exact: bool, least: float, flows: Floats
    ) -> tuple[Floats, Mask, list[Row]]:
        self.budget.spend(0)
        reach, settled, rows, solved = self._tableau.push(x, chosen, exact=exact, least=least, flows=flows)
        # They are cheap, so several count as one.
        self.budget.work += 1 + solved // PER_WORK
        return reach, settled, rows
