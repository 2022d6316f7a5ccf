"""Branch and cut: cutting planes at every node, branching on cells, until dual bound and incumbent meet."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hitoku.methods.optimal.attacker_subproblems import TableauSubproblems
from hitoku.methods.optimal.branching import Branching
from hitoku.methods.optimal.budget import Budget, Stopped
from hitoku.methods.optimal.components import components, part_of, rows_within
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.neighbourhoods import NODES, RULED_OUT, UNTIL, Neighbourhoods
from hitoku.methods.optimal.objective import Objective, SearchResult
from hitoku.methods.optimal.relaxation import FEW, PURGE_NODE, PURGE_ROOT, WHOLE, Relaxation
from hitoku.methods.optimal.repair_heuristic import repair_pattern
from hitoku.methods.optimal.tie_break import smaller
from hitoku.methods.optimal.variable_fixing import fix_cells, restrict_cuts
from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.solver.dense_master import DenseMaster
from hitoku.solver.master import Relaxed
from hitoku.solver.solution import Status

# After the root, go on with the cells that may still matter, when they are fewer than this share.
FEWER = 0.8
# The same after a few rounds at the root, and how many.
MUCH_FEWER, ROUGH_ROUNDS = 0.6, 15
# A first search is confined to this many cells, and to some nodes.
CORE, CORE_NODES = 150, 200
# A pattern is polished at most so often, while its free part is this share above the bound.
POLISHES, FAR_OFF = 100, 0.05
# Rounds of rows at the root and in a node; stalled when the bound gains less than a share of the gap.
ROOT_ROUNDS, NODE_ROUNDS = 400, 12
STALL_ROUNDS, STALL_SHARE, SHORT_STALL = 6, 0.005, 2
# Nodes between two attempts to repair a relaxed point, once the first few are done.
REPAIR_EVERY = 64
# On a dense tableau go on with a child while its bound is within this share of the gap.
PLUNGE = 0.3
NO_LIMIT = 2**62

Report = Callable[[float, float], None]


@dataclass(order=True, slots=True)
class Node:
    """A node of the tree: the patterns with some cells withheld and some published."""

    bound: float
    number: int
    withheld: Integers = field(compare=False)
    published: Integers = field(compare=False)


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
) -> SearchResult:
    """Find the best pattern: component by component where no relation connects them.

    Parameters
    ----------
    instance, goal, budget
        The problem, what is minimised, when to stop.
    start
        A safe pattern.
    rows
        Cuts: valid for all safe patterns.
    most_nodes
        Stop after so many in one part.
    report
        Called with the bound and the value of the best pattern; left out where the bound holds for some of
        the cells only.
    core
        The starting pattern may be far off: look for a good one first.
    """
    groups = components(instance) if goal.other is None else []
    options: dict[str, Any] = {"most_nodes": most_nodes, "core": core}
    if goal.other is not None or (len(groups) == 1 and groups[0].all()):
        return BranchAndCut(instance, goal, budget, start, rows=rows, report=report, **options).run()
    known = Cuts.of([]) if rows is None else rows
    covered = np.logical_or.reduce(groups) if groups else np.zeros(len(instance), dtype=bool)
    pattern, possible, finished = instance.forced | (start & covered), instance.forced.copy(), True
    made: list[tuple[Integers, Floats]] = []
    bounds = [goal.value(instance.forced & group) for group in groups]
    apart = goal.value(instance.forced & ~covered)

    for place, group in enumerate(groups):
        part = part_of(instance, group)

        def told(bound: float, value: float, place: int = place, group: Mask = group) -> None:
            if report is not None:
                report(apart + sum(bounds) - bounds[place] + bound, goal.value(pattern & ~group) + value)

        found = search(
            part,
            goal.over(group),
            budget,
            pattern[group],
            rows=rows_within(known, instance, part, covered & ~group),
            report=told,
            **options,
        )
        bounds[place], finished = found.bound, finished and found.finished
        pattern[group], possible[group] = found.pattern, found.possible
        cells = np.flatnonzero(group)
        made += [(cells[row[0]], row[1]) for row in map(found.rows.row, range(len(found.rows)))]
    value = goal.value(pattern)
    bound = value if finished else min(apart + sum(bounds), value)
    return SearchResult(pattern, value, bound, finished, possible, Cuts.of(made))


class BranchAndCut:
    """One run of branch and cut over a connected instance; parameters as in :func:`search`."""

    def __init__(
        self,
        instance: Instance,
        goal: Objective,
        budget: Budget,
        start: Mask,
        *,
        rows: Cuts | None = None,
        most_nodes: int = NO_LIMIT,
        report: Report | None = None,
        core: bool = False,
    ) -> None:
        self.instance, self.goal, self.budget = instance, goal, budget
        self.relaxation = Relaxation(instance, goal, budget, rows)
        self.branching = Branching(self.relaxation.master)
        self.best, self.value = start.copy(), goal.value(start)
        self.bound = self.relaxation.paid
        self.possible = np.ones(len(instance), dtype=bool)
        self.nodes, self._most_nodes = 0, most_nodes
        self._report, self._look = report, core
        n_free = len(self.relaxation.free)
        self._lower, self._upper = np.zeros(n_free), np.ones(n_free)
        self._last: Relaxed | None = None

    def run(self) -> SearchResult:
        """Search until done or stopped."""
        try:
            return self._run()
        except KeyboardInterrupt:
            self.budget.interrupted = True
            return self._result(finished=False)
        except Stopped:
            return self._result(finished=False)

    def _run(self) -> SearchResult:
        if self._look and isinstance(self.relaxation.engine, TableauSubproblems):
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
        if self._look:
            self._search_core(relaxed)
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        free = self.relaxation.free
        self.possible[free[upper == 0]] = False
        if (lower < upper).sum() < FEWER * len(free):
            found = self._search_subset(self.possible, free[lower == 1], report=self._report)
            if found is not None:
                return found
        self._lower, self._upper = self._fix_columns(relaxed, self._lower, self._upper, ties=self.goal.ties)
        return self._branch_and_bound(bound)

    def _narrow_early(self) -> SearchResult | None:
        """Look for a pattern after a few rounds; where it rules most cells out, go on without them."""
        relaxed = self._cutting_planes(ROUGH_ROUNDS, root=True)
        if relaxed is None:
            return None
        promising = self._promising(relaxed)
        self._repair(self.relaxation.pattern(relaxed.x), promising)
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        free = self.relaxation.free
        if (lower < upper).sum() > MUCH_FEWER * len(free):
            return None
        self.possible[free[upper == 0]] = False
        return self._search_subset(self.possible, free[lower == 1], report=self._report, core=True)

    def _result(self, *, finished: bool, bound: float | None = None) -> SearchResult:
        bound = self.value if finished else min(self.bound if bound is None else bound, self.value)
        return SearchResult(self.best, self.value, bound, finished, self.possible, self.relaxation.rows())

    def _report_progress(self) -> None:
        if self._report is not None:
            self._report(self.bound, self.value)

    def _update_incumbent(self, pattern: Mask | None) -> None:
        """Make a safe pattern the incumbent if it is better."""
        if pattern is None or not self.goal.allows(pattern):
            return
        value, half = self.goal.value(pattern), 0.5 * self.goal.step
        equal = self.goal.ties and abs(value - self.value) < half
        if value < self.value - half or (equal and smaller(pattern, self.best)):
            self.best, self.value = pattern.copy(), value

    def _fix_columns(
        self, relaxed: Relaxed, lower: Floats, upper: Floats, *, ties: bool
    ) -> tuple[Floats, Floats]:
        """Reduced-cost fixing: columns whose other value lifts the bound to the incumbent."""
        slack = self.value - relaxed.bound - self.relaxation.paid
        slack += self.goal.within(self.value) if ties else -self.goal.gain(self.value)
        upper = np.where((lower == 0) & (relaxed.reduced > slack), 0.0, upper)
        lower = np.where((upper == 1) & (relaxed.reduced < -slack), 1.0, lower)
        return lower, upper

    def _cutting_planes(self, rounds: int, *, root: bool) -> Relaxed | None:
        """Alternate between solving the relaxation and adding cuts; None when the node is pruned."""
        history: list[float] = []
        relaxation = self.relaxation
        while True:
            relaxed, bound = relaxation.solve()
            if root:
                self._last = relaxed
            if relaxed.status is Status.INFEASIBLE or self.goal.hopeless(bound, self.value):
                return None
            history.append(bound)
            if root:
                self.bound = max(self.bound, min(bound, self.value))
                self._report_progress()
            whole = bool(np.all(np.abs(relaxed.x - np.rint(relaxed.x)) < WHOLE))
            x = np.rint(relaxed.x) if whole else relaxed.x
            rows, safe = relaxation.separate(x, whole=whole)
            if whole and safe:
                self._update_incumbent(relaxation.pattern(x) > 0.5)
                return None if self.goal.hopeless(bound, self.value) else relaxed
            if not whole:
                if len(rows) < FEW or self._stalled(history, SHORT_STALL):
                    rows += relaxation.halves(x)
                if not rows or len(history) > rounds or self._stalled(history, STALL_ROUNDS):
                    return relaxed
            relaxation.purge(relaxed, PURGE_ROOT if root else PURGE_NODE)
            relaxation.add(rows)

    def _stalled(self, history: list[float], rounds: int) -> bool:
        """Tell whether the bound gained little of late.

        Before a pattern is known the gap says nothing; then the bound itself is the yardstick.
        """
        if len(history) <= rounds:
            return False
        gap = min(self.value - history[-1], 0.1 * (history[-1] - self.relaxation.paid))
        return history[-1] - history[-1 - rounds] < STALL_SHARE * max(gap, self.goal.step)

    def _repair(self, x: Floats, also: Integers | None = None, spare: Mask | None = None) -> None:
        """Make a safe pattern from a fractional one, and the incumbent if it is better."""
        self._update_incumbent(repair_pattern(self.relaxation.engine, x, self.goal.cost, also, spare=spare))

    def _promising(self, relaxed: Relaxed) -> Integers:
        """Return the cells that the relaxation uses or would use next."""
        n_core = max(CORE, 3 * int((relaxed.x > WHOLE).sum()))
        order = np.lexsort((np.arange(len(relaxed.x)), -relaxed.x, relaxed.reduced))
        return np.asarray(self.relaxation.free[order[:n_core]])

    def _search_core(self, relaxed: Relaxed) -> None:
        """Find a good incumbent: repair the relaxed point, then search among the most promising cells alone.

        Its cost is what rules most other cells out.
        """
        relaxation = self.relaxation
        promising = self._promising(relaxed)
        full = relaxation.pattern(relaxed.x)
        self._repair(full, promising)
        tableau = isinstance(relaxation.engine, TableauSubproblems)
        if relaxation.halving and not tableau:
            self._polish(promising)
        lower, upper = self._fix_columns(relaxed, self._lower, self._upper, ties=True)
        if (lower < upper).sum() >= 1.5 * len(promising):
            alive = self.instance.forced | self.best
            alive[promising] = True
            self._search_subset(alive, relaxation.free[:0], CORE_NODES)
        if tableau:
            self._search_neighbourhoods(relaxed)

    def _search_neighbourhoods(self, relaxed: Relaxed) -> None:
        """Set a part of the best pattern free and search it anew, again and again, while that pays.

        Only where the pattern is far from the bound: elsewhere the search itself does better.
        """
        free = self.relaxation.free
        lower, upper, nodes = self._lower, self._upper, self.nodes
        around = Neighbourhoods(self.instance)
        while self.budget.spent() < UNTIL:
            gap = self.value - self.bound
            freed = around.draw(self.best & ~self.instance.forced)
            if freed is None or gap < FAR_OFF * (self.value - self.relaxation.paid):
                break
            before, kept = self.value, self.best & ~freed
            barred = (relaxed.reduced > RULED_OUT * gap) & ~self.best[free]
            self._lower = np.maximum(lower, kept[free])
            self._upper = np.where(barred, 0.0, upper)
            self._most_nodes, most = self.nodes + NODES, self._most_nodes
            bound = self.bound
            try:
                self._branch_and_bound(self.relaxation.paid, report=False)
            finally:
                self.bound, self._most_nodes = bound, most
                self._lower, self._upper = lower, upper
            if self.value < before:
                around.found()
                self._report_progress()
        self.nodes = nodes
        self.relaxation.master.fix(lower, upper)

    def _polish(self, promising: Integers) -> None:
        """Take the dearest cells out of the best pattern one by one and repair it without them.

        Only where the pattern is far from the bound and the table no network: elsewhere the search itself
        does better.
        """
        relaxation = self.relaxation
        barred = np.zeros(len(self.instance), dtype=bool)
        for _ in range(POLISHES):
            if self.value - self.bound < FAR_OFF * (self.value - relaxation.paid):
                return
            left = np.flatnonzero(self.best & ~self.instance.forced & ~barred)
            if not len(left):
                return
            cell = left[np.lexsort((left, -self.goal.cost[left]))[0]]
            barred[cell] = True
            without = self.best.astype(np.float64)
            without[cell] = 0.0
            others = promising[promising != cell]
            everything = np.ones(len(self.instance), dtype=bool)
            self._repair(without, others, everything)

    def _search_subset(
        self,
        alive: Mask,
        certain: Integers,
        most_nodes: int = NO_LIMIT,
        report: Report | None = None,
        *,
        core: bool = False,
    ) -> SearchResult | None:
        """Search over some of the cells; None when the incumbent needs others."""
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
            # What cannot move any more is not missed.
            self.best[cells],
            rows=restrict_cuts(self.relaxation.rows(), self.instance, instance),
            most_nodes=most_nodes,
            report=report,
            core=core,
        )
        pattern = np.zeros(len(self.instance), dtype=bool)
        pattern[cells] = found.pattern
        self._update_incumbent(pattern)
        self._report_progress()
        if self.budget.interrupted:
            raise Stopped
        possible = np.zeros(len(self.instance), dtype=bool)
        possible[cells] = found.possible
        places = np.flatnonzero(cells)
        rows = Cuts(found.rows.indptr, places[found.rows.cells], found.rows.coefficients)
        bound = self.value if found.finished else min(max(found.bound, self.bound), self.value)
        return SearchResult(self.best, self.value, bound, found.finished, possible, rows)

    def _branch_and_bound(self, bound: float, *, report: bool = True) -> SearchResult:
        """Branch and bound, the node of least dual bound first."""
        none = np.zeros(0, dtype=np.int64)
        heap, count = [Node(bound, 0, none, none)], 0
        dive: Node | None = None
        dense = isinstance(self.relaxation.master, DenseMaster)
        while heap or dive is not None:
            least = min(node.bound for node in [*heap[:1], *([] if dive is None else [dive])])
            self.bound = max(self.bound, min(least, self.value))
            if report:
                self._report_progress()
            if self.goal.hopeless(least, self.value):
                break
            close = self.value - self.bound <= self.budget.gap * self.value
            if self.nodes >= self._most_nodes or (self.budget.gap and close):
                return self._result(finished=False)
            node = heapq.heappop(heap) if dive is None else dive
            dive = None
            self.nodes += 1
            children = []
            for child, withheld, published in self._expand(node):
                count += 1
                children.append(Node(max(child, node.bound), count, withheld, published))
            children.sort()
            if dense and children and children[0].bound <= least + PLUNGE * (self.value - least):
                # Near in every way: the solver need not go far for it.
                dive = children.pop(0)
            for child_node in children:
                heapq.heappush(heap, child_node)
        return self._result(finished=True)

    def _expand(self, node: Node) -> list[tuple[float, Integers, Integers]]:
        """Solve a node; return its children, none when it is pruned."""
        lower, upper = self._lower.copy(), self._upper.copy()
        lower[node.withheld] = 1.0
        upper[node.published] = 0.0
        if np.any(lower > upper):
            return []
        relaxation = self.relaxation
        relaxation.master.fix(lower, upper)
        relaxed = self._cutting_planes(NODE_ROUNDS, root=False)
        if relaxed is None:
            return []
        bound = relaxed.bound + relaxation.paid
        early = self.nodes & (self.nodes - 1) == 0
        if self.goal.other is None and (early or self.nodes % REPAIR_EVERY == 0):
            self._repair(relaxation.pattern(relaxed.x))
            if self.goal.hopeless(bound, self.value):
                return []
        lower, upper = self._fix_columns(relaxed, lower, upper, ties=self.goal.ties)
        enough = self.value - relaxation.paid - self.goal.gain(self.value)
        choice = self.branching.choose(relaxed, lower, upper, enough)
        if choice is None:
            return []
        withheld, published = np.flatnonzero(lower == 1), np.flatnonzero(upper == 0)
        children = [
            (choice.withheld, np.append(withheld, choice.column), published),
            (choice.published, withheld, np.append(published, choice.column)),
        ]
        bounded = [(max(bound, child + relaxation.paid), one, zero) for child, one, zero in children]
        return [child for child in bounded if not self.goal.hopeless(child[0], self.value)]
