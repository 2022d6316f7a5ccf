"""Large neighbourhood search on the tree's own linear program and rows: better patterns, and nothing proven.

Most of a pattern stays withheld, the cells nearest to one of them are set free, cells that the relaxation
finds dear stay published, and a few nodes decide the rest. How many cells are set free follows from how hard
the last neighbourhoods were. When nothing has come of it for long, half of the pattern is searched anew
without some of its cells, and the search goes on from what comes out, dearer or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hitoku.methods.optimal.neighbourhoods import Neighbourhoods
from hitoku.model import Integers, Mask
from hitoku.solver.covering import Relaxed

if TYPE_CHECKING:
    from hitoku.methods.optimal.tree import BranchAndCut

# Cells set free at first, at least, and by which factor more when a neighbourhood came to its end, or not.
FREED, LEAST, MORE, LESS = 18.0, 8.0, 1.1, 0.85
# Nodes of a neighbourhood; failures in a row before the search begins anew elsewhere.
NODES, FAILURES = 15, 15
# Anew: the share of cells set free, of those the share that is barred, and how dear a pattern may be.
ANEW_FREED, BARRED, DEARER = 0.4, 1 / 3, 2.0
# The share of all work that may go into this, and how many times the work of the root at first. While the
# pattern is so far above the bound that no tree will end, more.
SHARE, AT_FIRST = 0.4, 5
VERY_FAR, SHARE_VERY_FAR = 0.1, 0.8
# Cells are drawn from a fixed seed: one table, one answer under a work limit.
SEED = 1


class IncumbentSearch:
    """Improve the pattern of a tree from time to time.

    Parameters
    ----------
    tree
        Whose linear program, rows and best pattern are used; its pattern gets cheaper or stays.
    relaxed, rows
        The end of its root: reduced costs bar dear cells, the rows that were active are what to begin with.
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
        """Search until this took some times the work of all before."""
        while self._work < AT_FIRST * self._began and self._tree.far_off():
            self.step()

    def catch_up(self) -> bool:
        """Search until this took its share of the work; tell whether there was anything to do."""
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
            # The tree found something itself.
            self._pattern, self._value, self._known = tree.best, tree.value, tree.value
            self._failures = 0
        before, best = tree.budget.work, (tree.best, tree.value)
        tree.best, tree.value = self._pattern, self._value
        try:
            if self._failures < FAILURES:
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
        """Set some cells free; dear ones stay out."""
        tree, value = self._tree, self._value
        allowed = self._pattern.copy()
        allowed[tree.relaxation.free] |= self._reduced <= (value - self._bound) / 2
        ended = self._explore(self._draw(round(self._freed)), allowed, repairs=False)
        self._failures = 0 if tree.value < value else self._failures + 1
        self._freed = max(self._freed * (MORE if ended else LESS), LEAST)

    def _begin_anew(self) -> None:
        """Search half of the pattern without some of its cells."""
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
            # What is withheld must be: there is nothing to set free, and the tree will say so.
            return np.zeros(len(self._pattern), dtype=np.bool_)
        centre = int(cells[self._random.integers(len(cells))])
        return self._around.around(centre, cells, size)

    def _explore(self, freed: Mask, allowed: Mask, *, repairs: bool) -> bool:
        tree = self._tree
        free = tree.relaxation.free
        kept = (self._pattern & ~freed)[free]
        ends = kept.astype(np.float64), allowed[free].astype(np.float64)
        return tree.explore(*ends, self._rows, NODES, repairs=repairs)
