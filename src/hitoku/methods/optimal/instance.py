"""Secondary suppression as arrays: the cells that can move, the levels to reach, pushes, and the limits.

Only cells that can help are kept. The unknowns are deviations ``d`` from the true table: zero outside the
suppressed cells, ``relations @ d == 0``, ``-down <= d <= up``. A *push* moves one cell one way, as far as a
pattern allows; engines for pushes implement :class:`Subproblems`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hitoku.model import Floats, Integers, Mask
from hitoku.solver.master import SparseRows


class Stopped(Exception):  # noqa: N818 - a limit is not a failure
    """A limit was reached, or the user interrupted."""


# Maximum number of points of a trace; when it is full, every second one is dropped.
MAX_POINTS = 512


@dataclass(slots=True)
class Trace:
    """Bound and cost of the best pattern over the work done, recorded whenever one of them changes.

    Examples
    --------
    >>> trace = Trace()
    >>> for work, bound, cost in [(1, 2.0, 9.0), (5, 1.0, 9.0), (8, 1.0, 7.0)]:
    ...     trace.note(work, bound, cost)
    >>> trace.points
    [(1, 2.0, 9.0), (8, 2.0, 7.0)]
    """

    points: list[tuple[int, float, float]] = field(default_factory=list)

    def note(self, work: int, bound: float, cost: float) -> None:
        """Add a point; bounds only rise, and costs only fall."""
        if self.points:
            _, known, best = self.points[-1]
            bound, cost = max(bound, known), min(cost, best)
            if (bound, cost) == (known, best):
                return
            if len(self.points) >= MAX_POINTS:
                del self.points[1:-1:2]
        self.points.append((work, bound, cost))


@dataclass(slots=True)
class Budget:
    """Work and limits, shared by all parts of one search."""

    # Returns the share of the limits that is used up, given the work done; zero without limits.
    used: Callable[[int], float] = lambda _work: 0.0
    # Called with the bound and the cost of the best pattern.
    report: Callable[[float, float], None] = lambda _bound, _best: None
    gap: float = 0.0  # Stop if no pattern can be cheaper by more than this share.
    work: int = 0  # Attacker subproblems and relaxations solved so far.
    interrupted: bool = False

    def spend(self, work: int = 1) -> None:
        """Count work about to be done; raise if a limit is reached."""
        if self.interrupted or self.spent() >= 1:
            raise Stopped
        self.work += work

    def spent(self) -> float:
        """Return the share of the limits that is used up."""
        return self.used(self.work)


UP, DOWN, WIDTH = 1, -1, 0

# A share of a cell or a cut this near to an integer is integral.
INTEGRAL = 1e-6
# Movements below this share of a level, and cells suppressed to a smaller share, are rounding errors of a
# solver.
MOVED = 1e-7
# Fixed seed of random choices: one table has one answer under a work limit.
SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class ProtectionLevels:
    """Levels to reach, one entry per cell and side."""

    cell: Integers  # Cell that must move.
    side: NDArray[np.int8]  # ``UP``: by ``amount`` up; ``DOWN``: down; ``WIDTH``: the two ways together.
    amount: Floats  # Required movement, above zero.

    def __len__(self) -> int:
        return len(self.cell)

    def take(self, chosen: Mask | Integers) -> ProtectionLevels:
        return ProtectionLevels(self.cell[chosen], self.side[chosen], self.amount[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A suppression problem over the cells that can move."""

    cells: Integers  # Positions of the cells in the table.
    relations: sparse.csr_array  # Relations with at least two of them.
    # up, down: how far each cell can lie above and below its value, for an outsider without the release.
    up: Floats
    down: Floats
    forced: Mask  # Cells that are suppressed in any case.
    weight: Floats  # Cost of suppressing each cell.
    tie: Integers  # Small integers that decide between patterns of equal cost.
    levels: ProtectionLevels  # Levels to reach.

    @property
    def free(self) -> Integers:
        """Cells to decide on."""
        return np.flatnonzero(~self.forced)

    def __len__(self) -> int:
        return len(self.cells)

    def kept(self, alive: Mask) -> Instance:
        """Return the instance over some cells; those in ``levels`` must be among them."""
        if alive.all():
            return self
        place = np.cumsum(alive) - 1
        # Manually: hundreds of small parts are extracted, and a library's slicing takes longer than a search.
        rows = self.relations
        there = alive[rows.indices]
        lengths = np.diff(np.concatenate([[0], np.cumsum(there)])[rows.indptr])
        lengths = lengths[lengths > 0]
        parts = rows.data[there], place[rows.indices[there]], np.concatenate([[0], np.cumsum(lengths)])
        return Instance(
            cells=self.cells[alive],
            relations=sparse.csr_array(parts, shape=(len(lengths), int(place[-1]) + 1)),
            up=self.up[alive],
            down=self.down[alive],
            forced=self.forced[alive],
            weight=self.weight[alive],
            tie=self.tie[alive],
            levels=replace(self.levels, cell=place[self.levels.cell]),
        )

    def with_levels(self, chosen: Mask) -> Instance:
        """Return the instance with some of the levels only."""
        return replace(self, levels=self.levels.take(chosen))


# Missing a level by less than this share is rounding, not a shortfall.
SHORT = 1e-8
# A cut: cells of the instance, and their coefficients.
Row = tuple[Integers, Floats]

# Cells that cannot move, in the order in which multipliers remove them from a cut; the relation in which each
# is alone, and its entry there.
Peeling = tuple[Integers, Integers, Floats]
NOTHING_PEELED: Peeling = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Pushed:
    """Answers of some attacker subproblems ("pushes": one cell, one direction)."""

    # level, sense: level and direction of each push.
    level: Integers
    sense: Integers
    reach: Floats  # Distance reached, in the table's units; at most the level's amount.
    # Integer multiples of ``1 / grid``, pushes by relations; empty rows if only the cell's own slack limited
    # it.
    multipliers: SparseRows
    others: SparseRows | None  # A second set of multipliers, or None.
    grid: int
    # Pushes by cells: the deviations found; None unless requested. Multipliers may then be missing.
    flows: Floats | None
    peeled: Peeling = NOTHING_PEELED  # Cells that the multipliers do not cover, the last to drop out first.


class Subproblems(Protocol):
    """Protocol of the engines for the attacker subproblems of one instance."""

    # instance, budget: the instance, and the budget that the engine spends.
    instance: Instance
    budget: Budget
    network: ClassVar[bool]  # Whether the engine pushes by maximum flows.
    tableau: ClassVar[bool]  # Whether the engine keeps a tableau between calls, so that pushes are quick.

    def push(
        self, x: Floats, level: Integers, sense: Integers, *, exact: bool = False, flows: bool = False
    ) -> Pushed:
        """Push cells at a point, fractional or not; see :class:`Pushed`."""

    def separate(self, x: Floats, *, exact: bool) -> tuple[list[Row], Mask]:
        """Return cuts that the point violates, and which levels are reached there."""


def pushes_for(instance: Instance, chosen: Integers) -> tuple[Integers, Integers]:
    """Return pushes for levels: one for a side, two for a width."""
    side = instance.levels.side[chosen].astype(np.int64)
    wide = chosen[side == WIDTH]
    level = np.concatenate([chosen[side != WIDTH], wide, wide])
    sense = np.concatenate([side[side != WIDTH], np.full(len(wide), UP), np.full(len(wide), DOWN)])
    return level, sense


def levels_met(instance: Instance, pushed: Pushed) -> Mask:
    """Return for every level whether the pushes reach it; False for those that were not pushed."""
    total = np.zeros(len(instance.levels))
    np.add.at(total, pushed.level, pushed.reach)
    asked = np.zeros(len(total), dtype=bool)
    asked[pushed.level] = True
    return asked & (total >= instance.levels.amount * (1 - SHORT))
