"""Branch and cut: cutting planes at every node, branching on cells, until dual bound and incumbent meet."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.heuristics import repair_pattern
from hitoku.methods.optimal.instance import INTEGRAL, Budget, Instance
from hitoku.methods.optimal.objective import Objective, SearchResult, smaller
from hitoku.methods.optimal.relaxation import FEW, PURGE_NODE, PURGE_ROOT, Relaxation
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.dense_master import DenseMaster
from hitoku.solver.master import Master, Relaxed
from hitoku.solver.solution import SolverStatus

# A column is tried until each answer was observed this many times; then the stored averages are used.
RELIABLE = 4
CANDIDATES = 10
TRIAL_STEPS = 60
LEAST_LIFT, MAX_LIFT = 1e-6, 1e9


@dataclass(frozen=True, slots=True)
class Choice:
    """A column to branch on, and bounds for publishing and for suppressing it."""

    column: int
    published: float = -np.inf
    withheld: float = -np.inf


class Branching:
    """Strong branching with pseudo-costs (Achterberg, Koch and Martin 2005)."""

    def __init__(self, master: Master | DenseMaster) -> None:
        self._master = master
        n = len(master.cost)
        self._gain = np.zeros((2, n))
        self._tried = np.zeros((2, n), dtype=np.int64)

    def choose(self, relaxed: Relaxed, lower: Floats, upper: Floats, enough: float) -> Choice | None:
        """Choose a column, immediately if a child bound is above ``enough``; None if all are decided."""
        undecided = lower < upper
        part = np.where(undecided, np.minimum(relaxed.x, 1 - relaxed.x), 0.0)
        fractional = np.flatnonzero(part > INTEGRAL)
        if not len(fractional):
            # Integral already, but others may cost the same: decide a cell that this pattern suppresses.
            left = np.flatnonzero(undecided & (relaxed.x > 0.5))
            left = left if len(left) else np.flatnonzero(undecided)
            return Choice(int(left[0])) if len(left) else None
        score = self._score(relaxed.x)
        candidates = fractional[np.lexsort((fractional, -score[fractional]))][:CANDIDATES]
        best, best_score = Choice(int(candidates[0])), -1.0
        here = self._master.freeze()
        for column in map(int, candidates):
            choice, value = Choice(column), float(score[column])
            if self._tried[:, column].min() < RELIABLE:
                bounds = [self._try(column, answer, relaxed, lower, upper, here) for answer in (0, 1)]
                choice = Choice(column, *bounds)
                lifts = np.clip(np.array(bounds) - relaxed.bound, LEAST_LIFT, MAX_LIFT)
                value = float(lifts.prod()) if max(bounds) <= enough else np.inf
            if value > best_score:
                best, best_score = choice, value
            if value == np.inf:
                break
        self._master.fix(lower, upper)
        self._master.thaw(here)
        return best

    def _score(self, x: Floats) -> Floats:
        """Estimate the gain of each column from its past gains."""
        rates = []
        for gain, tried in zip(self._gain, self._tried, strict=True):
            seen = tried > 0
            mean = max(float((gain[seen] / tried[seen]).mean()), 1e-9) if seen.any() else 1.0
            rates.append(np.where(seen, gain / np.maximum(tried, 1), mean))
        return np.asarray(np.maximum(rates[0] * x, 1e-9) * np.maximum(rates[1] * (1 - x), 1e-9))

    def _try(
        self, column: int, answer: int, relaxed: Relaxed, lower: Floats, upper: Floats, here: Any
    ) -> float:
        """Return a bound of one child after a few simplex steps; it is weak but valid."""
        self._master.thaw(here)
        low, high = lower.copy(), upper.copy()
        (low if answer else high)[column] = answer
        self._master.fix(low, high)
        child = self._master.solve(steps=TRIAL_STEPS)
        lift = max(child.bound - relaxed.bound, 0.0)
        if np.isfinite(lift):
            distance = relaxed.x[column] if answer == 0 else 1 - relaxed.x[column]
            self._gain[answer, column] += lift / max(float(distance), 1e-3)
            self._tried[answer, column] += 1
        return child.bound


# Rounds of rows in a node; stalled if the bound gains less than a share of the gap.
NODE_ROUNDS = 12
STALL_ROUNDS, STALL_SHARE, SHORT_STALL = 6, 0.005, 2
# At a root with at most this many columns the tree, which may finish, gains more than rounds.
ROOT_STALL_SHARE, ROOT_COLUMNS = 0.03, 800
# Nodes between two attempts to repair a relaxed point, after the first few.
REPAIR_EVERY = 64
# On a dense tableau continue with a child while its bound is within this share of the gap.
PLUNGE = 0.3
# Neighbourhoods are searched while the free part of the pattern is this share above the bound.
FAR_OFF = 0.05
NO_LIMIT = 2**62

Report = Callable[[float, float], None]


@dataclass(order=True, slots=True)
class Node:
    """A node of the tree: the patterns with some cells suppressed and some published."""

    bound: float
    number: int
    withheld: Integers = field(compare=False)
    published: Integers = field(compare=False)
    rows: Integers = field(compare=False)


class BranchAndCut:
    """The tree over a connected instance; parameters as in :func:`hitoku.methods.optimal.search.search`."""

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
    ) -> None:
        self.instance, self.goal, self.budget = instance, goal, budget
        self.relaxation = Relaxation(instance, goal, budget, rows)
        self.branching = Branching(self.relaxation.master)
        self.best, self.value = start.copy(), goal.value(start)
        self.bound = self._bound_outside = self.relaxation.paid
        self._least = self.value
        self.possible = np.ones(len(instance), dtype=bool)
        self.nodes, self._most_nodes = 0, most_nodes
        self._report = report
        n_free = len(self.relaxation.free)
        self._lower, self._upper = np.zeros(n_free), np.ones(n_free)
        self._last: Relaxed | None = None
        # Whether this is a nested search, for a better pattern alone.
        self._inside = False
        # Points are repaired to find the least cost; this hardly ever breaks a tie.
        self._repairs = not goal.ties

    def _result(self, *, finished: bool, bound: float | None = None) -> SearchResult:
        bound = self.value if finished else min(self.bound if bound is None else bound, self.value)
        return SearchResult(self.best, self.value, bound, finished, self.possible, self.relaxation.rows())

    def report_progress(self) -> None:
        """Report bound and value; a nested search has no bound of its own and may start from less."""
        self._least = min(self._least, self.value)
        if self._report is not None:
            self._report(self._bound_outside if self._inside else self.bound, self._least)

    def _update_incumbent(self, pattern: Mask | None) -> None:
        """Make a safe pattern the incumbent if it is better."""
        if pattern is None or not self.goal.allows(pattern):
            return
        value, half = self.goal.value(pattern), 0.5 * self.goal.step
        equal = self.goal.ties and abs(value - self.value) < half
        if value < self.value - half or (equal and smaller(pattern, self.best)):
            self.best, self.value = pattern.copy(), value
            self.report_progress()

    def _fix_columns(
        self, relaxed: Relaxed, lower: Floats, upper: Floats, *, ties: bool
    ) -> tuple[Floats, Floats]:
        """Fix columns whose other value lifts the bound to the incumbent, by reduced cost."""
        slack = self.value - relaxed.bound - self.relaxation.paid
        slack += self.goal.within(self.value) if ties else -self.goal.gain(self.value)
        upper = np.where((lower == 0) & (relaxed.reduced > slack), 0.0, upper)
        lower = np.where((upper == 1) & (relaxed.reduced < -slack), 1.0, lower)
        return lower, upper

    def _cutting_planes(self, rounds: int, *, root: bool) -> Relaxed | None:
        """Alternate between solving the relaxation and adding cuts; None when the node is pruned."""
        history: list[float] = []
        relaxation = self.relaxation
        halved = relaxation.network or relaxation.dense is None
        relaxation.begin_node()
        while True:
            # Reduced costs at the end of a root exclude cells, so the root is solved to the end.
            relaxed, bound = relaxation.solve(np.inf if root else self.goal.enough(self.value))
            if root:
                self._last = relaxed
            if relaxed.status is SolverStatus.INFEASIBLE or self.goal.hopeless(bound, self.value):
                return None
            history.append(bound)
            if root:
                self.bound = max(self.bound, min(bound, self.value))
                self.report_progress()
            whole = bool(np.all(np.abs(relaxed.x - np.rint(relaxed.x)) < INTEGRAL))
            x = np.rint(relaxed.x) if whole else relaxed.x
            rows, safe = relaxation.separate(x, whole=whole, root=root)
            if whole and safe:
                self._update_incumbent(relaxation.pattern(x) > 0.5)
                return None if self.goal.hopeless(bound, self.value) else relaxed
            if not whole:
                # On a dense tableau they save more nodes than they cost time only in the trees of networks.
                if (root or halved) and (len(rows) < FEW or self._has_stalled(history, SHORT_STALL)):
                    rows += relaxation.halves(x)
                share = ROOT_STALL_SHARE if root and len(x) <= ROOT_COLUMNS else STALL_SHARE
                if not rows or len(history) > rounds or self._has_stalled(history, STALL_ROUNDS, share):
                    return relaxed
            relaxation.purge(relaxed, PURGE_ROOT if root else PURGE_NODE)
            relaxation.add(rows)

    def _has_stalled(self, history: list[float], rounds: int, share: float = STALL_SHARE) -> bool:
        """Return whether the bound gained little recently.

        Before a pattern is known the gap is meaningless; then the bound itself is the reference.
        """
        if len(history) <= rounds:
            return False
        gap = min(self.value - history[-1], 0.1 * (history[-1] - self.relaxation.paid))
        return history[-1] - history[-1 - rounds] < share * max(gap, self.goal.step)

    def _repair(self, x: Floats, also: Integers | None = None, spare: Mask | None = None) -> None:
        """Make a safe pattern from a fractional one, and the incumbent if it is better."""
        self._update_incumbent(repair_pattern(self.relaxation.engine, x, self.goal.cost, also, spare=spare))

    def far_off(self, share: float = FAR_OFF) -> bool:
        """Return whether the free part of the pattern is this share above the bound."""
        return self.value - self.bound >= share * (self.value - self.relaxation.paid)

    def explore(self, lower: Floats, upper: Floats, rows: Integers, nodes: int, *, repairs: bool) -> bool:
        """Search for a better pattern within bounds of the columns, from some rows; return whether it ended.

        Bounds proven within these limits do not apply to other patterns and are not kept.
        """
        outside = self._lower, self._upper, self.bound, self.nodes, self._most_nodes, self._repairs
        self._lower, self._upper, self.nodes, self._most_nodes = lower, upper, 0, nodes
        self._inside, self._bound_outside, self._repairs = True, self.bound, repairs
        self.relaxation.master.fix(lower, upper)
        self.relaxation.restore(rows)
        try:
            return self._branch_and_bound(self.relaxation.paid)
        finally:
            self._lower, self._upper, self.bound, self.nodes, self._most_nodes, self._repairs = outside
            self._inside = False

    def _between_nodes(self) -> bool:
        """Run other work between nodes; return whether the linear program has left the last node."""
        return False

    def _branch_and_bound(self, bound: float) -> bool:
        """Branch and bound, the node of least dual bound first; return whether the tree was completed."""
        none = np.zeros(0, dtype=np.int64)
        heap, count = [Node(bound, 0, none, none, none)], 0
        dive: Node | None = None
        dense = self.relaxation.dense is not None
        while heap or dive is not None:
            least = min(node.bound for node in [*heap[:1], *([] if dive is None else [dive])])
            self.bound = max(self.bound, min(least, self.value))
            if not self._inside:
                self.report_progress()
            if self.goal.hopeless(least, self.value):
                break
            close = self.value - self.bound <= self.budget.gap * self.value
            if self.nodes >= self._most_nodes or (self.budget.gap and close):
                return False
            elsewhere = not self._inside and self._between_nodes()
            node = heapq.heappop(heap) if dive is None else dive
            jump = node.number > 0 and (dive is None or elsewhere)
            dive = None
            self.nodes += 1
            children = []
            for child, withheld, published, rows in self._expand(node, jump=jump):
                count += 1
                children.append(Node(max(child, node.bound), count, withheld, published, rows))
            children.sort()
            if dense and children and children[0].bound <= least + PLUNGE * (self.value - least):
                # Near in every way: a warm start for the solver.
                dive = children.pop(0)
            for child_node in children:
                heapq.heappush(heap, child_node)
        return True

    def _expand(self, node: Node, *, jump: bool) -> list[tuple[float, Integers, Integers, Integers]]:
        """Solve a node; return its children, none if it is pruned."""
        lower, upper = self._lower.copy(), self._upper.copy()
        lower[node.withheld] = 1.0
        upper[node.published] = 0.0
        if np.any(lower > upper):
            return []
        relaxation = self.relaxation
        relaxation.master.fix(lower, upper)
        if jump:
            relaxation.restore(node.rows)
        relaxed = self._cutting_planes(NODE_ROUNDS, root=False)
        if relaxed is None:
            return []
        bound = relaxed.bound + relaxation.paid
        # The point of the first node is that of the root, which was repaired.
        early = self.nodes > 1 and self.nodes & (self.nodes - 1) == 0
        if self._repairs and (early or self.nodes % REPAIR_EVERY == 0):
            self._repair(relaxation.pattern(relaxed.x))
            if self.goal.hopeless(bound, self.value):
                return []
        lower, upper = self._fix_columns(relaxed, lower, upper, ties=self.goal.ties)
        enough = self.value - relaxation.paid - self.goal.gain(self.value)
        choice = self.branching.choose(relaxed, lower, upper, enough)
        withheld, published = np.flatnonzero(lower == 1), np.flatnonzero(upper == 0)
        if choice is None:
            # One pattern is left: this point, which is decided, or another, which is examined next.
            here = np.array_equal(lower, relaxed.x)
            return [] if here else [(bound, withheld, published, relaxation.active(relaxed))]
        children = [
            (choice.withheld, np.append(withheld, choice.column), published),
            (choice.published, withheld, np.append(published, choice.column)),
        ]
        rows = relaxation.active(relaxed)
        bounded = [(max(bound, child + relaxation.paid), one, zero, rows) for child, one, zero in children]
        return [child for child in bounded if not self.goal.hopeless(child[0], self.value)]
