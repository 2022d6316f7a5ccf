"""Restricted integer programs: a part of the pattern is searched again by branch and cut, all else stays.

Some suppressed cells around one of them are released. The requirements whose witnesses move these get new
witnesses, over the cells that their witnesses move and the cheapest others nearby. Requirements that are
served without any released cell keep their witnesses, so the problems stay small for large tables. A result
counts only if every requirement that lost its witness has another one, in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from hitoku.feasibility import Incidence
from hitoku.feasibility.hypercubes import HypercubeSearch, Slacks
from hitoku.methods.circulation.reach import CellReach, Change
from hitoku.methods.costs import CostScale
from hitoku.methods.optimal import (
    DOWN,
    UP,
    Budget,
    Instance,
    Neighbourhoods,
    Objective,
    ProtectionLevels,
    search,
)
from hitoku.model import Floats, Integers, Mask

# Suppressed cells that are released together; other cells that may be added; requirements of one part.
FREED, CANDIDATES, MAX_REQUIREMENTS = 10, 100, 120
# Nodes of one branch and cut; weight of a witness by linear program relative to a problem of the search.
NODES, PER_WITNESS = 8, 10
# Fixed seed: one table, one answer.
SEED = 1


class PartSearch:
    """A pattern with one witness for each requirement, improved part by part.

    Parameters
    ----------
    relations, slacks, price
        Properties of the table's cells; prices are zero if they are suppressed in any case.
    hypercubes
        The witnesses; better ones replace them.
    reach
        Linear programs for single requirements.
    """

    def __init__(
        self,
        relations: sparse.csr_array,
        slacks: Slacks,
        price: Floats,
        hypercubes: HypercubeSearch,
        reach: CellReach,
    ) -> None:
        self._slacks, self._hypercubes, self._reach = slacks, hypercubes, reach
        self._relations, self._pinned = Incidence.of(relations), price <= 0
        self._able = (slacks.up > 0) | (slacks.down > 0)
        n, grid, nothing = len(price), CostScale.of(price), np.zeros(0, dtype=np.int64)
        self._step = 1.0 if grid.whole else 0.0
        self._moved_cells = _moved_cells(hypercubes, n)
        signed = Instance(
            cells=np.arange(n),
            relations=relations,
            up=slacks.up,
            down=slacks.down,
            forced=self._pinned,
            weight=grid.weight,
            tie=np.zeros(n, dtype=np.int64),
            levels=ProtectionLevels(nothing, nothing.astype(np.int8), nothing.astype(np.float64)),
        )
        # If all requirements of a part hold both ways, one way is enough: the opposite fits, too.
        self._problems = {False: signed, True: replace(signed, up=slacks.even, down=slacks.even)}
        self._around = Neighbourhoods(signed)

    @property
    def pattern(self) -> Mask:
        """Suppressed cells."""
        return np.asarray(self._moved_cells.any(axis=0) | self._pinned)

    def run(self, work: int, more: Callable[[], bool]) -> None:
        """Search around every cell, repeatedly, until nothing improves.

        Parameters
        ----------
        work
            Limit on the number of problems solved.
        more
            Called before every part; False ends the search.
        """
        budget, random = Budget(lambda done: done / work), np.random.default_rng(SEED)
        found = True
        while found:
            found = False
            for centre in random.permutation(np.flatnonzero(self.pattern & ~self._pinned)).tolist():
                if budget.spent() >= 1 or not more():
                    return
                cells = np.flatnonzero(self.pattern & ~self._pinned)
                if centre in cells:
                    found |= self.improve(self._around.around(centre, cells, FREED), budget)

    def improve(self, freed: Mask, budget: Budget) -> bool:
        """Search the pattern again with some cells released; return whether it became cheaper."""
        pattern, requirements = self.pattern, self._hypercubes.requirements
        kept = pattern & ~freed
        touched = np.flatnonzero(self._moved_cells[:, freed].any(axis=1))
        if len(touched) > MAX_REQUIREMENTS:
            return False
        alive = freed | self._moved_cells[touched].any(axis=0)
        alive |= self._candidates(freed, pattern)
        both_ways = bool(requirements.even[touched].all())
        problem = self._problems[both_ways]
        alive &= self._relations.movable(alive & self._able)
        levels = self._levels(touched, both_ways=both_ways)
        if not alive[levels.cell].all():
            return False
        part = replace(problem, forced=kept, levels=levels).kept(alive)
        goal, start = Objective(part.weight, self._step), pattern[alive]
        found = search(part, goal, budget, start, most_nodes=NODES).pattern
        if goal.value(found) >= goal.value(start) - goal.gain(goal.value(start)):
            return False
        new = kept.copy()
        new[alive] |= found
        lost = touched[self._moved_cells[touched][:, ~new].any(axis=1)]
        budget.work += PER_WITNESS * len(lost)
        return self._replace_witnesses(lost, np.flatnonzero(new & alive))

    def _candidates(self, freed: Mask, pattern: Mask) -> Mask:
        """Return the cheapest nearby cells that may be added, half of them adjacent to the released ones."""
        price, chosen = self._problems[False].weight, np.zeros(len(freed), dtype=bool)
        near = self._around.near(freed)
        for some, most in ((near, CANDIDATES // 2), (self._around.near(near), CANDIDATES)):
            cells = np.flatnonzero(some & ~pattern & ~chosen & self._able)
            order = np.argsort(price[cells], kind="stable")
            chosen[cells[order[: most - int(chosen.sum())]]] = True
        return chosen

    def _levels(self, touched: Integers, *, both_ways: bool) -> ProtectionLevels:
        """Return requirements as levels; if one is signed, those that hold both ways become two levels."""
        requirements = self._hypercubes.requirements
        n = len(requirements.cells)
        down = touched[:0] if both_ways else touched[requirements.even[touched]]
        requirement = np.concatenate([touched, down])
        side = np.where(requirement < n, UP, DOWN).astype(np.int8)
        side[len(touched) :] = DOWN
        return ProtectionLevels(requirements.cells[requirement % n], side, requirements.amount[requirement])

    def _replace_witnesses(self, lost: Integers, cells: Integers) -> bool:
        """Give requirements new witnesses through some cells; all or none."""
        hypercubes, requirements, slacks = self._hypercubes, self._hypercubes.requirements, self._slacks
        n = len(requirements.cells)
        asked = [
            (
                int(requirements.cells[k % n]),
                1 if k < n else -1,
                float(requirements.amount[k]),
                bool(requirements.even[k]),
            )
            for k in lost.tolist()
        ]
        ends = {True: (slacks.even, slacks.even), False: (slacks.down, slacks.up)}
        found: list[Change] = []
        for change in self._reach.within(cells, asked, ends):
            if change is None:
                return False
            found.append(change)
        for requirement, change in zip(lost.tolist(), found, strict=True):
            hypercubes.put(requirement, hypercubes.cross_table.position[change.cells], change.amounts)
            self._moved_cells[requirement] = False
            self._moved_cells[requirement, change.cells] = True
        return True


def _moved_cells(hypercubes: HypercubeSearch, n_cells: int) -> Mask:
    """Return for each requirement which cells its witness moves."""
    requirement, cell, _ = hypercubes.shown_entries()
    used = np.zeros((len(hypercubes.requirements.amount), n_cells), dtype=bool)
    used[requirement, cell] = True
    return used
