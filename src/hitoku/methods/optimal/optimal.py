"""The cheapest pattern of withheld cells that meets every requirement, proven."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from hitoku.attacks.interval import Interval
from hitoku.errors import ParameterError, SolverError
from hitoku.methods.costs import Grid, costs
from hitoku.methods.keep import Keep, kept, refuse_unsafe
from hitoku.methods.method import Progress
from hitoku.methods.optimal.goal import REAL, Budget, Found, Goal
from hitoku.methods.optimal.instance import Instance
from hitoku.methods.optimal.narrowing import carried, narrowed
from hitoku.methods.optimal.presolve import presolve
from hitoku.methods.optimal.search import Search
from hitoku.methods.optimal.small import fits, pattern_of_small
from hitoku.model.arrays import Floats, Mask, frozen
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.model.tolerance import BOUND

# Added to whole costs where a linear program compares them.
WHOLE_SLACK = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimal:
    """Withhold the cells of least total cost such that every unsafe cell is blurred as far as it needs.

    Any linear relations, real costs. One input has one answer: of several cheapest patterns the one with the
    least sum of numbers hashed from the cells' codes is taken, then the lexicographically smallest
    (:mod:`hitoku.methods.optimal.tie_break`).

    Parameters
    ----------
    cost
        What withholding a cell costs: "unit", "value", "frequency", "own" (the table's cost column), "log",
        or one number per cell.
    power
        Raises costs to this power; zero stands for log(1 + cost).
    keep
        Cells that stay published besides the table's fixed ones: a mask, or "margins" for every cell that is
        a sum.
    withhold
        Mask of further cells that are withheld in any case.
    time_limit_s
        Seconds after which the best pattern known is returned: with ``proven=False`` and its gap, or, when
        only the tie-break was left, with a proven cost but perhaps another one of the cheapest patterns.
    gap
        Stop as soon as no pattern can be cheaper by a larger share than this.
    work_limit
        Attacker's problems solved at most: a limit that is the same on every computer.

    Examples
    --------
    Table 1 of the matching attack's paper: the 4 and the 5 are too small to publish, and an outsider must
    not know either to within 9.

    >>> table = Table.from_array([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    >>> need = Need(unsafe=table.value == 0, width=9)
    >>> Optimal(cost="unit", keep="margins").protect(table, need)
    Protection(4 of 25 cells withheld, 3 of them secondary, by optimal)
    """

    cost: str | ArrayLike = "unit"
    power: float | None = None
    keep: Keep | ArrayLike | None = None
    withhold: ArrayLike | None = None
    time_limit_s: float | None = None
    gap: float = 0.0
    work_limit: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.gap < 1:
            raise ParameterError(
                "gap must lie in [0, 1)", where="gap", fix="give a share: 0.01 for one percent"
            )
        for name in ("time_limit_s", "work_limit"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ParameterError(f"{name} must be positive", where=name, fix="leave it out for no limit")

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Find the pattern.

        Parameters
        ----------
        table, need
            What to protect.
        progress
            Called with the bound and the cost of the best pattern known: what is proven so far, and what
            is to be proven.
        """
        cost = costs(table, self.cost, self.power)
        stay = kept(table, self.keep)
        refuse_unsafe(table, need, stay)
        withhold = np.zeros(table.n_cells, dtype=bool)
        if self.withhold is not None:
            withhold |= frozen(self.withhold, np.bool_, shape=(table.n_cells,), what="withhold")
        found = self._small(table, need, cost, stay, withhold)
        if found is None:
            found = self._general(table, need, cost, stay, withhold, progress)
        refuse_unprotected(table, need, found)
        return found

    def _small(self, table: Table, need: Need, cost: Floats, stay: Mask, withhold: Mask) -> Protection | None:
        if not fits(table, stay) or np.any(withhold & stay):
            return None
        withheld = pattern_of_small(table, need, cost, stay, withhold)
        return None if withheld is None else protection(table, need, withheld, cost, proven=True, gap=0.0)

    def _general(
        self,
        table: Table,
        need: Need,
        cost: Floats,
        stay: Mask,
        withhold: Mask,
        progress: Progress | None,
    ) -> Protection:
        instance = presolve(table, need, cost, keep=stay, withhold=withhold)
        grid = Grid.of(instance.weight)
        withheld = need.unsafe | withhold
        if not len(instance.levels):
            return protection(table, need, withheld, cost, proven=True, gap=0.0)
        paid = float(cost[withheld].sum() - instance.weight[instance.forced].sum())
        budget = self._budget(progress, paid, grid.unit)
        found = cheapest(replace(instance, weight=grid.weight), grid, budget)
        withheld[instance.cells[found.pattern]] = True
        total = found.value * grid.unit + paid
        gap = 0.0 if found.finished or not total else (found.value - found.bound) * grid.unit / total
        return protection(table, need, withheld, cost, proven=found.finished, gap=gap)

    def _budget(self, progress: Progress | None, paid: float, unit: float) -> Budget:
        began = time.monotonic()

        def late(work: int) -> bool:
            over = self.time_limit_s is not None and time.monotonic() - began > self.time_limit_s
            return over or (self.work_limit is not None and work > self.work_limit)

        def report(bound: float, best: float) -> None:
            if progress is not None:
                progress(bound * unit + paid, best * unit + paid)

        return Budget(late, report, self.gap)


def cheapest(instance: Instance, grid: Grid, budget: Budget) -> Found:
    """Minimise the cost, then the tie-break among patterns of that cost.

    Finished means that the cost is proven; a limit hit later leaves one of the cheapest patterns.
    """
    goal = Goal(instance.weight, 1.0 if grid.whole else 0.0)
    first = Search(instance, goal, budget, np.ones(len(instance), dtype=bool)).run()
    budget.report(first.bound, first.value)
    if not first.finished:
        return first
    narrow = narrowed(instance, first.possible | first.pattern, np.zeros(0, dtype=np.int64))
    if narrow is None:
        raise SolverError("the search lost its own pattern", where="optimal", fix="report this")
    cells = np.isin(instance.cells, narrow.cells)
    # Whole costs tie exactly; the fraction only keeps the solver's tolerance out of it.
    most = first.value + WHOLE_SLACK if grid.whole else first.value * (1 + REAL)
    second = Search(
        narrow,
        Goal(narrow.tie.astype(np.float64), 1.0, ties=True, other=narrow.weight, most=most),
        replace(budget, report=lambda _bound, _best: None, gap=0.0),
        first.pattern[cells],
        rows=carried(first.rows, instance, narrow),
    ).run()
    pattern = np.zeros(len(instance), dtype=bool)
    pattern[cells] = second.pattern
    return replace(first, pattern=pattern, value=goal.value(pattern))


def refuse_unprotected(table: Table, need: Need, found: Protection) -> None:
    """Judge the pattern afresh, by the attack that an audit uses: no search is trusted, ours neither."""
    release = Release.of(table, found)
    low = np.where(need.unsafe, table.value - need.lower, np.nan)
    high = np.where(need.unsafe, table.value + need.upper, np.nan)
    below, above = Interval().meets(release, low, high)
    fine = below & above
    if np.any(need.width > 0):
        fine &= Interval().bounds(release).width >= need.width - BOUND * np.maximum(1.0, np.abs(table.value))
    short = np.flatnonzero(need.unsafe & ~fine)
    if len(short):
        raise SolverError(
            f"the pattern found leaves {len(short)} unsafe cell(s) short of what they need",
            where=f"first cell {table.describe(int(short[0]))}",
            fix="look for values of very different size in one table; report it if there are none",
        )


def protection(
    table: Table, need: Need, withheld: Mask, cost: Floats, *, proven: bool, gap: float
) -> Protection:
    """Wrap a pattern."""
    return Protection(
        withheld=withheld,
        value=table.value,
        secondary=withheld & ~need.unsafe,
        cost=float(cost[withheld].sum()),
        proven=proven,
        gap=gap,
        method="optimal",
    )
