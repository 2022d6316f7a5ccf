"""Movement of suppressed cells while a pattern changes, and cells that can be published again.

Everything is in deviations from the true table: zero fits, relations stay satisfied by sums of deviations,
and no right-hand side has to be rounded. Three tests are used, the cheapest first. A deviation found earlier
may show that a need is met; it stays valid while more cells are suppressed, and while no cell that it moves
is published. Limits propagated between relations may show that it is not. A linear program decides the rest.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from hitoku.errors import SolverError
from hitoku.feasibility import (
    PUSH_WORK_LIMIT,
    Levels,
    NetworkCirculation,
    Pattern,
    Problem,
    Propagation,
    push_engine,
)
from hitoku.methods.method import Progress
from hitoku.methods.tuning import GREEDY
from hitoku.model import SUM_ROUNDING, Floats, Integers, Mask, Need, Table, level_slack
from hitoku.solver.solution import CountedWork

NO_CELLS: Integers = np.zeros(0, dtype=np.int64)


class DeviationRange:
    """Some cells and relations, kept open in a solver; published cells are held at zero."""

    def __init__(
        self,
        pattern: Pattern,
        cells: Integers,
        rows: Integers,
        room: tuple[Floats, Floats],
        work: CountedWork,
    ) -> None:
        self.cells = cells
        self.place = {int(cell): place for place, cell in enumerate(cells)}
        self._room = room[0][cells], room[1][cells]
        loose = pattern.loose[cells]
        down, up = (np.where(loose, far, 0.0) for far in self._room)
        self._engine = push_engine(pattern.matrix[rows][:, cells], down, up, work)

    @classmethod
    def of_group(
        cls, pattern: Pattern, group: int, room: tuple[Floats, Floats], work: CountedWork
    ) -> DeviationRange:
        """Set up the program of one connected group of cells."""
        return cls(pattern, pattern.members(group), pattern.rows(group), room, work)

    @classmethod
    def of_table(cls, pattern: Pattern, room: tuple[Floats, Floats], work: CountedWork) -> DeviationRange:
        """Set up the program of all cells, published ones held, valid as the pattern grows."""
        return cls(pattern, np.flatnonzero(pattern.movable), np.arange(len(pattern.count)), room, work)

    def hold(self, cell: int) -> None:
        """Publish a cell: hold it at zero."""
        self._engine.bound(self.place[cell], 0.0, 0.0)

    def release(self, cell: int) -> None:
        """Suppress a held cell again."""
        place = self.place[cell]
        self._engine.bound(place, self._room[0][place], self._room[1][place])

    def push(self, cell: int, *, up: bool, cap: float) -> tuple[float, Floats]:
        """Move a cell as far as possible; return the distance, and the deviation that shows it."""
        return self._engine.far(self.place[cell], up=up, cap=cap)

    def push_together(self, cells: Integers, *, up: bool) -> Floats | None:
        """Move several cells at once; None if unbounded."""
        return self._engine.together(np.array([self.place[int(cell)] for cell in cells]), up=up)


class IncrementalAudit:
    """A pattern, and what is known about the movement of its unsafe cells.

    Attributes
    ----------
    pattern
        Cells suppressed now; change it only through :meth:`withhold` and :meth:`publish_if_met`.
    low, high
        Per cell the largest movement down and up by some known feasible deviation.
    work
        Work of flows and programs. A program that reaches its limit raises ``PUSH_WORK_LIMIT``; flows
        are short, and the caller checks the limit between cells.
    """

    def __init__(
        self,
        table: Table,
        need: Need,
        withheld: Mask,
        *,
        shrinking: bool = False,
        work: CountedWork | None = None,
    ) -> None:
        self.pattern = Pattern(table.relations, table.upper > table.lower, withheld)
        self.work = work or CountedWork()
        self._shrinking = shrinking
        self._need = need
        self._unsafe = need.unsafe
        self._value = table.value
        self._down, self._up = table.value - table.lower, table.upper - table.value
        # Next to a large value a small level must not be mistaken for rounding.
        asked = np.maximum(np.maximum(need.lower, need.upper), need.width)
        self._slack = level_slack(table.value, asked)
        self.low, self.high = np.zeros(table.n_cells), np.zeros(table.n_cells)
        # Deviation that shows it, -1 for none, and the cells that the deviation moves.
        self._lowest = np.full(table.n_cells, -1)
        self._highest = np.full(table.n_cells, -1)
        self._moved: list[Integers] = []
        self._programs: dict[int, DeviationRange] = {}
        self._whole: DeviationRange | None = None
        self._propagation = Propagation(self.pattern.relations, np.full(table.n_cells, np.inf), SUM_ROUNDING)
        # Bounds of deviations, and the cells whose bounds have not been propagated yet.
        self._limits: tuple[Floats, Floats] | None = None
        self._news = NO_CELLS
        # A cell without relations is limited by its bounds alone.
        free = self.pattern.loose & (self.pattern.relations.degree == 0)
        self.low[free], self.high[free] = self._down[free], self._up[free]

    def enough(self, cells: Any, low: Any, high: Any) -> Any:
        """Return whether distances down and up meet the need, for cells or one cell."""
        return self._need.met_by(low, high, self._slack[cells], cells)

    def met(self, cell: int) -> bool:
        """Return whether the need of an unsafe cell is met by the current pattern."""
        if self.enough(cell, self.low[cell], self.high[cell]):
            return True
        return not self.held(cell) and self._decide(cell)

    def held(self, cell: int) -> bool:
        """Return whether limits alone show that a cell cannot move far enough; False is inconclusive."""
        return self._any_held(np.array([cell]))

    def limits(self, rounds: int = GREEDY.propagation_rounds) -> tuple[Floats, Floats]:
        """Return lower and upper limits of deviations under the current pattern, after some more rounds."""
        if self._limits is None:
            loose = self.pattern.loose
            self._limits = np.where(loose, -self._down, 0.0), np.where(loose, self._up, 0.0)
            self._news = np.flatnonzero(loose)
        for _ in range(rounds):
            if len(self._news) == 0:
                break
            self._news = self._propagation.tighten(*self._limits, self._news, rounds=1)
        return self._limits

    def interval(self, cell: int) -> tuple[float, float]:
        """Return the interval of a suppressed cell for an outsider."""
        rows = self.pattern.relations_of(cell)
        if np.any(self.pattern.count[rows] == 1) and self.pattern.loose[cell]:
            down, up = 0.0, 0.0  # the only suppressed cell of a relation
        elif not self.pattern.loose[cell] or not len(rows):
            down, up = (self._down[cell], self._up[cell]) if self.pattern.loose[cell] else (0.0, 0.0)
        else:
            down, up = (self._push(cell, up=upwards) for upwards in (False, True))
        return float(self._value[cell] - down), float(self._value[cell] + up)

    def show(self, cells: Integers) -> None:
        """Look for deviations that meet many needs at once; all results are stored.

        Verdicts do not depend on it: it only avoids testing cells one by one.
        """
        groups = np.array([self.pattern.group_of(int(cell)) for cell in cells], dtype=np.int64)
        for group in np.unique(groups[groups >= 0]):
            missing = self._missing(cells[groups == group])
            if len(missing) > GREEDY.min_flows:
                self._circulate(int(group), missing)
                missing = self._missing(missing)
            while len(missing) > 1:
                program = self._program(int(missing[0]))
                for up in (True, False):
                    deviation = program.push_together(missing, up=up)
                    if deviation is not None:
                        self._remember(program.cells, deviation)
                still = self._missing(missing)
                if len(still) == len(missing):
                    break
                missing = still

    def _circulate(self, group: int, missing: Integers) -> None:
        """Use flows if a group is an integer network: few of them show nearly all needs."""
        members = self.pattern.members(group)
        matrix = self.pattern.matrix[self.pattern.rows(group)][:, members]
        circles = NetworkCirculation.of(
            Problem.deviations(matrix, -self._down[members], self._up[members]),
            Levels.of(self._need, members, np.isin(members, missing)),
            self.work,
        )
        if circles is not None:
            for change in circles.together():
                self._remember(members[circles.cells], change)

    def _missing(self, cells: Integers) -> Integers:
        shown = self.enough(cells, self.low[cells], self.high[cells])
        return np.asarray(cells[~shown & self.pattern.loose[cells]])

    def _decide(self, cell: int) -> bool:
        high = self._push(cell, up=True)
        if high < self._need.upper[cell] - self._slack[cell]:
            return False
        if self.enough(cell, self.low[cell], high):
            return True
        return bool(self.enough(cell, self._push(cell, up=False), high))

    def _push(self, cell: int, *, up: bool) -> float:
        """Move a cell as far as possible, and store what the deviation shows about all unsafe cells."""
        program = self._program(cell)
        need = self._need
        cap = float(max(need.lower[cell], need.upper[cell], need.width[cell]) + 2 * self._slack[cell] + 1)
        distance, deviation = program.push(cell, up=up, cap=cap)
        self._remember(program.cells, deviation)
        return distance

    def _remember(self, cells: Integers, deviation: Floats) -> None:
        number = len(self._moved)
        used = False
        for known, shown, best in (
            (self.high, deviation, self._highest),
            (self.low, -deviation, self._lowest),
        ):
            better = (shown > known[cells]) & self._unsafe[cells]
            known[cells[better]], best[cells[better]] = shown[better], number
            used = used or bool(better.any())
        if used:
            # All movement counts, even tiny amounts: holding such a cell would distort the deviation.
            self._moved.append(cells[deviation != 0].astype(np.int32))

    def _program(self, cell: int) -> DeviationRange:
        if self._whole is not None:
            return self._whole
        program = self._programs.get(self.pattern.group_of(cell))
        if program is None:
            group = self.pattern.group_of(cell)
            size = len(self.pattern.members(group))
            if not self._shrinking and size > GREEDY.large_share * self.pattern.movable.sum():
                self._programs.clear()
                self._whole = DeviationRange.of_table(self.pattern, (self._down, self._up), self.work)
                return self._whole
            program = DeviationRange.of_group(self.pattern, group, (self._down, self._up), self.work)
            # Cells are processed group by group: one program is kept.
            self._programs = {group: program}
        return program

    def withhold(self, cell: int) -> None:
        """Suppress one more cell; everything shown so far stays shown."""
        for group in np.unique(self.pattern.group[self.pattern.relations_of(cell)]):
            self._programs.pop(int(group), None)
        self.pattern.withhold(cell)
        self._limits = None
        if self._whole is not None and self.pattern.loose[cell]:
            self._whole.release(cell)

    def publish_if_met(self, cell: int) -> bool:
        """Publish a cell if every need stays met without it; return whether it was published."""
        if self.pattern.given_away(cell, self._unsafe) is None:
            return False
        shown = self.low.copy(), self.high.copy(), self._lowest.copy(), self._highest.copy()
        n_deviations = len(self._moved)
        asked = self._forget(cell)
        program = self._program(cell) if len(self.pattern.relations_of(cell)) else None
        if program is not None and cell in program.place:
            program.hold(cell)
        limits = self.limits()
        self.pattern.publish(cell)
        # Impossible movements stay impossible, and the cell does not move any more.
        self._limits, self._news = (limits[0].copy(), limits[1].copy()), np.array([cell])
        self._limits[0][cell] = self._limits[1][cell] = 0.0
        if not self._any_held(asked):
            # Test neighbouring unsafe cells first: they are most likely to fail.
            near = np.intersect1d(asked, self.pattern.relations.cells_of(self.pattern.relations_of(cell)))
            if all(self.met(int(unsafe)) for unsafe in near):
                self.show(asked)
                if all(self.met(int(unsafe)) for unsafe in asked):
                    return True
        self.low, self.high, self._lowest, self._highest = shown
        del self._moved[n_deviations:]
        if program is not None and cell in program.place:
            program.release(cell)
        self.pattern.withhold(cell)
        self._limits, self._news = limits, NO_CELLS
        return False

    def _forget(self, cell: int) -> Integers:
        """Drop deviations that move a cell; return the unsafe cells that relied on them."""
        bent = np.zeros(len(self._moved), dtype=bool)
        in_use = np.unique(np.concatenate([self._lowest, self._highest]))
        for number in in_use[in_use >= 0]:
            bent[number] = _holds(self._moved[number], cell)
        concerned = np.zeros(len(self.low), dtype=bool)
        for known, best in ((self.low, self._lowest), (self.high, self._highest)):
            lost = np.flatnonzero(best >= 0)
            lost = lost[bent[best[lost]]]
            known[lost], best[lost] = 0.0, -1
            concerned[lost] = True
        return np.flatnonzero(concerned)

    def _any_held(self, cells: Integers) -> bool:
        """Return whether limits alone show that one of the cells cannot move far enough."""
        lower, upper = self.limits(rounds=0)
        for _ in range(GREEDY.propagation_rounds):
            if not self.enough(cells, -lower[cells], upper[cells]).all():
                return True
            if len(self._news) == 0:
                return False
            self.limits(rounds=1)
        return False


def _holds(sorted_cells: Integers, cell: int) -> bool:
    place = int(np.searchsorted(sorted_cells, cell))
    return place < len(sorted_cells) and int(sorted_cells[place]) == cell


LOGGER = logging.getLogger(__name__)


def unnecessary(
    table: Table,
    need: Need,
    withheld: Mask,
    *,
    removable: Mask,
    cost: Floats,
    progress: Progress | None = None,
    work: CountedWork | None = None,
) -> Integers:
    """Return cells that can be published together while every need stays met, in the order of trials.

    The most expensive cell is tried first, then by position; each is published if every unsafe cell
    keeps its required interval. The remaining pattern has no such cell: publishing more never widens an
    interval, so a cell that is needed once is needed later. Ctrl-C ends the trials; the
    pattern is safe at any time.

    Parameters
    ----------
    table, need
        Table, and its requirements, which the pattern must meet.
    withheld
        Current pattern.
    removable
        Cells that may be published, none of them unsafe.
    cost
        Cost of suppressing each cell.
    progress
        Called with the number of cells tried and their total.
    work
        Counts work of flows and programs. At its limit, the other cells stay suppressed.

    Examples
    --------
    >>> table = Table.from_array([[1, 9, 9], [9, 9, 9], [9, 9, 9]])
    >>> need = Need(unsafe=table.value == 1, upper=1)
    >>> extra = table.inner & (table.value == 9)
    >>> unnecessary(table, need, table.inner, removable=extra, cost=table.value).tolist()
    [1, 4, 5, 6, 9]
    """
    work = work or CountedWork()
    audit = IncrementalAudit(table, need, withheld, shrinking=True, work=work)
    unsafe = np.flatnonzero(need.unsafe)
    tried = np.flatnonzero(removable & withheld)
    tried = tried[np.lexsort((tried, -cost[tried]))]
    place, spared = 0, list[int]()
    try:
        audit.show(unsafe)
        for cell in unsafe:
            audit.met(int(cell))
        for place, cell in enumerate(tried):
            if work.over:
                break
            if audit.publish_if_met(int(cell)):
                spared.append(int(cell))
            if progress is not None:
                progress(place + 1, len(tried))
    except SolverError as error:
        if error.code != PUSH_WORK_LIMIT:
            raise
    except KeyboardInterrupt:
        # The cells found so far may be published, and the remaining pattern is safe.
        LOGGER.warning("interrupted: %s of %s cells were tried, the others stay withheld", place, len(tried))
    return np.array(spared, dtype=np.int64)
