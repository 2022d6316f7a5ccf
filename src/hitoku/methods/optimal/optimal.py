"""The cheapest pattern of withheld cells that meets every requirement, proven."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, ParameterError, SolverError, must_be_numbers
from hitoku.methods.costs import CostScale, costs
from hitoku.methods.greedy import Greedy
from hitoku.methods.keep import Keep, by_hand, kept, refuse_unsafe
from hitoku.methods.method import Progress, Traits
from hitoku.methods.optimal.budget import Budget, Trace
from hitoku.methods.optimal.pattern_check import refuse_unprotected
from hitoku.methods.optimal.presolve import presolve
from hitoku.methods.optimal.small import TwoWay, fits, pattern_of_small, two_way
from hitoku.methods.optimal.stages import minimise
from hitoku.methods.run import run
from hitoku.model import Attributions, Floats, Mask, Need, Protection, Table, frozen


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
        only the tie-break was left, with a proven cost but ``canonical=False``: perhaps another one of the
        cheapest patterns.
    gap
        Stop as soon as no pattern can be cheaper by a larger share than this.
    work_limit
        The same in attacker's problems and relaxations solved: a limit that is equal on every computer.
    start
        A pattern to begin with, from another method or from yesterday: a mask or a protection. What it lacks
        is added; a search that a limit ends never returns a dearer one. The answer of a search that runs to
        its end does not depend on it.

    Examples
    --------
    Table 1 of the matching attack's paper: the 4 and the 5 are too small to publish, and an outsider must
    not know either to within 9.

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
    time_limit_s: float | None = None
    gap: float = 0.0
    work_limit: int | None = None
    start: ArrayLike | Protection | None = None

    def __post_init__(self) -> None:
        must_be_numbers(self, "gap", "power", "time_limit_s", "work_limit")
        if not 0 <= self.gap < 1:
            raise ParameterError(
                "gap_range", "gap must lie in [0, 1)", where="gap", fix="give a share: 0.01 for one percent"
            )
        for name in ("time_limit_s", "work_limit"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ParameterError(
                    "not_positive",
                    "{name} must be positive",
                    where=name,
                    fix="leave it out for no limit",
                    name=name,
                )

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
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over real numbers; :func:`hitoku.methods.run.run` does the rest."""
        began = time.monotonic()
        cost = costs(table, self.cost, self.power)
        stay = kept(table, self.keep)
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
            # The pattern is worth judging all the same; whoever insists interrupts once more.
            refuse_unprotected(table, need, found)
        except SolverError as error:
            return self._mended(table, need, found, cost, error)
        return found

    def _mended(
        self, table: Table, need: Need, found: Protection, cost: Floats, error: SolverError
    ) -> Protection:
        """Go on cell by cell from a pattern that rounding called safe and the attack does not."""
        try:
            onwards = Greedy(cost=cost, keep=self.keep, start=found.withheld, prefer="closing")
            more = onwards.protect(table, need)
            refuse_unprotected(table, need, more)
        except (NeedError, SolverError):
            raise error from None
        note = "numbers of very different size: a heuristic went on from the pattern found"
        mended = protection(table, need, more.withheld, cost, proven=False, gap=np.nan, canonical=False)
        return replace(mended, note=note)

    def with_sums(self, table: Table, learnt: Attributions) -> Optimal:
        """Return the same method for a table with further cells, which are withheld at no cost."""
        nothing = np.zeros(len(learnt), dtype=np.bool_)
        stay = kept(table, self.keep)
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
        """Say how patterns of a small two-way table of counts compare; for attackers who know this method."""
        if self.power is not None or self.withhold is not None:
            return None
        return two_way(table, self.cost, kept(table, self.keep))

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
    """Wrap a pattern."""
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
