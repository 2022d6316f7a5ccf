"""The search for the best pattern: the steps before the tree, which find a good pattern and fix cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import INTEGRAL, Budget, Instance, Stopped
from hitoku.methods.optimal.neighbourhoods import (
    WIDE,
    Extent,
    IncumbentSearch,
    Neighbourhoods,
    NeighbourhoodSearch,
)
from hitoku.methods.optimal.objective import Objective, SearchResult
from hitoku.methods.optimal.presolve import components, fix_cells, part_of, restrict_cuts, rows_by_part
from hitoku.methods.optimal.relaxation import HALVED_COLUMNS
from hitoku.methods.optimal.small import cheapest_by_enumeration
from hitoku.methods.optimal.tree import FAR_OFF, NO_LIMIT, BranchAndCut, Report
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.master import Relaxed

# After the root, continue with the cells that may still matter, if they are fewer than this share.
FEWER = 0.8
# The same after a few rounds at the root, and the number of rounds.
MUCH_FEWER, ROUGH_ROUNDS = 0.6, 15
# Limits on cells and nodes of a first search.
CORE, CORE_NODES = 150, 200
# In networks with more cells than this, whose pattern is seldom far off, neighbourhoods are always searched.
LARGE_NETWORK = 5000
# Rounds of rows at the root.
ROOT_ROUNDS = 400
# Nodes of each neighbourhood, and the share of a limit at which the search ends.
NODES, UNTIL = 15, 0.5


def search(
    instance: Instance,
    goal: Objective,
    budget: Budget,
    start: Mask,
    *,
    rows: Cuts | None = None,
    most_nodes: int = NO_LIMIT,
    report: Report | None = None,
    core: bool = False,
    wide: bool = False,
) -> SearchResult:
    """Find the best pattern: by connected component.

    Parameters
    ----------
    instance, goal, budget
        Problem, objective and limits.
    start
        A safe initial pattern.
    rows
        Cuts: valid for all safe patterns.
    most_nodes
        Limit on the nodes in one part.
    report
        Called with the bound and the value of the best pattern; None if the bound applies to some of
        the cells only.
    core
        The initial pattern may be far off: find a good one first.
    wide
        Search for a better one in wide neighbourhoods after the root.
    """
    groups = components(instance) if goal.other is None else []
    options: dict[str, Any] = {"most_nodes": most_nodes, "core": core, "wide": wide}
    if goal.other is not None or (len(groups) == 1 and groups[0].all()):
        return _search_connected(instance, goal, budget, start, rows=rows, report=report, **options)
    parted = rows_by_part(Cuts.of([]) if rows is None else rows, groups)
    covered = np.logical_or.reduce(groups) if groups else np.zeros(len(instance), dtype=bool)
    pattern, possible, finished = instance.forced | (start & covered), instance.forced.copy(), True
    made: list[tuple[Integers, Floats]] = []
    idle: list[tuple[Integers, Floats]] = []
    bounds = [goal.value(instance.forced & group) for group in groups]
    apart = goal.value(instance.forced & ~covered)

    for place, group in enumerate(groups):
        part = part_of(instance, group)

        def report_part(bound: float, value: float, place: int = place, group: Mask = group) -> None:
            if report is not None:
                report(apart + sum(bounds) - bounds[place] + bound, goal.value(pattern & ~group) + value)

        given = restrict_cuts(parted[place], instance, part)
        problem = part, goal.over(group), budget, pattern[group]
        found = _search_connected(*problem, rows=given, report=report_part, **options)
        bounds[place], finished = found.bound, finished and found.finished
        pattern[group], possible[group] = found.pattern, found.possible
        cells = np.flatnonzero(group)
        known_here = [(cells[row[0]], row[1]) for row in map(found.rows.row, range(len(found.rows)))]
        made += known_here[: found.rows.n_lively]
        idle += known_here[found.rows.n_lively :]
    value = goal.value(pattern)
    bound = value if finished else min(apart + sum(bounds), value)
    return SearchResult(pattern, value, bound, finished, possible, Cuts.of(made + idle, len(made)))


def _search_connected(
    instance: Instance,
    goal: Objective,
    budget: Budget,
    start: Mask,
    *,
    rows: Cuts | None,
    report: Report | None,
    **options: Any,
) -> SearchResult:
    """Search a connected instance: by enumeration if it is tiny, otherwise in a tree."""
    rows = Cuts.of([]) if rows is None else rows
    found = None
    try:
        if goal.other is None:
            found = cheapest_by_enumeration(instance, goal, budget, start, rows)
    except (Stopped, KeyboardInterrupt) as stop:
        budget.interrupted |= isinstance(stop, KeyboardInterrupt)
        everything = np.ones(len(instance), dtype=bool)
        bound = min(goal.value(instance.forced), goal.value(start))
        return SearchResult(start, goal.value(start), bound, False, everything, rows)
    if found is None:
        return PatternSearch(instance, goal, budget, start, rows=rows, report=report, **options).run()
    if report is not None:
        report(found.bound, found.value)
    return found


class PatternSearch(BranchAndCut):
    """One run over a connected instance; parameters as in :func:`search`."""

    def __init__(self, *problem: Any, core: bool = False, wide: bool = False, **options: Any) -> None:
        super().__init__(*problem, **options)
        self._look, self._wide = core, wide
        if core and self.relaxation.network and len(self.relaxation.free) > LARGE_NETWORK:
            # Neighbourhoods find a pattern that leaves fewer columns; halves are separated after that.
            self.relaxation.halving = False
        self._incumbents: IncumbentSearch | None = None

    def run(self) -> SearchResult:
        """Search until complete or stopped."""
        try:
            return self._run()
        except KeyboardInterrupt:
            self.budget.interrupted = True
            return self._result(finished=False)
        except Stopped:
            return self._result(finished=False)

    def _run(self) -> SearchResult:
        if self._look and not self.relaxation.network:
            found = self._narrow_early()
            if found is not None:
                return found
        relaxed = self._cutting_planes(ROOT_ROUNDS, root=True)
        if relaxed is None:
            if self._last is not None and np.isfinite(self._last.bound):
                _, upper = self._fix_columns(self._last, self._lower, self._upper, ties=True)
                self.possible[self.relaxation.free[upper == 0]] = False
            return self._result(finished=True)
        bound = relaxed.bound + self.relaxation.paid
        self.bound = max(self.bound, bound)
        rows = self.relaxation.active(relaxed)
        unlimited = self._report is not None and self._most_nodes == NO_LIMIT
        if unlimited and self.relaxation.engine.tableau:
            self._incumbents = IncumbentSearch(self, relaxed, rows)
        if self._look:
            self._search_core(relaxed)
            if self._incumbents is not None:
                self._incumbents.begin()
            self.relaxation.master.fix(self._lower, self._upper)
            self.relaxation.restore(rows)
        if self._wide:
            self._search_neighbourhoods(relaxed, 0.0, WIDE)
        return self._after_root(relaxed, bound)

    def _after_root(self, relaxed: Relaxed, bound: float) -> SearchResult:
        """Continue with the undecided cells: alone if they are fewer, otherwise in a tree."""
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        free = self.relaxation.free
        self.possible[free[upper == 0]] = False
        if not np.any(lower < upper):
            return self._result(finished=True)
        if (lower < upper).sum() < FEWER * len(free):
            # If halves are separated only now, they make wide neighbourhoods worth searching.
            wide = self._look and self.relaxation.network and not self.relaxation.halving
            found = self._search_subset(self.possible, free[lower == 1], report=self._report, wide=wide)
            if found is not None:
                return found
        self._lower, self._upper = self._fix_columns(relaxed, self._lower, self._upper, ties=self.goal.ties)
        return self._result(finished=self._branch_and_bound(bound))

    def _between_nodes(self) -> bool:
        """Search for a better pattern while that takes a small part of the work."""
        return self._incumbents is not None and self._incumbents.catch_up()

    def _narrow_early(self) -> SearchResult | None:
        """Find a pattern after a few rounds; if it excludes most cells, continue without them."""
        relaxed = self._cutting_planes(ROUGH_ROUNDS, root=True)
        if relaxed is None:
            return None
        self._repair(self.relaxation.pattern(relaxed.x), self._promising(relaxed))
        if not self.relaxation.engine.tableau:
            # Too large for a tableau: rounds are slow, and a good pattern excludes more cells than they do.
            self._search_neighbourhoods(relaxed)
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        free = self.relaxation.free
        if (lower < upper).sum() > MUCH_FEWER * len(free):
            return None
        self.possible[free[upper == 0]] = False
        return self._search_subset(self.possible, free[lower == 1], report=self._report, core=True)

    def _report_pattern(self, _bound: float, value: float) -> None:
        """Report the result of a search over some of the cells; its bound holds for these alone."""
        if self._report is not None:
            self._report(self.bound, min(value, self.value))

    def _promising(self, relaxed: Relaxed) -> Integers:
        """Return the cells that the relaxation uses or would use next."""
        n_core = max(CORE, 3 * int((relaxed.x > INTEGRAL).sum()))
        order = np.lexsort((np.arange(len(relaxed.x)), -relaxed.x, relaxed.reduced))
        return np.asarray(self.relaxation.free[order[:n_core]])

    def _search_core(self, relaxed: Relaxed) -> None:
        """Find a good incumbent: repair the relaxed point, then search among the most promising cells alone.

        Its cost excludes most other cells.
        """
        relaxation = self.relaxation
        promising = self._promising(relaxed)
        full = relaxation.pattern(relaxed.x)
        self._repair(full, promising)
        enough = 1.5 * len(promising)
        if relaxation.network and len(relaxation.free) > LARGE_NETWORK:
            self._search_neighbourhoods(relaxed, 0.0)
            # If halves are separated, they exclude more cells than a better pattern.
            enough = max(enough, HALVED_COLUMNS)
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        if (lower < upper).sum() >= enough:
            alive = self.instance.forced | self.best
            alive[promising] = True
            self._search_subset(alive, relaxation.free[:0], CORE_NODES, self._report_pattern)

    def _search_neighbourhoods(
        self, relaxed: Relaxed, far_off: float = FAR_OFF, extent: Extent | None = None
    ) -> None:
        """Release parts of the best pattern and search them again, repeatedly, while that pays off.

        Only while its free part is this share above the bound: nearer, the tree itself is better.
        """
        instance, relaxation = self.instance, self.relaxation
        if not self.far_off(far_off):
            return
        reduced = np.zeros(len(instance))
        reduced[relaxation.free] = relaxed.reduced

        def part(some: Instance, cells: Mask, start: Mask, rows: Cuts) -> Mask:
            goal = self.goal.over(cells)
            return search(some, goal, self.budget, start, rows=rows, most_nodes=NODES).pattern

        rows = sparse.csr_array(relaxation.master.rows[relaxation.standing :])
        around = Neighbourhoods(instance, extent)
        inside = NeighbourhoodSearch(relaxation.engine, part, self.best, rows, reduced)
        # Wide ones have many nodes each: limit them to the work done before.
        most = NO_LIMIT if extent is None else 2 * self.budget.work
        while inside.settled and self.budget.spent() < UNTIL and self.budget.work < most:
            freed = around.draw(inside.pattern & ~instance.forced)
            if freed is None or not self.far_off(far_off) or self.goal.hopeless(self.bound, self.value):
                break
            if inside.improve(around, freed):
                around.found()
                self._update_incumbent(inside.pattern)

    def _search_subset(
        self,
        alive: Mask,
        certain: Integers,
        most_nodes: int = NO_LIMIT,
        report: Report | None = None,
        *,
        core: bool = False,
        wide: bool = False,
    ) -> SearchResult | None:
        """Search over some of the cells; None if the incumbent needs others."""
        forced = self.instance.forced.copy()
        forced[certain] = True
        if np.any(self.best & ~alive & ~forced) or np.any(forced & ~self.best):
            return None
        instance = fix_cells(self.instance, alive, certain)
        if instance is None:
            return None
        cells = np.isin(self.instance.cells, instance.cells)
        found = search(
            instance,
            self.goal.over(cells),
            self.budget,
            # Cells that cannot move any more are not needed.
            self.best[cells],
            rows=restrict_cuts(self.relaxation.rows(), self.instance, instance),
            most_nodes=most_nodes,
            report=report,
            core=core,
            wide=wide,
        )
        pattern = np.zeros(len(self.instance), dtype=bool)
        pattern[cells] = found.pattern
        self._update_incumbent(pattern)
        if self.budget.interrupted:
            raise Stopped
        possible = np.zeros(len(self.instance), dtype=bool)
        possible[cells] = found.possible
        places = np.flatnonzero(cells)
        rows = replace(found.rows, cells=places[found.rows.cells])
        bound = self.value if found.finished else min(max(found.bound, self.bound), self.value)
        return SearchResult(self.best, self.value, bound, found.finished, possible, rows)
