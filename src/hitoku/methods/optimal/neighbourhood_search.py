"""Large neighbourhood search: most of the best pattern stays, a part of it around one cell is searched anew.

Every neighbourhood is a small problem of its own: the cells set free, others near them that the relaxation
likes, and the withheld cells by which the touched levels are reached. Levels that are reached without any
cell set free need not be asked again, and withheld cells farther away can only help, so a table of any size
is searched piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from hitoku.feasibility.incidence import Incidence
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.neighbourhoods import Neighbourhoods
from hitoku.methods.optimal.pushes import Subproblems, levels_met, pushes_for
from hitoku.model import Floats, Integers, Mask

# A movement smaller than this share of a level is rounding.
MOVED = 1e-7
# A row is left out when cells that stay fill it but for this share.
FULL = 1e-6

Engine = Subproblems
# Searches a part: instance, which cells of the whole it holds, its starting pattern, its rows.
SearchPart = Callable[[Instance, Mask, Mask, Cuts], Mask]


class NeighbourhoodSearch:
    """Improve a safe pattern part by part.

    Parameters
    ----------
    engine
        Attackers of the whole problem.
    search
        What searches a part.
    pattern
        The safe pattern to begin with.
    rows
        Rows of the relaxation over the free cells.
    reduced
        Reduced costs of all cells: the cheapest of those near are let in.
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
        """Remember how the pattern reaches some levels; false when it does not.

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
        """Search the pattern anew where some of its cells are set free; tell whether it changed."""
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
            # Movements so small that they were left out held something up.
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
        """Return cells outside the pattern that may come in, half of them beside the ones set free."""
        chosen = np.zeros(len(freed), dtype=bool)
        near, candidates = around.near(freed), around.extent.candidates
        for some, most in ((near, candidates // 2), (around.near(near), candidates)):
            cells = np.flatnonzero(some & ~self.pattern & ~chosen)
            order = np.argsort(self._reduced[cells], kind="stable")
            chosen[cells[order[: most - int(chosen.sum())]]] = True
        return chosen

    def _rows_for(self, kept: Mask, alive: Mask) -> Cuts:
        """Rewrite the relaxation's rows for a part, with all cells withheld that stay."""
        free = self._instance.free
        left = 1.0 - self._rows @ kept[free].astype(np.float64)
        there = np.flatnonzero((left > FULL) & (self._rows @ (alive & ~kept)[free].astype(np.float64) > 0))
        place = np.cumsum(alive) - 1
        columns = np.flatnonzero((alive & ~kept)[free])
        part = sparse.csr_array(self._rows[there][:, columns])
        part.data = np.minimum(part.data / np.repeat(left[there], np.diff(part.indptr)), 1.0)
        cells = place[free[columns[part.indices]]]
        return Cuts(part.indptr.astype(np.int64), cells, part.data)
