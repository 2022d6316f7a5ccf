"""Tables that are networks: every withheld cell in at most two relations, once on either side.

A two-dimensional table is one: an inner cell leaves its row and enters its column. Ends of all intervals are
then maximum flows, and whole numbers come out whole. A change that keeps every sum is a circulation: it runs
in cycles through the withheld cells, and one circulation moves as many cells far enough as there is capacity
for, since a cell that has gone far enough is held there while others are pushed. Circulations are proposals:
callers check them, and leave what they do not settle to linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hitoku.feasibility.incidence import Incidence
from hitoku.feasibility.problem import Levels, Problem, contradiction
from hitoku.model import ADDITIVITY, EXACT_SUMS, ROUNDING, Floats, Integers, Mask
from hitoku.solver.work import CountedWork, Deadline


def stretch_network(
    equations: Problem,
    group: Integers,
    sign: Floats,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats, Mask]:
    """Push every cell down to its low goal and up to its high goal, or as far as it goes, by flows.

    Returns the least and largest values met, and the cells that were not reached in time.
    """
    from hitoku.kernels.flow import balance, graph_of, stretch  # noqa: PLC0415 - loads numba

    tail, head, outside = arcs(Incidence.of(equations.matrix), group, sign)
    supply = np.zeros(len(sign) + outside.max(initial=-1) + 1)
    supply[: len(sign)] = sign * equations.rhs
    np.subtract.at(supply, len(sign) + outside, supply[: len(sign)])
    lower, upper = implied
    x = np.clip(np.zeros(len(lower)), lower, upper)
    largest = float(equations.size.max(initial=0.0))
    tiny = 0.0 if equations.exact else ROUNDING * largest
    if equations.exact:
        # Ends are whole then, and so flows stay: a part of a unit would be lost beside a giant.
        goals = np.floor(goals[0]), np.ceil(goals[1])
    left = balance(tail, head, x, lower, upper, supply, tiny)
    if np.any(left > ADDITIVITY * largest + 2 * tiny):
        raise contradiction()
    graph = graph_of(tail, head, len(supply))
    state = (x, lower, upper, np.full(len(x), np.inf), np.full(len(x), -np.inf))
    unknown = np.zeros(len(x), dtype=np.bool_)
    # With a time limit the clock is read after every 256 cells.
    step = len(x) if deadline.time_limit_s is None else 256
    for first in range(0, len(x), max(step, 1)):
        last = min(first + step, len(x))
        if deadline.over:
            unknown[first:] = True
            break
        reached, looked = stretch(graph, state, *goals, first, last, tiny, deadline.work.left)
        deadline.work.add(looked)
        if reached < last:
            unknown[reached:] = True
            break
    return state[3], state[4], unknown


def arcs(relations: Incidence, group: Integers, sign: Floats) -> tuple[Integers, Integers, Integers]:
    """Turn the cells of networks into arcs between relations, from tail to head.

    A cell in a single relation runs to a node that its group has for that. These nodes come after the
    relations; the third array tells, for every relation, which of them is its group's.
    """
    indptr, rows, coefficients = relations.by_cell
    n_rows = relations.n_rows
    _, outside = np.unique(group, return_inverse=True)
    signed = coefficients * sign[rows]
    single = np.diff(indptr) == 1
    first, second = indptr[:-1], np.where(single, indptr[:-1], indptr[1:] - 1)
    there = np.where(single, n_rows + outside[rows[first]], rows[second])
    leaves = signed[first] > 0
    tail = np.where(leaves, rows[first], there)
    head = np.where(leaves, there, rows[first])
    return tail, head, outside


# A round that settles less than this share of what is open is the last one for all cells together.
WORTHWHILE = 0.1


@dataclass(eq=False)
class NetworkCirculation:
    """Cells that are arcs of networks, what they need and how far they have come, in whole steps."""

    cells: Integers
    """The arcs, by position among the withheld cells."""
    graph: tuple[Integers, Integers, Integers, Integers]
    """Arcs between relations."""
    lower: Floats
    upper: Floats
    """How far each may move."""
    levels: Levels
    """What each must be able to move, rounded up to steps."""
    work: CountedWork
    """What flows look at, and may look at. Once that is over no further push is begun."""

    @classmethod
    def of(
        cls, problem: Problem, levels: Levels, work: CountedWork | None = None
    ) -> NetworkCirculation | None:
        """Find the networks among differences; None where there are none, or numbers are not whole.

        ``work`` counts and limits what flows look at; without it nothing is limited.
        """
        matrix = problem.matrix
        finite = np.concatenate([problem.lower, problem.upper, levels.down, levels.up, levels.width])
        finite = finite[np.isfinite(finite)]
        if matrix.shape[1] == 0 or np.any(np.abs(finite) > EXACT_SUMS) or np.any(finite != np.rint(finite)):
            return None
        relations = Incidence.of(matrix)
        parts = relations.parts
        cells = np.flatnonzero(parts.network[parts.cell] & (relations.degree > 0))
        rows = np.flatnonzero(parts.network[parts.row])
        if len(cells) == 0:
            return None
        from hitoku.kernels.flow import graph_of  # noqa: PLC0415 - loads numba

        tail, head, outside = arcs(Incidence.of(matrix[rows][:, cells]), parts.row[rows], parts.sign[rows])
        graph = graph_of(tail, head, len(rows) + int(outside.max(initial=-1)) + 1)
        ends = problem.lower[cells], problem.upper[cells]
        return cls(cells, graph, *ends, levels.take(cells), work or CountedWork())

    def __post_init__(self) -> None:
        self.low, self.high = np.zeros(len(self.cells)), np.zeros(len(self.cells))
        # Cells that cannot go as far as bounds alone would let them.
        self.stuck = np.zeros((2, len(self.cells)), dtype=np.bool_)
        # Whether a change for one cell has lately brought others to their goals.
        self._others = True

    @property
    def lacking(self) -> tuple[Mask, Mask]:
        """Cells that must still go further down, and up."""
        wide = (self.high - self.low >= self.levels.width) & (self.high > self.low)
        return (
            self.levels.required & ~((self.low <= -self.levels.down) & wide),
            self.levels.required & ~((self.high >= self.levels.up) & wide),
        )

    def goals(self) -> tuple[Floats, Floats]:
        """Where to push cells that lack something; NaN where nothing is to be gained.

        A width may lie on either side. Where a bound leaves too little room on one, the other takes the rest.
        """
        down, up = self.lacking
        lowest = np.where((self.lower > -self.levels.width) & ~self.stuck[0], self.lower, self.low)
        highest = np.where((self.upper < self.levels.width) & ~self.stuck[1], self.upper, self.high)
        far_up = np.minimum(
            self.upper, np.maximum(np.maximum(self.levels.up, self.levels.width + lowest), 1.0)
        )
        far_down = np.maximum(
            self.lower, -np.maximum(np.maximum(self.levels.down, self.levels.width - highest), 1.0)
        )
        return (
            np.where(down & (far_down < self.low) & ~self.stuck[0], far_down, np.nan),
            np.where(up & (far_up > self.high) & ~self.stuck[1], far_up, np.nan),
        )

    def deviations(self, few: float = np.inf) -> Iterator[Floats]:
        """Yield changes of the cells, in steps, until all are settled that can be, or work is over.

        Parameters
        ----------
        few
            Cells are pushed one by one when no more than so many are open.
        """
        yield from self.together()
        left = self._open()
        for cell in left.tolist() if len(left) <= few else []:
            if self.work.over:
                return
            yield from self._first(cell)

    def together(self) -> Iterator[Floats]:
        """Yield changes that move many cells further than any before, while that pays."""
        random = np.random.default_rng(0)
        while before := self._n_goals():
            x = np.zeros(len(self.cells))
            self._push(x, random.permutation(self._open()))
            if self._keep(x):
                yield x
            if self.work.over or before - self._n_goals() < WORTHWHILE * before:
                break

    def _first(self, cell: int) -> Iterator[Floats]:
        """Push one cell through everything, then the others as far as that leaves room, while that pays.

        Which cells can be settled does not depend on the others: they only save changes.
        """
        for side in (0, 1):
            goals = self.goals()
            goal = goals[side][cell]
            if np.isnan(goal) or self.work.over:
                continue
            only = np.full((2, len(self.cells)), np.nan)
            only[side, cell] = goal
            x = np.zeros(len(self.cells))
            self._flow(x, self.lower, self.upper, only[0], only[1], np.array([cell]))
            arrived = abs(x[cell]) >= abs(goal)
            self.stuck[side, cell] = not arrived
            before, others = self._n_goals(), arrived and self._others
            if others:
                self._push(x, self._open())
            if self._keep(x):
                yield x
            if others:
                # One goal is the cell's own.
                self._others = before - self._n_goals() > 1

    def _open(self) -> Integers:
        """Cells for which there is a goal."""
        low, high = self.goals()
        return np.flatnonzero(~(np.isnan(low) & np.isnan(high)))

    def _n_goals(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.goals())))

    def _push(self, x: Floats, order: Integers) -> None:
        """Push cells in some order; none further than it need go, so that there is room for all."""
        least = np.where(
            self.levels.required, -np.maximum(np.maximum(self.levels.down, self.levels.width), 1.0), -np.inf
        )
        most = np.where(
            self.levels.required, np.maximum(np.maximum(self.levels.up, self.levels.width), 1.0), np.inf
        )
        lower = np.minimum(np.maximum(self.lower, least), x)
        upper = np.maximum(np.minimum(self.upper, most), x)
        self._flow(x, lower, upper, *self.goals(), order)

    def _flow(
        self, x: Floats, lower: Floats, upper: Floats, low: Floats, high: Floats, order: Integers
    ) -> None:
        from hitoku.kernels.flow import push_together  # noqa: PLC0415 - loads numba

        looked = push_together(self.graph, x, lower.copy(), upper.copy(), low, high, order, self.work.left)
        self.work.add(looked)

    def _keep(self, x: Floats) -> bool:
        """Note how far a change goes; tell whether it goes further than others where that is lacking."""
        down, up = self.lacking
        useful = (down & (x < self.low)) | (up & (x > self.high))
        self.low[useful], self.high[useful] = (
            np.minimum(self.low, x)[useful],
            np.maximum(self.high, x)[useful],
        )
        return bool(useful.any())
