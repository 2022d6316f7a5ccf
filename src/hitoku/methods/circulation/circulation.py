"""Secondary suppression of large tables: a pattern built from its own proof.

Every requirement has a witness, an integer circulation through suppressed cells that moves its cell as far as
required; so the pattern is safe by construction, and the audit receives the witnesses. Witnesses are
hypercubes and sums of hypercubes, found without linear programs; the remaining ones are found by linear
programs over a neighbourhood. See ``docs/explanation/large-tables.md``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.feasibility import Incidence, Levels, NetworkCirculation, Problem
from hitoku.feasibility.hypercubes import (
    LARGE,
    EnclosingTable,
    HypercubeSearch,
    Requirements,
    Slacks,
    cross_table_of,
    pack_witnesses,
)
from hitoku.methods.circulation.batches import (
    AGAIN,
    SHARPNESS,
    SHARPNESS_SMALL,
    Batches,
    BatchProgram,
    BatchTidy,
    batch_deviations,
    read_batches,
    swept,
)
from hitoku.methods.circulation.parts import PartSearch
from hitoku.methods.circulation.reach import CellReach, KnownChanges
from hitoku.methods.costs import costs
from hitoku.methods.greedy import unreachable
from hitoku.methods.keep import Keep, by_hand, kept_cells, refuse_unsafe
from hitoku.methods.method import Progress, Traits
from hitoku.methods.run import run
from hitoku.model import Deviations, Floats, Integers, Mask, Need, Protection, Table
from hitoku.parameters import Limit, Whole, check_parameters, shown_parameters
from hitoku.solver.solution import CountedWork

LOGGER = logging.getLogger(__name__)

# Cost of an additional suppressed cell, as a multiple of the median cost of the unsafe cells. Higher for
# small tables, where long sweeps are possible, which otherwise reduce suppressed value only.
PER_CELL, PER_CELL_SMALL = 8.0, 20.0
# Largest table for linear programs over all cells; requirements of one program differ by at most this factor.
LARGEST_SWEPT, SPREAD = 12_000, 5.0
# Largest table for more sweeps and a longer tidy, and for restricted integer programs if nothing is swept;
# the number of problems that these may solve.
SMALL, SEARCHED = 5_000, 14_000
# Limits on cells of all programs that publish cells again: after sweeps of larger tables, and otherwise.
TIDIED, TIDIED_LONG = 200_000, 1_500_000
# Work limit of the programs of sweeps: a quarter of a minute. After sweeps of larger tables, limit of those
# that publish cells again: one takes a second if four variables are crossed, and gains a cell or two.
SWEEP_WORK, TIDY_WORK = 5e9, 1e9
# The same for each requirement, in tables that are not small: few are left where a pattern is extended.
SWEEP_WORK_EACH, TIDY_WORK_EACH = 1e8, 2e7
# Work limits of programs for single requirements. Above the first a requirement uses the witness of another
# one, as far as it serves it too; at the second the search ends without a pattern.
SHARED_WORK, MAX_WORK = 1e10, 5e10
# Suppressed zeros are easily guessed: use them only as a last resort.
ZERO = 1e4
# At most this many open requirements are pushed one by one when joint flows find no more.
FEW = 2_000
# Work limit of flows, about ten seconds. Remaining requirements are served by hypercubes and programs.
FLOW_WORK = 2e9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Circulation:
    """Suppress cells along cheap circulations, one for every requirement, shared as far as possible.

    For large tables with dimensions, hierarchies and links: ten thousand cells take ten seconds, a million
    two minutes. Other tables, such as those of JJ files, are treated with linear programs alone.

    Parameters
    ----------
    cost
        Cost of suppressing a cell: "value", "unit", "frequency", "own" (the table's cost column), "log",
        or one number per cell.
    keep
        Cells that stay published: a mask, or "margins". The table's ``fixed`` cells always do.
    start
        Cells that are suppressed in any case.
    rounds
        Number of passes over the whole pattern that make it cheaper; zero returns the first pattern.
    time_limit_s
        Seconds after which no further improvement begins. The pattern is safe in any case; its ``note``
        reports that the limit was reached. Without a limit a table has the same answer on every computer.

    Examples
    --------
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> need = Need(unsafe=table.value == 7, width=11)
    >>> protection = Circulation().protect(table, need)
    >>> int(protection.secondary.sum()), float(table.value[protection.secondary].sum())
    (3, 81.0)
    """

    traits: ClassVar[Traits] = Traits(hypercubes=True, prices=("cost",), keeps=("keep",), start="start")

    cost: str | ArrayLike = "value"
    keep: Keep | ArrayLike | None = None
    start: ArrayLike | Protection | None = None
    rounds: Whole = 1
    time_limit_s: Limit | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def __repr__(self) -> str:
        return shown_parameters(self)

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Suppress cells until every unsafe cell has a witness.

        Parameters
        ----------
        table
            Table to protect.
        need
            Unsafe cells, and their required protection.
        progress
            Called with the number of passes done and the total.

        Raises
        ------
        NeedError
            If a cell cannot be protected by any pattern; the error names the cells.
        """
        return run(self, table, need, progress)

    def decide(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Decide over the reals; :func:`hitoku.methods.run.run` does the rest."""
        began = time.monotonic()
        cost = costs(table, self.cost)
        stay = kept_cells(table, self.keep)
        refuse_unsafe(table, need, stay)
        start = by_hand(table, self.start, stay)
        first = need.unsafe | start
        movable = (~stay | first) & (table.upper > table.lower)
        slacks = Slacks.of(table.value, table.lower, table.upper, movable, integer=table.integer)
        requirements = Requirements.of(need, slacks, table.describe)
        free = free_moves(table.relations, slacks, requirements, first)
        search = Search(table, slacks, requirements, prices(table, need, cost, first), movable)
        clock = Clock(began, self.time_limit_s, 1 + self.rounds, progress)
        search.run(self.rounds, clock)
        withheld = first.copy()
        deviations = free.and_then(search.deviations(self.rounds, clock))
        withheld[deviations.cells] = True
        clock.finish()
        return Protection(
            withheld=withheld,
            value=table.value,
            secondary=withheld & ~need.unsafe,
            cost=float(cost[withheld].sum()),
            method="circulation",
            deviations=deviations,
            note=clock.note,
        )


def free_moves(
    relations: sparse.csr_array, slacks: Slacks, requirements: Requirements, held: Mask
) -> Deviations:
    """Serve requirements through cells that are suppressed in any case, and mark them as served.

    Parameters
    ----------
    relations
        Relations of the table.
    slacks, requirements
        Possible and required movement; the amounts of requirements that are served become zero.
    held
        Cells that are suppressed in any case.
    """
    cells = np.flatnonzero(Incidence.of(relations).movable(held & (slacks.down + slacks.up > 0)))
    n, place = len(requirements.cells), np.searchsorted(cells, requirements.cells)
    loose = np.isin(requirements.cells, cells)
    levels = Levels.none(len(cells))
    levels.required[place[loose]] = True
    levels.down[place[loose]], levels.up[place[loose]] = requirements.lower[loose], requirements.upper[loose]
    levels.width[place[loose]] = requirements.width[loose]
    found: list[tuple[Integers, Integers]] = []
    part = sparse.csr_array(relations[:, cells])
    problem = Problem.deviations(part, -slacks.down[cells], slacks.up[cells])
    network = NetworkCirculation.of(problem, levels, CountedWork(FLOW_WORK))
    if network is not None:
        for change in network.deviations(FEW):
            moved = np.flatnonzero(change)
            found.append((cells[network.cells[moved]], change[moved].astype(np.int64)))
        lacking = network.lacking
        served = cells[network.cells[network.levels.required & ~(lacking[0] | lacking[1])]]
        free = np.flatnonzero(np.isin(requirements.cells, served))
        requirements.amount[free] = requirements.amount[n + free] = 0.0
    return Deviations.of(found, int(slacks.scale))


def prices(table: Table, need: Need, cost: Floats, first: Mask) -> Floats:
    """Return prices of cells for the search: at most one; zero if they are suppressed in any case."""
    typical = float(np.median(cost[need.unsafe])) if need.unsafe.any() else 0.0
    price = cost + (PER_CELL_SMALL if table.n_cells <= SMALL else PER_CELL) * typical
    largest = float(price.max(initial=0.0)) or 1.0
    price = price / largest + np.where(price > 0, 0.0, 1e-9)
    price = np.where(table.value == 0, price + ZERO, price)
    return np.where(first, 0.0, price)


@dataclass(eq=False)
class Clock:
    """Count passes, report progress, and check the time limit."""

    began: float
    limit_s: float | None
    n_passes: int
    progress: Progress | None
    done: int = 0
    stopped: bool = False
    interrupted: bool = False

    def tick(self, share: float) -> bool:
        """Record the share of a pass that is done; return whether to continue."""
        if self.progress is not None:
            self.progress(min(self.done + share, self.n_passes), self.n_passes)
        if self.limit_s is not None and time.monotonic() - self.began > self.limit_s:
            self.stopped = True
        return not self.stopped

    def goes_on(self) -> bool:
        """Return whether there is time left."""
        return self.tick(0.0)

    def passed(self) -> bool:
        """Count one more pass."""
        more = self.tick(1.0)
        self.done += 1
        return more

    def interrupt(self) -> None:
        """Record an interruption after every cell has been protected."""
        self.interrupted = True
        LOGGER.warning("interrupted: the pattern found so far is safe and kept")

    @property
    def searches(self) -> bool:
        """Whether the search for cheaper patterns continues."""
        return not (self.stopped or self.interrupted)

    def finish(self) -> None:
        """Report that the search has ended."""
        if self.progress is not None:
            self.progress(self.n_passes, self.n_passes)

    @property
    def note(self) -> str:
        if self.interrupted:
            return "interrupted: a longer search may withhold less"
        return f"stopped after {self.limit_s:g} s: a longer search may withhold less" if self.stopped else ""


class Search:
    """One run, from the first witnesses to the final ones."""

    def __init__(
        self, table: Table, slacks: Slacks, requirements: Requirements, price: Floats, movable: Mask
    ) -> None:
        self._table, self._slacks, self._requirements, self._price = table, slacks, requirements, price
        self._movable = movable
        self._reach: CellReach | None = None
        self.work, self._known = CountedWork(MAX_WORK), KnownChanges(table.n_cells)
        cross_table = cross_table_of(table)
        self._crossed = cross_table is not None
        self._cross_table = cross_table or EnclosingTable((table.n_cells,), (), np.arange(table.n_cells))
        self.hypercubes = HypercubeSearch(self._cross_table, slacks, requirements, price)

    def deviations(self, rounds: int, clock: Clock) -> Deviations:
        """Combine witnesses into few common deviations; make these cheaper if the table is not too large."""
        try:
            return self._few(rounds, clock)
        except KeyboardInterrupt:
            clock.interrupt()
            for requirement in self.hypercubes.open().tolist():
                self._reach_by_programs(requirement)
            return pack_witnesses(self.hypercubes, self._slacks)[0]

    def _few(self, rounds: int, clock: Clock) -> Deviations:
        small = self._table.n_cells <= SMALL
        if rounds == 0 or not clock.searches or self._table.n_cells > LARGEST_SWEPT:
            return pack_witnesses(self.hypercubes, self._slacks)[0]
        if self._crossed and not self._sweeps and small:
            self._search_parts(clock)
        deviations, _ = pack_witnesses(self.hypercubes, self._slacks)
        return self._cheaper(deviations, rounds, clock) if len(deviations) else deviations

    def _cheaper(self, deviations: Deviations, rounds: int, clock: Clock) -> Deviations:
        """Make common deviations cheaper; return the given ones if that fails."""
        small = self._table.n_cells <= SMALL
        state = Batches(self._slacks, self._requirements, self._price, self._table.value != 0)
        batches = read_batches(*pack_witnesses(self.hypercubes, self._slacks, SPREAD), self._table.n_cells)
        relations = self._table.relations
        program = BatchProgram(
            self.reach, relations, state, np.flatnonzero((self._slacks.even > 0) | state.moved(batches))
        )
        first = SHARPNESS_SMALL if small else SHARPNESS
        long = small or not self._sweeps
        n_requirements = np.inf if small else float((self._requirements.amount > 0).sum())
        work = CountedWork(min(SWEEP_WORK, n_requirements * SWEEP_WORK_EACH))
        for number in range(rounds if self._sweeps else 1):
            if self._sweeps:
                sharpness = first if number == 0 else AGAIN
                batches = swept(state, program, batches, sharpness, clock.goes_on, work)
            tidy = BatchTidy(state, self.reach, relations, state.assigned(batches))
            batches = tidy.run(
                TIDIED_LONG if long else TIDIED,
                CountedWork() if long else CountedWork(min(TIDY_WORK, n_requirements * TIDY_WORK_EACH)),
                clock.goes_on,
            )
            if self._sweeps and not clock.passed():
                break
        better = batch_deviations(batches, deviations.scale)
        cost = [self._price[np.unique(each.cells)].sum() for each in (deviations, better)]
        return better if cost[1] < cost[0] else deviations

    def _search_parts(self, clock: Clock) -> None:
        """Search the pattern again, part by part."""
        parts = PartSearch(self._table.relations, self._slacks, self._price, self.hypercubes, self.reach)
        parts.run(SEARCHED, clock.goes_on)

    @property
    def _sweeps(self) -> bool:
        """Whether common deviations are made cheaper together, after which hypercubes gain nothing.

        If all cells cost the same this only adds cells, because long circulations move many.
        """
        few = self._table.n_cells <= LARGEST_SWEPT
        ordinary = (self._price > 0) & (self._table.value != 0)
        return few and len(np.unique(self._price[ordinary])) > 1

    def run(self, rounds: int, clock: Clock) -> None:
        """Give every requirement a witness, then make the witnesses cheaper together."""
        hypercubes = self.hypercubes
        if self._crossed:
            hypercubes.serve(self._slacks, tick=_telling(clock))
        for requirement in hypercubes.by_size(hypercubes.open()).tolist():
            self._reach_by_programs(requirement)
        try:
            more = clock.passed()
            for _ in range(rounds if self._crossed and not self._sweeps else 0):
                if not more:
                    return
                if self._cross_table.size <= LARGE:
                    # Route every requirement again, now that the cells used by others are known.
                    hypercubes.route(hypercubes.by_size(self._requirements.made))
                hypercubes.avoid(tick=clock.tick)
                more = clock.passed()
        except KeyboardInterrupt:
            # Kernels finish before an interruption takes effect, so every requirement still has a witness.
            clock.interrupt()

    def _reach_by_programs(self, requirement: int) -> None:
        """Give one requirement a witness by linear programs; raise if there is none."""
        hypercubes, requirements, n = self.hypercubes, self._requirements, len(self._requirements.cells)
        if hypercubes.served(requirement):
            return
        place = requirement % n
        if self._linear(requirement):
            return
        self._stop_if_over()
        cell, slacks = int(requirements.cells[place]), (self._slacks.down, self._slacks.up)
        asked = float(requirements.lower[place] + requirements.upper[place] + requirements.width[place])
        down, up = self.reach.farthest(cell, slacks, asked)
        self._stop_if_over()
        if not requirements.split(place, down, up):
            raise unreachable(self._table, [cell])
        for side in (place, n + place):
            hypercubes.forget(side)
            if requirements.amount[side] > 0 and not (self._linear(side) or self._linear(side, whole=True)):
                self._stop_if_over()
                raise unreachable(self._table, [cell])

    def _stop_if_over(self) -> None:
        """Raise if the work limit is reached; nothing is known about the open requirements then."""
        if self.work.over:
            raise not_decided(len(self.hypercubes.open()), len(self._requirements.made))

    def _linear(self, requirement: int, *, whole: bool = False) -> bool:
        """Look for a witness by linear programs, or by integer programs over neighbourhoods."""
        hypercubes, requirements, n = self.hypercubes, self._requirements, len(self._requirements.cells)
        slacks = (
            (self._slacks.even, self._slacks.even)
            if requirements.even[requirement]
            else (self._slacks.down, self._slacks.up)
        )
        sign, cell, amount = (
            1 if requirement < n else -1,
            int(requirements.cells[requirement % n]),
            float(requirements.amount[requirement]),
        )
        found = None
        if self.work.done > SHARED_WORK:
            found = self._known.serving(cell, sign, amount, even=bool(requirements.even[requirement]))
        if found is not None:
            hypercubes.put(requirement, self._cross_table.position[found.cells], found.amounts)
            return True
        price = np.where(hypercubes.use[self._cross_table.position] > 0, 0.01, 1.0) * self._price + 1e-9
        search = self.reach.whole_change if whole else self.reach.change
        found = search(cell, sign, amount, slacks, price)
        if found is not None:
            self._known.add(found, even=bool(requirements.even[requirement]))
            hypercubes.put(requirement, self._cross_table.position[found.cells], found.amounts)
        return found is not None

    @property
    def reach(self) -> CellReach:
        """The relations as linear programs, made when hypercubes leave requirements open."""
        if self._reach is None:
            # Deviations that are swept later need not be gathered now.
            tries = 1 if self._sweeps else 2
            self._reach = CellReach(self._table, self._movable, tries, lean=not self._crossed, work=self.work)
        return self._reach


def not_decided(n_open: int, n_requirements: int) -> SolverError:
    """Make the error for a search that ends without a pattern."""
    return SolverError(
        "circulation_work_limit",
        "not decided: the search reached its work limit with {n_open} of {n_requirements} requirements open",
        where="method circulation",
        fix="protect fewer linked tables at once, merge codes, or name another method, such as gauss",
        n_open=n_open,
        n_requirements=n_requirements,
    )


def _telling(clock: Clock) -> Callable[[float], bool]:
    """Report progress of the first pass, which is never cut short."""

    def tick(share: float) -> bool:
        clock.tick(share)
        return True

    return tick
