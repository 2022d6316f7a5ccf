"""Large neighbourhood search: a part of the best pattern around one cell is searched again, the rest stays.

Three drivers share the choice of cells: :class:`NeighbourhoodSearch` makes a small problem of every
neighbourhood, :class:`IncumbentSearch` works on the linear program and the rows of a tree, and
``PartSearch`` of the circulation method keeps one witness for each requirement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from hitoku.feasibility import Incidence
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import (
    INTEGRAL,
    MOVED,
    SEED,
    Instance,
    Subproblems,
    levels_met,
    pushes_for,
)
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.master import Relaxed

if TYPE_CHECKING:
    from hitoku.methods.optimal.tree import BranchAndCut

# Number of additional cells released after each quarter of the allowed failures.
MORE = 5
# Stop after at least this many consecutive failures.
FAILURES = 24


@dataclass(frozen=True, slots=True)
class Extent:
    """Size of neighbourhoods."""

    freed: int = 20  # Cells of the pattern that are released at first.
    candidates: int = 150  # Other cells that may be added, by reduced cost.
    per_failure: int = 8  # Cells of the pattern for each allowed consecutive failure.
    share: float = 1.0  # Largest share of the pattern that is released.


# If rows and reduced costs are so good that a wide neighbourhood is decided at its root.
WIDE = Extent(freed=60, candidates=300, per_failure=4, share=0.5)


class Neighbourhoods:
    """Parts of patterns, nearest to a centre first.

    Parameters
    ----------
    instance
        Instance whose relations determine which cells are near each other.
    extent
        Number of cells drawn, and of failures allowed.
    """

    def __init__(self, instance: Instance, extent: Extent | None = None) -> None:
        self.extent = Extent() if extent is None else extent
        rows = instance.relations
        marks = sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), rows.shape)
        self._rows, self._columns = marks, sparse.csr_array(marks.T)
        self._random = np.random.default_rng(SEED)
        self._failures = 0

    def draw(self, pattern: Mask) -> Mask | None:
        """Return cells of a pattern to release, or None after too many failures."""
        cells = np.flatnonzero(pattern)
        most = max(FAILURES, len(cells) // self.extent.per_failure)
        if self._failures >= most or len(cells) < 2:
            return None
        size = self.extent.freed + MORE * (4 * self._failures // most)
        size = min(size, round(self.extent.share * len(cells)))
        centre = int(cells[self._random.integers(len(cells))])
        self._failures += 1
        return self.around(centre, cells, size)

    def near(self, cells: Mask) -> Mask:
        """Return these cells and those that share a relation with them."""
        return np.asarray(self._columns @ (self._rows @ cells.astype(np.float64)) > 0) | cells

    def found(self) -> None:
        """Record that a better pattern was found."""
        self._failures = 0

    def around(self, centre: int, cells: Integers, size: int) -> Mask:
        """Return the cells nearest to one, by steps between relations, ties at random."""
        distance = np.full(self._rows.shape[1], np.inf)
        here = np.zeros(len(distance))
        here[centre] = 1.0
        chosen = np.zeros(len(distance), dtype=bool)
        # Steps go through the pattern's own cells: connected cells are searched together.
        inside = np.zeros(len(distance))
        inside[cells] = 1.0
        for step in range(len(cells)):
            distance[(here > 0) & np.isinf(distance)] = step
            if np.isfinite(distance[cells]).sum() >= size:
                break
            there = self._columns @ (self._rows @ here) * inside
            if not np.any((there > 0) & np.isinf(distance)):
                there = self._columns @ (self._rows @ here)
                if not np.any((there > 0) & np.isinf(distance)):
                    break
            here = ((there > 0) | (here > 0)).astype(np.float64)
        order = np.lexsort((self._random.random(len(cells)), distance[cells]))
        chosen[cells[order[:size]]] = True
        return chosen


Engine = Subproblems
# Searches a part: instance, mask of its cells in the whole, its starting pattern, its rows.
SearchPart = Callable[[Instance, Mask, Mask, Cuts], Mask]


class NeighbourhoodSearch:
    """Improve a safe pattern part by part.

    Parameters
    ----------
    engine
        Engine of the whole problem.
    search
        Searches a part.
    pattern
        The initial safe pattern.
    rows
        Rows of the relaxation over the free cells.
    reduced
        Reduced costs of all cells: the cheapest nearby ones are added.
    """

    def __init__(
        self, engine: Engine, search: SearchPart, pattern: Mask, rows: sparse.csr_array, reduced: Floats
    ) -> None:
        self._instance, self._budget, self._search = engine.instance, engine.budget, search
        self._relations = Incidence.of(engine.instance.relations)
        self.pattern = pattern.copy()
        self._rows, self._reduced = rows, reduced
        self._used = np.zeros((len(self._instance.levels), len(pattern)), dtype=bool)
        self.settled = self._witness(engine, np.arange(len(self._instance.levels)), np.arange(len(pattern)))

    def _witness(self, engine: Engine, levels: Integers, cells: Integers) -> bool:
        """Store how the pattern reaches some levels; return False if it does not.

        ``engine`` has the instance over ``cells`` and these levels, in this order.
        """
        inside = engine.instance
        level, sense = pushes_for(inside, np.arange(len(inside.levels)))
        x = self.pattern[cells].astype(np.float64)
        pushed = engine.push(x, level, sense, exact=True, flows=True)
        if pushed.flows is None or not levels_met(inside, pushed).all():
            return False
        moved = np.abs(pushed.flows) > MOVED * inside.levels.amount[level][:, None]
        self._used[levels] = False
        for push, k in enumerate(level.tolist()):
            self._used[levels[k], cells[moved[push]]] = True
        return True

    def improve(self, around: Neighbourhoods, freed: Mask) -> bool:
        """Search the pattern again with some of its cells released; return whether it changed."""
        instance, kept = self._instance, self.pattern & ~freed
        touched = np.flatnonzero(self._used[:, freed].any(axis=1))
        if not len(touched):
            self.pattern = kept
            return True
        alive = freed | self._candidates(around, freed)
        alive |= self._used[touched].any(axis=0) | (around.near(freed) & kept)
        alive &= self._relations.movable(alive)
        levels = instance.levels.take(touched)
        if not alive[levels.cell].all():
            # Movements that were dropped as too small were needed.
            return False
        part = replace(instance, forced=kept, levels=levels).kept(alive)
        found = self._search(part, alive, self.pattern[alive], self._rows_for(kept, alive))
        if np.array_equal(found, self.pattern[alive]):
            return False
        before = self.pattern.copy()
        self.pattern[freed] = False
        self.pattern[alive] = found
        engine = subproblems_for(replace(part, forced=found), self._budget)
        if not self._witness(engine, touched, np.flatnonzero(alive)):
            self.pattern = before
            return False
        return True

    def _candidates(self, around: Neighbourhoods, freed: Mask) -> Mask:
        """Return cells outside the pattern that may be added, half of them adjacent to the released ones."""
        chosen = np.zeros(len(freed), dtype=bool)
        near, candidates = around.near(freed), around.extent.candidates
        for some, most in ((near, candidates // 2), (around.near(near), candidates)):
            cells = np.flatnonzero(some & ~self.pattern & ~chosen)
            order = np.argsort(self._reduced[cells], kind="stable")
            chosen[cells[order[: most - int(chosen.sum())]]] = True
        return chosen

    def _rows_for(self, kept: Mask, alive: Mask) -> Cuts:
        """Rewrite the relaxation's rows for a part, with all cells that stay suppressed."""
        free = self._instance.free
        left = 1.0 - self._rows @ kept[free].astype(np.float64)
        there = np.flatnonzero(
            (left > INTEGRAL) & (self._rows @ (alive & ~kept)[free].astype(np.float64) > 0)
        )
        place = np.cumsum(alive) - 1
        columns = np.flatnonzero((alive & ~kept)[free])
        part = sparse.csr_array(self._rows[there][:, columns])
        part.data = np.minimum(part.data / np.repeat(left[there], np.diff(part.indptr)), 1.0)
        cells = place[free[columns[part.indices]]]
        return Cuts(part.indptr.astype(np.int64), cells, part.data)


# Cells released at first, minimum number, and factors after a neighbourhood that ended, or did not.
FREED, LEAST, WIDEN, NARROW = 18.0, 8.0, 1.1, 0.85
# Nodes of a neighbourhood; consecutive failures before the search restarts elsewhere.
NEIGHBOURHOOD_NODES, RESTART_AFTER = 15, 15
# Restart: share of cells released, share of those that is excluded, and factor on the allowed cost.
ANEW_FREED, BARRED, DEARER = 0.4, 1 / 3, 2.0
# Share of all work for this search, and multiple of the work of the root at first. A higher share while the
# pattern is so far above the bound that no tree will finish.
SHARE, AT_FIRST = 0.4, 5
VERY_FAR, SHARE_VERY_FAR = 0.1, 0.8


class IncumbentSearch:
    """Improve the pattern of a tree from time to time.

    Parameters
    ----------
    tree
        Tree whose linear program, rows and best pattern are used; its pattern gets cheaper or stays.
    relaxed, rows
        Result of its root: reduced costs exclude expensive cells, and the active rows are the first ones.
    """

    def __init__(self, tree: BranchAndCut, relaxed: Relaxed, rows: Integers) -> None:
        self._tree, self._reduced = tree, relaxed.reduced
        self._bound = relaxed.bound + tree.relaxation.paid
        self._rows = rows
        self._around = Neighbourhoods(tree.instance)
        self._random = np.random.default_rng(SEED)
        self._pattern, self._value, self._known = tree.best, tree.value, tree.value
        self._freed, self._failures = FREED, 0
        self._began, self._work = tree.budget.work, 0

    def begin(self) -> None:
        """Search until this took a multiple of all earlier work."""
        while self._work < AT_FIRST * self._began and self._tree.far_off():
            self.step()

    def catch_up(self) -> bool:
        """Search until this took its share of the work; return whether anything was done."""
        tree, done = self._tree, False
        while tree.far_off():
            share = SHARE_VERY_FAR if tree.far_off(VERY_FAR) else SHARE
            if self._work >= share * (tree.budget.work - self._began):
                break
            self.step()
            done = True
        return done

    def step(self) -> None:
        """Search one neighbourhood."""
        tree = self._tree
        if tree.value < self._known:
            # The tree found a pattern itself.
            self._pattern, self._value, self._known = tree.best, tree.value, tree.value
            self._failures = 0
        before, best = tree.budget.work, (tree.best, tree.value)
        tree.best, tree.value = self._pattern, self._value
        try:
            if self._failures < RESTART_AFTER:
                self._improve()
            else:
                self._begin_anew()
        finally:
            self._pattern, self._value = tree.best, tree.goal.value(tree.best)
            if best[1] <= self._value:
                tree.best, tree.value = best
            self._known = tree.value
            self._work += tree.budget.work - before

    def _improve(self) -> None:
        """Release some cells; expensive ones stay published."""
        tree, value = self._tree, self._value
        allowed = self._pattern.copy()
        allowed[tree.relaxation.free] |= self._reduced <= (value - self._bound) / 2
        ended = self._explore(self._draw(round(self._freed)), allowed, repairs=False)
        self._failures = 0 if tree.value < value else self._failures + 1
        self._freed = max(self._freed * (WIDEN if ended else NARROW), LEAST)

    def _begin_anew(self) -> None:
        """Search half of the pattern again without some of its cells."""
        freed = self._draw(round(ANEW_FREED * np.count_nonzero(self._pattern & ~self._tree.instance.forced)))
        cells = self._random.permutation(np.flatnonzero(freed))
        allowed = np.ones(len(freed), dtype=bool)
        allowed[cells[: round(BARRED * len(cells))]] = False
        self._tree.value *= DEARER
        self._explore(freed, allowed, repairs=True)
        self._freed, self._failures = FREED, 0

    def _draw(self, size: int) -> Mask:
        """Return the cells of the pattern nearest to one of them."""
        cells = np.flatnonzero(self._pattern & ~self._tree.instance.forced)
        if not len(cells):
            # All suppressed cells are forced, so nothing can be released; the tree will prove it.
            return np.zeros(len(self._pattern), dtype=np.bool_)
        centre = int(cells[self._random.integers(len(cells))])
        return self._around.around(centre, cells, size)

    def _explore(self, freed: Mask, allowed: Mask, *, repairs: bool) -> bool:
        tree = self._tree
        free = tree.relaxation.free
        kept = (self._pattern & ~freed)[free]
        ends = kept.astype(np.float64), allowed[free].astype(np.float64)
        return tree.explore(*ends, self._rows, NEIGHBOURHOOD_NODES, repairs=repairs)
