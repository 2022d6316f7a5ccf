"""Tables that are networks: every suppressed cell is in at most two relations, with opposite signs.

Two-dimensional tables are networks: an inner cell is an arc from its row to its column. The ends of intervals
are then given by maximum flows, which are integer for integer data. Deviations are circulations in the
network. One circulation can move many cells far enough, because a cell that has reached its goal is held
there while others are pushed. Callers check circulations, and use linear programs for the other cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hitoku.feasibility.pattern import Incidence
from hitoku.feasibility.problem import Levels, Problem, contradiction
from hitoku.model import ADDITIVITY, EXACT_SUMS, ROUNDING, Floats, Integers, Mask
from hitoku.solver.solution import CountedWork, Deadline


def stretch_network(
    equations: Problem,
    group: Integers,
    sign: Floats,
    implied: tuple[Floats, Floats],
    goals: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats, Mask]:
    """Push every cell down to its low goal and up to its high goal, or as far as possible, by flows.

    Returns the least and largest values met, and the cells that were not finished within the limits.
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
        # Ends and flows are integer then; a fraction of a unit would be lost beside a very large value.
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

    A cell in a single relation is an arc to the outside node of its group. Outside nodes are numbered after
    the relations; the third array is the outside node of every relation.
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


# Rounds for all cells together end after one that reaches less than this share of the open goals.
MIN_SHARE = 0.1


@dataclass(eq=False)
class NetworkCirculation:
    """Cells that are arcs of networks, their levels and the distances reached, in integer steps."""

    cells: Integers
    """The arcs, by index among the suppressed cells."""
    graph: tuple[Integers, Integers, Integers, Integers]
    """Arcs between relations."""
    lower: Floats
    upper: Floats
    """Bounds of each deviation."""
    levels: Levels
    """Levels of each cell, rounded up to steps."""
    work: CountedWork
    """Work of flows, and its limit; at the limit no further push is started."""

    @classmethod
    def of(
        cls, problem: Problem, levels: Levels, work: CountedWork | None = None
    ) -> NetworkCirculation | None:
        """Return the networks of a problem; None if there are none, or numbers are not integer.

        ``work`` counts and limits the work of flows; default: no limit.
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
        # Cells that cannot move as far as their bounds allow.
        self.stuck = np.zeros((2, len(self.cells)), dtype=np.bool_)
        # Whether the last deviation for one cell brought others to their goals.
        self._others = True

    @property
    def lacking(self) -> tuple[Mask, Mask]:
        """Cells that must still move further down, and up."""
        wide = (self.high - self.low >= self.levels.width) & (self.high > self.low)
        return (
            self.levels.required & ~((self.low <= -self.levels.down) & wide),
            self.levels.required & ~((self.high >= self.levels.up) & wide),
        )

    def goals(self) -> tuple[Floats, Floats]:
        """Return the goals of cells that miss their levels; NaN if nothing can be gained.

        A width may lie on either side. If a bound leaves too little slack on one, the other takes the rest.
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
        """Yield deviations, in steps, until all cells are settled that can be, or the work limit is reached.

        Parameters
        ----------
        few
            Maximum number of open cells for pushing cells one by one.
        """
        yield from self.together()
        left = self._open()
        for cell in left.tolist() if len(left) <= few else []:
            if self.work.over:
                return
            yield from self._first(cell)

    def together(self) -> Iterator[Floats]:
        """Yield deviations that move many cells further than before, while that pays."""
        random = np.random.default_rng(0)
        while before := self._n_goals():
            x = np.zeros(len(self.cells))
            self._push(x, random.permutation(self._open()))
            if self._keep(x):
                yield x
            if self.work.over or before - self._n_goals() < MIN_SHARE * before:
                break

    def _first(self, cell: int) -> Iterator[Floats]:
        """Push one cell without restrictions, then the others as far as capacity remains, while that pays.

        The others do not affect which cells can be settled; they only save deviations.
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
                # One goal is that of the cell itself.
                self._others = before - self._n_goals() > 1

    def _open(self) -> Integers:
        """Return the cells that have a goal."""
        low, high = self.goals()
        return np.flatnonzero(~(np.isnan(low) & np.isnan(high)))

    def _n_goals(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.goals())))

    def _push(self, x: Floats, order: Integers) -> None:
        """Push cells in some order, none further than necessary, to leave capacity for all."""
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
        """Record a deviation; return whether it moves a cell further where that is required."""
        down, up = self.lacking
        useful = (down & (x < self.low)) | (up & (x > self.high))
        self.low[useful], self.high[useful] = (
            np.minimum(self.low, x)[useful],
            np.maximum(self.high, x)[useful],
        )
        return bool(useful.any())
