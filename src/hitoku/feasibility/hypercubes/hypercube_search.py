"""Patterns from hypercubes: every requirement has a witness, and cells in no witness are published.

Requirements are routed from largest to smallest, and then a second time, when the cells of all others are
known. Finally the most expensive cells are avoided: all witnesses are rerouted around a cell if that costs
less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hitoku.feasibility.hypercubes.cross_table import EnclosingTable
from hitoku.feasibility.hypercubes.requirements import Requirements, Slacks
from hitoku.model import Floats, Integers, Mask
from hitoku.solver.solution import SECONDS, CountedWork

# Price of a cell in use for further witnesses, as a share of its cost, divided by the number of users.
SHARE = 0.1
# Efforts: starts of every search, cells that further hypercubes may cancel, and number of leaves up to which
# all are tried.
EFFORT, EFFORT_LARGE, EFFORT_LARGE_OPEN = (3, 8, 2**20), (3, 2, 48), (24, 2, 48)
EFFORT_OPEN, EFFORT_HARD = (3, 2, 2**20), (12, 8, 2**20)
# Above this number of positions, searches make less effort.
LARGE = 30_000
ONE, MANY = (1,), (1, 2, 4, 8, 16)
# Cells with more users than this are not avoided, because they are worth their cost.
MAX_USERS = 60
# Number of cells to avoid before users are listed again; ten times as many in large tables.
CHUNK = 2_000
# Work limit of searches among all leaves for requirements that a quick search left open.
MAX_WORK = SECONDS
# Numbers that a solver reads in the time in which a leaf is tried.
READS_PER_LEAF = 20
# Maximum number of entries of witnesses that one call adds.
CAPACITY = 2**21

Tick = Callable[[float], bool]


class HypercubeSearch:
    """Witnesses of all requirements over a cross table, and the cost of the cells that they use.

    Parameters
    ----------
    cross_table
        The enclosing cross table.
    slacks, requirements
        Slacks of all cells, and required movements.
    cost
        Cost of suppressing each cell; zero for cells that must be suppressed.
    """

    def __init__(
        self, cross_table: EnclosingTable, slacks: Slacks, requirements: Requirements, cost: Floats
    ) -> None:
        self.cross_table, self.requirements = cross_table, requirements
        size = cross_table.size
        self.cost = np.zeros(size)
        self.cost[cross_table.position] = cost
        self.ground = np.empty((2, size, 3))
        self.ground[:, :, 0], self.ground[:, :, 1:] = self.cost, np.inf
        for column, room in ((1, slacks.down), (2, slacks.up)):
            self.ground[0, cross_table.position, column] = room
            self.ground[1, cross_table.position, column] = slacks.even
        self.use = np.zeros(size, dtype=np.int64)
        longest = cross_table.longest_hypercube
        self._longest = max(longest, 4_096)
        n = len(requirements.amount)
        self._cells = np.empty(CAPACITY, dtype=np.int64)
        self._amounts = np.empty(CAPACITY, dtype=np.int64)
        self._begins, self._lengths = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
        widest = max(cross_table.shape)
        self._scratch = (
            np.empty(longest, dtype=np.int64),
            np.empty(longest, dtype=np.int64),
            np.empty((widest, 2)),
            np.full(size, -1, dtype=np.int32),
            np.empty((self._longest, 3)),
        )

    @cached_property
    def _space(self) -> tuple[Any, ...]:
        return self.cross_table.space()

    @property
    def _book(self) -> tuple[Integers, Integers, Integers, Integers]:
        return self._cells, self._amounts, self._begins, self._lengths

    @property
    def _effort(self) -> tuple[int, int, int]:
        return EFFORT if self.cross_table.size <= LARGE else EFFORT_LARGE

    @property
    def _prices(self) -> tuple[Integers, Floats, float]:
        return self.use, self.cost, SHARE

    @property
    def total(self) -> float:
        """Cost of all cells in use."""
        return float(self.cost[self.use > 0].sum())

    def open(self) -> Integers:
        """Return the requirements without a witness."""
        made = self.requirements.made
        return np.asarray(made[self._lengths[made] == 0])

    @cached_property
    def _places(self) -> tuple[Integers, Integers]:
        position = self.cross_table.position[self.requirements.cells]
        return np.concatenate([position, position]), self.requirements.sign

    def _requirement_arrays(self) -> tuple[Integers, Integers, Floats, Mask]:
        return *self._places, self.requirements.amount, self.requirements.even

    def route(
        self,
        order: Integers,
        *,
        effort: tuple[int, int, int] | None = None,
        pieces: Sequence[int] = ONE,
        tick: Tick | None = None,
    ) -> None:
        """Find witnesses, or cheaper ones, in this order; stop if ``tick`` returns False."""
        from hitoku.kernels.hypercube_routing import route  # noqa: PLC0415 - loads numba

        asked, effort = self._requirement_arrays(), effort or self._effort
        chunk = max(16, min(CHUNK, CAPACITY // (2 * self._longest)))
        for first in range(0, len(order), chunk):
            self._make_room()
            part = order[first : first + chunk]
            route(
                self._space, self.ground, self._book, asked, part, self._prices, effort, np.array(pieces),
                self._longest, self._scratch,
            )  # fmt: skip
            if tick is not None and not tick(min(1.0, (first + chunk) / len(order))):
                return

    def serve(self, slacks: Slacks, tick: Tick | None = None) -> None:
        """Find a witness of every requirement: one hypercube, several for parts of it, or one per direction.

        Requirements that remain open have no witness of hypercubes that this search can find within its limit
        of work.
        """
        work = CountedWork(MAX_WORK)
        self.route(self.by_size(self.requirements.made), tick=tick)
        if self.cross_table.size > LARGE:
            self.route(self.by_size(self.open()), effort=EFFORT_LARGE_OPEN)
        self._route_open(EFFORT_OPEN, ONE, work)
        if self.cross_table.size > LARGE:
            # Sums of many hypercubes take a hundred times as long as one, so they are tried last.
            self._route_open(EFFORT_HARD, ONE, work)
        self._route_open(EFFORT_HARD, MANY, work)
        for requirement in self.open().tolist():
            if self.requirements.even[requirement]:
                cell = self.requirements.cells[requirement]
                self.requirements.split(requirement, float(slacks.down[cell]), float(slacks.up[cell]))
        self._route_open(EFFORT_HARD, MANY, work)

    def _route_open(self, effort: tuple[int, int, int], pieces: Sequence[int], work: CountedWork) -> None:
        """Route open requirements among all leaves, as many as the work limit allows."""
        shape = self.cross_table.shape
        each = READS_PER_LEAF * effort[0] * sum(shape) * 2 ** (len(shape) - 1) * sum(pieces)
        order = self.by_size(self.open())[: int(work.left // each)]
        work.add(each * len(order))
        self.route(order, effort=effort, pieces=pieces)

    def by_size(self, requirements: Integers) -> Integers:
        """Sort requirements by size, the largest first."""
        return np.asarray(requirements[np.lexsort((requirements, -self.requirements.amount[requirements]))])

    def avoid(self, tick: Tick | None = None) -> None:
        """Reroute witnesses around cells in use, the most expensive first, where that costs less."""
        from hitoku.kernels.hypercube_routing import avoid  # noqa: PLC0415 - loads numba

        worst = np.flatnonzero((self.use > 0) & (self.cost > 0))
        worst = worst[np.lexsort((worst, -self.cost[worst]))]
        asked, chunk = self._requirement_arrays(), 10 * CHUNK if self.cross_table.size > LARGE else CHUNK
        for first in range(0, len(worst), chunk):
            self._make_room()
            cells = worst[first : first + chunk]
            avoid(
                self._space, self.ground, self._book, asked, cells, self._users(cells), self._prices,
                self._effort, np.array(ONE), MAX_USERS, self._longest, self._scratch,
            )  # fmt: skip
            if tick is not None and not tick(min(1.0, (first + chunk) / len(worst))):
                return

    def _users(self, cells: Integers) -> tuple[Integers, Integers]:
        """Return for each cell the requirements whose witness moves it."""
        requirement, where, _ = self.entries()
        rank = np.full(len(self.use), -1, dtype=np.int64)
        rank[cells] = np.arange(len(cells))
        place = rank[where]
        requirement, place = requirement[place >= 0], place[place >= 0]
        order = np.lexsort((requirement, place))
        ends = np.searchsorted(place[order], np.arange(len(cells) + 1))
        return ends.astype(np.int64), requirement[order]

    def entries(self) -> tuple[Integers, Integers, Integers]:
        """Return all witnesses: requirement, position and amount of every cell that they move."""
        requirement = np.repeat(np.arange(len(self._lengths)), self._lengths)
        places = _ranges(self._begins[:-1], self._lengths)
        return requirement, self._cells[places], self._amounts[places]

    def shown_entries(self) -> tuple[Integers, Integers, Integers]:
        """Return all witnesses by cells of the table: requirement, cell and amount."""
        cell_of = np.full(self.cross_table.size, -1, dtype=np.int64)
        cell_of[self.cross_table.position] = np.arange(len(self.cross_table.position))
        requirement, position, amount = self.entries()
        shown = cell_of[position] >= 0
        return requirement[shown], cell_of[position[shown]], amount[shown]

    def served(self, requirement: int) -> bool:
        """Return whether a requirement has a witness."""
        return bool(self._lengths[requirement] > 0)

    def forget(self, requirement: int) -> None:
        """Remove the witness of a requirement."""
        self.put(requirement, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def put(self, requirement: int, positions: Integers, amounts: Integers) -> None:
        """Set a witness that was found by another method."""
        from hitoku.kernels.hypercube_routing import charge  # noqa: PLC0415 - loads numba

        self._make_room(len(positions))
        charge(self._book, requirement, -1, self.use, self.cost, SHARE, self.ground)
        free = int(self._begins[-1])
        self._cells[free : free + len(positions)] = positions
        self._amounts[free : free + len(positions)] = amounts
        self._begins[requirement], self._lengths[requirement], self._begins[-1] = (
            free,
            len(positions),
            free + len(positions),
        )
        charge(self._book, requirement, 1, self.use, self.cost, SHARE, self.ground)

    def _make_room(self, wanted: int = CAPACITY // 2) -> None:
        """Compact the witnesses, and make space for more."""
        if len(self._cells) - self._begins[-1] >= wanted:
            return
        _, cells, amounts = self.entries()
        size = len(cells) + max(wanted, CAPACITY // 2) + len(cells) // 2
        self._cells, self._amounts = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        self._cells[: len(cells)], self._amounts[: len(cells)] = cells, amounts
        self._begins = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64)


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """Return the concatenated ranges of given starts and lengths."""
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1]) if len(ends) else 0)
    return np.asarray(within + np.repeat(starts - (ends - lengths), lengths))
