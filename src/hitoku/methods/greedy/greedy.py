"""Greedy secondary suppression: one cell at a time, the smallest where the fewest are suppressed.

The secondary stage of ``suppressFT`` (Kikuchi and Minami 2017, section 4.3: units, shares of rows, shares of
columns, then cells one by one until every interval is wide enough), for cells in any linear relations.
Choices that the paper leaves open are fixed in :class:`Greedy`, so that a table and a need give one pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import NeedError, SolverError, some
from hitoku.feasibility import PUSH_WORK_LIMIT
from hitoku.messages import Text
from hitoku.methods.costs import costs
from hitoku.methods.greedy.incremental_audit import IncrementalAudit, unnecessary
from hitoku.methods.keep import Keep, by_hand, kept_cells, publish_redundant, refuse_unsafe
from hitoku.methods.method import Progress, Traits
from hitoku.methods.run import run
from hitoku.methods.tuning import GREEDY
from hitoku.model import Floats, Integers, Mask, Need, Protection, Reason, Step, Table
from hitoku.parameters import LimitOrZero, check_parameters, shown_parameters
from hitoku.solver.solution import MINUTES, CountedWork

Prefer = Literal["smallest", "closing"]
Record = Literal["auto", "cells", "full"]
Every = Literal["unsafe", "withheld"]
STOPPED = "tidying stopped at its work limit: a longer search may withhold less"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Greedy:
    """Suppress the smallest cell of the relation with the fewest suppressed cells, until every need is met.

    All unsafe cells are suppressed first. While one of them is *open* (it could be inferred too closely,
    or exactly), one more cell is suppressed for it, searched in this order:

    1. in a relation of the open cell that has no other suppressed cell, because that discloses it;
    2. in a relation with a single suppressed cell among all relations connected with the open one,
       because a disclosed cell protects nothing;
    3. in its own relation with the fewest suppressed cells;
    4. if no cell is left there, one relation further away, and so on; again with the fewest.

    Ties go to the cheapest cell, then to the first in the order of the table. Open cells are
    processed in the order of the table, those disclosed as in 1 before all others, and each until it is
    met. Suppressing more never narrows an interval, so requirements that are met stay met.

    A suppressed zero may protect, because an outsider cannot know it is zero; but a structural zero
    protects nothing. So 2 to 4 are tried without zeros first, and with zeros only if no other cell is
    left. Cells that an outsider's bounds fix never help and are not considered.

    Parameters
    ----------
    cost
        Size of a cell: "value", "unit", "frequency", "own" (the table's cost column), "log", or one
        number per cell.
    keep
        Cells that stay published: a mask, or "margins". The table's ``fixed`` cells always do.
    start
        Cells suppressed manually. They stay suppressed; missing ones are added.
    tidy
        Finally publish cells that turned out unnecessary, the most expensive first.
    prefer
        "smallest" as in the paper; "closing": before cost, the cell that is new to the fewest relations.
        It needs fewer cells, since they end chains instead of prolonging them; their cost may be higher.
    every
        Cells whose intervals must be wide: "unsafe" cells, as the need requires; or, as in the paper, all
        "withheld" cells: secondary ones as wide as the unsafe cell with the smallest requirement. Secondary
        cells that can be derived anyway are published again in any case.
    record
        "cells": steps record the suppressed cell, the reason and the protected cell. "full": also the
        interval of the protected cell before and after, up to two linear programs per step. "auto": "full"
        for tables of up to 3000 cells.
    work_limit
        Work limit of the programs of ``tidy``, the same on every computer. Cells that were not tried by then
        stay suppressed, and ``note`` reports it. None: no limit.

    Examples
    --------
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> need = Need(unsafe=table.value == 7, width=11)
    >>> protection = Greedy(tidy=True).protect(table, need)
    >>> np.where(protection.withheld, "x", ".").reshape(4, 4)[:3, :3].tolist()
    [['x', '.', 'x'], ['x', '.', 'x'], ['.', '.', '.']]
    >>> protection.steps[0]
    Step(cell 4 for cell 0: it is the only withheld cell of a relation)
    """

    traits: ClassVar[Traits] = Traits(prices=("cost",), keeps=("keep",), start="start")

    cost: str | ArrayLike = "value"
    keep: Keep | ArrayLike | None = None
    start: ArrayLike | Protection | None = None
    tidy: bool = False
    prefer: Prefer = "smallest"
    record: Record = "auto"
    every: Every = "unsafe"
    work_limit: LimitOrZero | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __repr__(self) -> str:
        return shown_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Suppress cells until every unsafe one is protected as the need requires.

        Parameters
        ----------
        table
            Table to protect.
        need
            Unsafe cells, and their required protection.
        progress
            Called with the number of unsafe cells met and their total; with ``tidy`` then with the cells
            tried.

        Raises
        ------
        NeedError
            If a cell cannot be protected by any pattern; the error names the cells.
        SolverError
            If the search reached its work limit first.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        found = self._walk(table, need, progress)
        while self.every == "withheld" and found.secondary.any():
            more = self._walk(table, _of_all(need, found), progress, found.withheld)
            steps = (*found.steps, *more.steps)
            settled = bool(np.array_equal(more.withheld, found.withheld))
            secondary = more.withheld & ~need.unsafe
            found = replace(more, secondary=secondary, steps=steps)
            if settled:
                break
        return found

    def _walk(
        self, table: Table, need: Need, progress: Progress | None, so_far: Mask | None = None
    ) -> Protection:
        """Run one walk for the unsafe cells of a need, from a pattern or from cells given in ``start``."""
        cost = costs(table, self.cost)
        stay = kept_cells(table, self.keep)
        refuse_unsafe(table, need, stay)
        start = by_hand(table, self.start if so_far is None else so_far, stay)
        first = need.unsafe | start
        eligible = ~stay & (table.upper > table.lower)
        refuse_hopeless(table, need, eligible | first)
        walk = Walk(table, need, first, eligible, cost, self.prefer)
        steps = list(walk.steps(progress))
        if self.record == "full" or (self.record == "auto" and table.n_cells <= GREEDY.max_recorded):
            steps = with_intervals(table, need, first, steps)
        withheld, note = np.array(walk.audit.pattern.withheld), ""
        if self.tidy:
            spare = withheld & ~need.unsafe & ~start
            work = CountedWork(np.inf if self.work_limit is None else self.work_limit)
            cells = unnecessary(
                table, need, withheld, removable=spare, cost=cost, progress=progress, work=work
            )
            note = STOPPED if work.over else ""
            withheld[cells] = False
            steps += [Step(int(cell), Reason.UNNECESSARY) for cell in cells]
        found = Protection(
            withheld=withheld,
            value=table.value,
            secondary=withheld & ~need.unsafe,
            cost=float(cost[withheld].sum()),
            method="greedy",
            steps=tuple(steps),
            note=note,
        )
        return publish_redundant(table, need, found, cost, start)


def _of_all(need: Need, found: Protection) -> Need:
    """Require for secondary cells the smallest width that is required of an unsafe cell."""
    width = np.maximum(need.width, need.lower + need.upper)
    least = float(width[need.unsafe].min(initial=np.inf))
    return Need(
        unsafe=need.unsafe | found.secondary,
        lower=need.lower,
        upper=need.upper,
        width=np.where(found.secondary, least if np.isfinite(least) else 0.0, need.width),
    )


class Walk:
    """One run: the pattern so far, and where to search next."""

    def __init__(
        self, table: Table, need: Need, first: Mask, eligible: Mask, cost: Floats, prefer: Prefer
    ) -> None:
        self.audit = IncrementalAudit(table, need, first, work=CountedWork(MINUTES))
        self._table = table
        self._unsafe = np.flatnonzero(need.unsafe)
        self._prefer = prefer
        # One number per cell: zeros last, then by cost, then by position.
        order = np.lexsort((np.arange(table.n_cells), cost, table.value == 0))
        self._rank = np.empty(table.n_cells, dtype=np.int64)
        self._rank[order] = np.arange(table.n_cells)
        choice = eligible & ~first
        tally = self.audit.pattern.tally
        # Candidates, and their number per relation; first without zeros, then with them.
        self._tiers = [(mask, tally(mask)) for mask in (choice & (table.value != 0), choice)]

    def steps(self, progress: Progress | None) -> Iterator[Step]:
        """Suppress cell after cell until all unsafe ones are met."""
        for cell in self._unsafe:
            while len(given_away := self._alone(int(cell))):
                yield self._withhold(self._smallest(given_away), int(cell), given_away, Reason.ALONE)
        n_unsafe, done = len(self._unsafe), 0
        try:
            self.audit.show(self._unsafe)
            for done, cell in enumerate(self._unsafe):
                while not self.audit.met(int(cell)):
                    if self.audit.work.over:
                        raise not_decided(n_unsafe - done, n_unsafe)
                    relations, reason, tier = self._where(int(cell))
                    yield self._withhold(self._smallest(relations, tier), int(cell), relations, reason)
                if progress is not None:
                    progress(done + 1, n_unsafe)
        except SolverError as error:
            if error.code != PUSH_WORK_LIMIT:
                raise
            raise not_decided(n_unsafe - done, n_unsafe) from error

    def _alone(self, cell: int) -> Integers:
        """Return relations that disclose a cell; if any has a candidate that is not zero, only those."""
        rows = self.audit.pattern.relations_of(cell)
        rows = np.asarray(rows[self.audit.pattern.count[rows] == 1])
        if not len(rows):
            return rows
        (_, left), (_, left_with_zeros) = self._tiers
        if np.any(left_with_zeros[rows] == 0):
            raise unreachable(self._table, [cell])
        usable = left[rows] > 0
        return np.asarray(rows[usable]) if usable.any() else rows

    def _where(self, cell: int) -> tuple[Integers, Reason, int]:
        """Return relations in which to search for a cell to suppress for an open one."""
        pattern = self.audit.pattern
        own = pattern.relations_of(cell)
        for tier, (_, left) in enumerate(self._tiers):
            single = (pattern.count == 1) & (left > 0) & (pattern.group == pattern.group_of(cell))
            if single.any():
                return np.flatnonzero(single), Reason.TIED, tier
            for distance, ring in enumerate(self._rings(own)):
                usable = ring[left[ring] > 0]
                if len(usable):
                    fewest = usable[pattern.count[usable] == pattern.count[usable].min()]
                    return fewest, Reason.FURTHER if distance else Reason.NARROW, tier
        raise unreachable(self._table, [cell])

    def _rings(self, own: Integers) -> Iterator[Integers]:
        """Yield relations of a cell, then those that share a movable cell with them, and so on outwards."""
        pattern = self.audit.pattern
        seen = np.zeros(len(pattern.count), dtype=bool)
        ring = own
        while len(ring):
            yield ring
            seen[ring] = True
            cells = np.unique(pattern.relations.cells_of(ring))
            reached = np.unique(pattern.relations.rows_of(cells[pattern.loose[cells]]))
            ring = reached[~seen[reached]]

    def _smallest(self, relations: Integers, tier: int = 1) -> int:
        """Return the preferred candidate in these relations."""
        pattern = self.audit.pattern
        cells = np.unique(pattern.relations.cells_of(relations))
        cells = cells[self._tiers[tier][0][cells]]
        if self._prefer == "closing":
            # Zeros come last: fewest new relations among cells that are not zero, if there are any.
            nonzero = cells[self._tiers[0][0][cells]]
            cells = nonzero if len(nonzero) else cells
            rows = pattern.relations.rows_of(cells)
            degree = pattern.relations.degree[cells]
            new = np.add.reduceat((pattern.count[rows] == 0).astype(np.int64), np.cumsum(degree) - degree)
            cells = cells[new == new.min()]
        return int(cells[np.argmin(self._rank[cells])])

    def _withhold(self, cell: int, protects: int, relations: Integers, reason: Reason) -> Step:
        own = self.audit.pattern.relations_of(cell)
        for mask, left in self._tiers:
            if mask[cell]:
                mask[cell] = False
                left[own] -= 1
        self.audit.withhold(cell)
        relation = int(np.intersect1d(own, relations)[0])
        return Step(cell, reason, relation=relation, protects=protects)


def with_intervals(table: Table, need: Need, first: Mask, steps: list[Step]) -> list[Step]:
    """Repeat the steps and add their effect on the interval of the protected cell.

    Steps beyond the work limit have no intervals.
    """
    audit = IncrementalAudit(table, need, first, work=CountedWork(MINUTES))
    extended_steps: list[Step] = []
    try:
        for place, step in enumerate(steps):
            repeated = place > 0 and steps[place - 1].protects == step.protects
            before = extended_steps[-1].after if repeated else audit.interval(step.protects)
            audit.withhold(step.cell)
            extended_steps.append(replace(step, before=before, after=audit.interval(step.protects)))
    except SolverError as error:
        if error.code != PUSH_WORK_LIMIT:
            raise
    return extended_steps + steps[len(extended_steps) :]


def not_decided(n_open: int, n_unsafe: int) -> SolverError:
    """Make the error for a walk that ends without a pattern."""
    return SolverError(
        "greedy_work_limit",
        "not decided: the search reached its work limit with {n_open} of {n_unsafe} unsafe cells open",
        where="method greedy",
        fix="protect fewer linked tables at once, merge codes, or name another method, such as gauss",
        n_open=n_open,
        n_unsafe=n_unsafe,
    )


def refuse_hopeless(table: Table, need: Need, withholdable: Mask) -> None:
    """Raise if limits show that some cells stay open even if all eligible cells are suppressed."""
    audit = IncrementalAudit(table, need, withholdable)
    lower, upper = audit.limits()
    unsafe = np.flatnonzero(need.unsafe)
    places = unsafe[~audit.enough(unsafe, -lower[unsafe], upper[unsafe])]
    if not len(places):
        return
    down, up = (table.value - table.lower)[unsafe], (table.upper - table.value)[unsafe]
    known = unsafe[~audit.enough(unsafe, down, up)]
    if len(known):
        raise NeedError(
            "known_bounds_too_close",
            "{n} cell(s) cannot reach their protection: bounds that an outsider knows are closer",
            where="cells {cells}",
            fix="require lower levels, or widen the table's lower and upper bounds if they are not known",
            n=len(known),
            cells=some((table.describe(int(p)) for p in known[:4]), 3),
        )
    raise unreachable(table, places.tolist())


def unreachable(table: Table, cells: list[int]) -> NeedError:
    """Make the error for cells that no pattern can protect."""
    named = some((table.describe(p) for p in cells[:4]), 3)
    return NeedError(
        "protection_out_of_reach",
        "a cell cannot reach its protection, though everything in reach is withheld that may be"
        if len(cells) == 1
        else "{n} cells cannot reach their protection, though everything in reach is withheld that may be",
        where=Text("cells {cells}", cells=named) if len(cells) > 1 else Text("cell {cell}", cell=named),
        fix="allow more suppression (keep, fixed: margins too), merge codes, or require a smaller width",
        n=len(cells),
    )
