"""The cheapest suppression pattern that meets every requirement, with proof.

The stages are: starting pattern and root bound, least cost, the tie-break at that cost, and the attack that
the audit uses, because the result of the search is not trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks import Interval
from hitoku.errors import NeedError, SolverError
from hitoku.methods.costs import CostScale, costs
from hitoku.methods.greedy import Greedy
from hitoku.methods.keep import Keep, by_hand, kept_cells, refuse_unsafe
from hitoku.methods.method import Progress, Traits
from hitoku.methods.optimal.attacker_subproblems import subproblems_for
from hitoku.methods.optimal.cuts import star_cuts
from hitoku.methods.optimal.heuristics import complete_pattern, drop_redundant, first_patterns
from hitoku.methods.optimal.instance import UP, WIDTH, Budget, Instance, Stopped, Trace, pushes_for
from hitoku.methods.optimal.objective import REAL, Objective, SearchResult
from hitoku.methods.optimal.presolve import fix_cells, levels_of, presolve, restrict_cuts
from hitoku.methods.optimal.relaxation import Relaxation
from hitoku.methods.optimal.search import search
from hitoku.methods.optimal.small import TwoWay, fits, pattern_of_small, two_way
from hitoku.methods.run import run
from hitoku.model import Attributions, Floats, Mask, Need, Protection, Release, Table, frozen, level_slack
from hitoku.parameters import Count, Gap, Limit, check_parameters

# Added to integer costs when a linear program compares them.
WHOLE_SLACK = 1e-3
# Up to this sum cost and tie-break are minimised together, exact in doubles with a margin for rounding.
LARGEST_SUM = 2.0**46


def minimise(instance: Instance, grid: CostScale, budget: Budget, start: Mask | None = None) -> SearchResult:
    """Minimise the cost, then the tie-break among patterns of that cost.

    At any limit or interruption the best known pattern is returned: finished, if its cost is
    proven already; canonical, if the tie-break is decided too.
    """
    goal = Objective(instance.weight, 1.0 if grid.whole else 0.0)
    everything = np.ones(len(instance), dtype=bool)
    rows = star_cuts(instance)
    found = SearchResult(
        everything, goal.value(everything), goal.value(instance.forced), False, everything, rows
    )
    try:
        # Bound and pattern are cheap; both are available before any long computation.
        bound = Relaxation(instance, goal, Budget(), rows).solve()[1]
        found = replace(found, bound=min(bound, found.value))
        for pattern in _patterns(instance, goal, budget, start):
            if goal.value(pattern) < found.value:
                found = replace(found, pattern=pattern, value=goal.value(pattern))
            budget.report(found.bound, found.value)
        first = search(instance, goal, budget, found.pattern, rows=rows, report=budget.report, core=True)
        found = replace(first, bound=max(first.bound, found.bound))
        budget.report(found.bound, found.value)
        if found.finished:
            found = break_ties(instance, goal, found, budget)
    except Stopped:
        pass
    except KeyboardInterrupt:
        budget.interrupted = True
    return found


def _patterns(instance: Instance, goal: Objective, budget: Budget, start: Mask | None) -> Iterator[Mask]:
    """Yield safe patterns: from the given start, then from heuristics."""
    engine = subproblems_for(instance, budget)
    if start is not None:
        # A given start is used at any limit; only its tidying is counted.
        patient = subproblems_for(instance, Budget())
        given = (start | instance.forced).astype(np.float64)
        safe = complete_pattern(patient, given, goal.cost, instance.free)
        if safe is not None:
            yield safe
            yield drop_redundant(engine, safe, goal.cost, safe)
    yield from first_patterns(engine, goal.cost)


def break_ties(instance: Instance, goal: Objective, first: SearchResult, budget: Budget) -> SearchResult:
    """Return, of all patterns that cost as much as the one found, the one that the tie-break selects."""
    narrow = fix_cells(instance, first.possible | first.pattern, np.zeros(0, dtype=np.int64))
    if narrow is None:
        raise SolverError(
            "pattern_lost", "the search lost its own pattern", where="optimal", fix="report this"
        )
    cells = np.isin(instance.cells, narrow.cells)
    start = first.pattern[cells]
    known = float(narrow.tie[start].sum())
    if goal.step and first.value * (known + 1) < LARGEST_SUM:
        # No pattern costs less, so one unit of cost need only outweigh the known sum.
        second_goal = Objective(narrow.weight * (known + 1) + narrow.tie, 1.0, ties=True)
    else:
        # Integer costs tie exactly; the fraction only absorbs the solver's tolerance.
        most = first.value + WHOLE_SLACK if goal.step else first.value * (1 + REAL)
        second_goal = Objective(narrow.tie.astype(np.float64), 1.0, ties=True, other=narrow.weight, most=most)
    rows = restrict_cuts(first.rows, instance, narrow)
    second = search(narrow, second_goal, replace(budget, gap=0.0), start, rows=rows)
    pattern = np.zeros(len(instance), dtype=bool)
    pattern[cells] = second.pattern
    return replace(first, pattern=pattern, value=goal.value(pattern), canonical=second.finished)


def refuse_unprotected(table: Table, need: Need, found: Protection) -> None:
    """Raise if a pattern does not meet the requirement of an unsafe cell."""
    low, high, wide = _targets(table, need, found)
    below, above = Interval().meets(Release.of(table, found), low, high)
    short = np.flatnonzero(need.unsafe & ~(below & above & wide))
    if len(short):
        raise SolverError(
            "pattern_leaves_cells_short",
            "the pattern found leaves {n} unsafe cell(s) short of what they need",
            where="first cell {cell}",
            fix="look for values of very different size in one table; report it if there are none",
            n=len(short),
            cell=table.describe(int(short[0])),
        )


def _targets(table: Table, need: Need, found: Protection) -> tuple[Floats, Floats, Mask]:
    """Return required bounds of every unsafe cell, and whether they satisfy its requirements.

    The search's own pushes determine how a width is split: the attack then only confirms two
    values, which for a large table is much less work than finding all ends.
    """
    low = np.where(need.unsafe, table.value - need.lower, np.nan)
    high = np.where(need.unsafe, table.value + need.upper, np.nan)
    levels = levels_of(table, need)
    levels = levels.take(levels.side == WIDTH)
    if len(levels):
        nothing = np.zeros(table.n_cells, dtype=np.int64)
        whole = Instance(
            cells=np.arange(table.n_cells),
            relations=table.relations,
            up=table.upper - table.value,
            down=table.value - table.lower,
            forced=found.withheld,
            weight=nothing.astype(np.float64),
            tie=nothing,
            levels=levels,
        )
        inside = whole.kept(found.withheld)
        pushed = subproblems_for(inside, Budget()).push(
            np.ones(len(inside)), *pushes_for(inside, np.arange(len(levels))), exact=True
        )
        cell, up = levels.cell[pushed.level], pushed.sense == UP
        np.maximum.at(high, cell[up], table.value[cell[up]] + pushed.reach[up])
        np.minimum.at(low, cell[~up], table.value[cell[~up]] - pushed.reach[~up])
    # The attack confirms both ends; here it is checked that such ends meet the need of the cell.
    with np.errstate(invalid="ignore"):
        asked = np.maximum(np.maximum(need.lower, need.upper), need.width)
        rounding = level_slack(table.value, asked)
        return low, high, need.met_by(table.value - low, high - table.value, rounding)


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimal:
    """Suppress the cells of least total cost such that every unsafe cell is protected as required.

    Any linear relations, real costs. One input has one answer: of several cheapest patterns the one with the
    least sum of numbers hashed from the cells' codes is chosen, then the lexicographically smallest
    (:mod:`hitoku.methods.optimal.objective`).

    Parameters
    ----------
    cost
        Cost of suppressing a cell: "unit", "value", "frequency", "own" (the table's cost column), "log",
        or one number per cell.
    power
        Exponent of the costs; zero stands for log(1 + cost).
    keep
        Cells that stay published, in addition to the table's fixed ones: a mask, or "margins" for every
        total.
    withhold
        Mask of additional cells that are suppressed in any case.
    time_limit_s
        Seconds after which the best known pattern is returned: with ``proven=False`` and its gap or, if
        only the tie-break was left, with a proven cost but ``canonical=False``: possibly another one of the
        cheapest patterns.
    gap
        Stop as soon as no pattern can be cheaper by more than this share.
    work_limit
        The same in attacker subproblems and relaxations solved: a limit that is equal on every computer.
    start
        Initial pattern, from another method or an earlier run: a mask or a protection. Missing cells are
        added; a search that reaches a limit never returns a more expensive one. The answer of a completed
        search does not depend on it.

    Examples
    --------
    Table 1 of the matching attack's paper: the 4 and the 5 are too small to publish, and an outsider must
    not be able to infer either within 9.

    >>> table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    >>> need = Need(unsafe=table.value == 0, width=9)
    >>> Optimal(cost="unit", keep="margins").protect(table, need)
    Protection(4 of 25 cells withheld, 3 of them secondary, by optimal)
    """

    traits: ClassVar[Traits] = Traits(
        decides_again=True, prices=("cost", "power"), keeps=("keep",), start="withhold"
    )

    cost: str | ArrayLike = "unit"
    power: float | None = None
    keep: Keep | ArrayLike | None = None
    withhold: ArrayLike | None = None
    time_limit_s: Limit | None = None
    gap: Gap = 0.0
    work_limit: Count | None = None
    start: ArrayLike | Protection | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Find the pattern.

        Parameters
        ----------
        table, need
            Table, and its requirements.
        progress
            Called with the bound and the cost of the best known pattern: what is proven so far, and what
            is to be proven.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        began = time.monotonic()
        cost = costs(table, self.cost, self.power)
        stay = kept_cells(table, self.keep)
        refuse_unsafe(table, need, stay)
        start = None if self.start is None else by_hand(table, self.start, stay)
        withhold = np.zeros(table.n_cells, dtype=bool)
        if self.withhold is not None:
            withhold |= frozen(self.withhold, np.bool_, shape=(table.n_cells,), what="withhold")
        found = self._small(table, need, cost, stay, withhold)
        if found is None:
            budget = self._budget(began)
            found = self._general(table, need, cost, stay, withhold, budget, progress, start)
        try:
            refuse_unprotected(table, need, found)
        except KeyboardInterrupt:
            # The pattern is checked even after an interruption; a second one ends the check.
            refuse_unprotected(table, need, found)
        except SolverError as error:
            return self._continue_by_cells(table, need, found, cost, error)
        return found

    def _continue_by_cells(
        self, table: Table, need: Need, found: Protection, cost: Floats, error: SolverError
    ) -> Protection:
        """Continue cell by cell from a pattern that rounding called safe and the attack does not."""
        try:
            onwards = Greedy(cost=cost, keep=self.keep, start=found.withheld, prefer="closing")
            more = onwards.protect(table, need)
            refuse_unprotected(table, need, more)
        except (NeedError, SolverError):
            raise error from None
        note = "numbers of very different size: a heuristic went on from the pattern found"
        continued = protection(table, need, more.withheld, cost, proven=False, gap=np.nan, canonical=False)
        return replace(continued, note=note)

    def with_sums(self, table: Table, learnt: Attributions) -> Optimal:
        """Return the method for a table with additional cells, which are suppressed at no cost."""
        nothing = np.zeros(len(learnt), dtype=np.bool_)
        stay = kept_cells(table, self.keep)
        start = None if self.start is None else by_hand(table, self.start, stay)
        return replace(
            self,
            cost=np.append(costs(table, self.cost, self.power), nothing),
            power=None,
            keep=np.append(stay, nothing),
            withhold=None if self.withhold is None else np.append(np.asarray(self.withhold), nothing),
            start=None if start is None else np.append(start, ~nothing),
        )

    def two_way(self, table: Table) -> TwoWay | None:
        """Return the comparison of patterns of a small two-way table; for attackers who know this method."""
        if self.power is not None or self.withhold is not None:
            return None
        return two_way(table, self.cost, kept_cells(table, self.keep))

    def _small(self, table: Table, need: Need, cost: Floats, stay: Mask, withhold: Mask) -> Protection | None:
        if not fits(table, stay) or np.any(withhold & stay):
            return None
        withheld = pattern_of_small(table, need, cost, stay, withhold)
        return None if withheld is None else protection(table, need, withheld, cost)

    def _general(
        self,
        table: Table,
        need: Need,
        cost: Floats,
        stay: Mask,
        withhold: Mask,
        budget: Budget,
        progress: Progress | None = None,
        start: Mask | None = None,
    ) -> Protection:
        instance = presolve(table, need, cost, keep=stay, withhold=withhold)
        grid = CostScale.of(instance.weight)
        withheld = need.unsafe | withhold
        if not len(instance.levels):
            return protection(table, need, withheld, cost)
        paid = float(cost[withheld].sum() - instance.weight[instance.forced].sum())
        trace = Trace()

        def report(bound: float, best: float) -> None:
            bound, best = bound * grid.unit + paid, best * grid.unit + paid
            trace.note(budget.work, bound, best)
            if progress is not None:
                progress(bound, best)

        budget.report = report
        given = None if start is None else start[instance.cells]
        found = minimise(replace(instance, weight=grid.weight), grid, budget, given)
        withheld[instance.cells[found.pattern]] = True
        total = found.value * grid.unit + paid
        gap = 0.0 if found.finished or not total else (found.value - found.bound) * grid.unit / total
        trace.note(budget.work, found.bound * grid.unit + paid, total)
        made = protection(
            table, need, withheld, cost, proven=found.finished, gap=gap, canonical=found.canonical
        )
        return replace(made, trace=tuple(trace.points))

    def _budget(self, began: float) -> Budget:
        def used(work: int) -> float:
            shares = [0.0]
            if self.time_limit_s is not None:
                shares.append((time.monotonic() - began) / self.time_limit_s)
            if self.work_limit is not None:
                shares.append(work / self.work_limit)
            return max(shares)

        return Budget(used, gap=self.gap)


def protection(
    table: Table,
    need: Need,
    withheld: Mask,
    cost: Floats,
    *,
    proven: bool = True,
    gap: float = 0.0,
    canonical: bool = True,
) -> Protection:
    """Return the protection of a pattern."""
    return Protection(
        withheld=withheld,
        value=table.value,
        secondary=withheld & ~need.unsafe,
        cost=float(cost[withheld].sum()),
        proven=proven,
        gap=gap,
        canonical=canonical,
        method="optimal",
    )
