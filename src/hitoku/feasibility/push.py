"""Push one cell as far as possible, repeatedly, while bounds of single cells change.

Variables are deviations from the true table, so zero is feasible. Networks are pushed by maximum flows, other
problems by a linear program that stays open; both give the same distances.

Cells tied by a relation with two suppressed cells determine each other. Such cells rise and fall together, or
one rises as the other falls. In a release, most suppressed cells are tied to another one, often in chains.
One cell of each chain represents all, which leaves about a third of the unknowns and even fewer relations,
because many become equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.feasibility.network import arcs
from hitoku.feasibility.pattern import Components, Incidence
from hitoku.feasibility.problem import Problem
from hitoku.model import ROUNDING, Floats, Integers
from hitoku.solver.linear import LinearProgram, Solution, SolverStatus, Warm
from hitoku.solver.solution import CountedWork

# Code of the error of a push that its work limit ends.
PUSH_WORK_LIMIT = "push_work_limit"


class Push(Protocol):
    """Protocol of both engines; cells are column numbers."""

    def bound(self, cell: int, down: float, up: float) -> None:
        """Set how far a cell may move down and up."""

    def far(self, cell: int, *, up: bool, cap: float) -> tuple[float, Floats]:
        """Push a cell as far as possible; return the distance and a deviation that attains it.

        If the cell is unbounded, the distance is infinite and the deviation moves it by ``cap``.
        """

    def together(self, cells: Integers, *, up: bool) -> Floats | None:
        """Push the sum of several cells; None if it is unbounded, or if single pushes are as fast."""


def push_engine(matrix: sparse.csr_array, down: Floats, up: Floats, work: CountedWork | None = None) -> Push:
    """Return the engine for a matrix of relations by cells.

    ``work`` counts its work. A linear program that reaches its limit raises ``PUSH_WORK_LIMIT``.
    """
    work = work or CountedWork()
    relations = Incidence.of(matrix)
    parts = relations.parts
    if parts.network.all() and (relations.degree > 0).all():
        return FlowPush(relations, parts, (down, up), work)
    return LinearPush(matrix, down, up, work)


class FlowPush:
    """Push by maximum flows."""

    def __init__(
        self, relations: Incidence, parts: Components, slack: tuple[Floats, Floats], work: CountedWork
    ) -> None:
        from hitoku.kernels.flow import graph_of  # noqa: PLC0415 - loads numba

        tail, head, outside = arcs(relations, parts.row, parts.sign)
        self._graph = graph_of(tail, head, relations.n_rows + int(outside.max(initial=-1)) + 1)
        self._lower, self._upper, self._work = -slack[0], slack[1].copy(), work
        sizes = np.abs(np.concatenate(slack))
        sizes = sizes[np.isfinite(sizes)]
        whole = np.array_equal(sizes, np.rint(sizes))
        self._tiny = 0.0 if whole else ROUNDING * float(sizes.max(initial=0.0))

    def bound(self, cell: int, down: float, up: float) -> None:
        self._lower[cell], self._upper[cell] = -down, up

    def far(self, cell: int, *, up: bool, cap: float) -> tuple[float, Floats]:
        distance, x = self._send(cell, up=up, goal=np.inf)
        return (distance, x) if np.isfinite(distance) else (np.inf, self._send(cell, up=up, goal=cap)[1])

    def _send(self, cell: int, *, up: bool, goal: float) -> tuple[float, Floats]:
        from hitoku.kernels.flow import stretch  # noqa: PLC0415 - loads numba

        x, goals = np.zeros(len(self._lower)), np.full((2, len(self._lower)), np.nan)
        goals[int(up), cell] = goal if up else -goal
        state = (x, self._lower, self._upper, x.copy(), x.copy())
        _, looked = stretch(self._graph, state, *goals, cell, cell + 1, self._tiny, np.inf)
        self._work.add(looked)
        return abs(float(state[4][cell] if up else state[3][cell])), x

    def together(self, cells: Integers, *, up: bool) -> Floats | None:
        del cells, up
        return None


class LinearPush:
    """Push by a linear program that stays open."""

    def __init__(self, matrix: sparse.csr_array, down: Floats, up: Floats, work: CountedWork) -> None:
        self._down, self._up = down.copy(), up.copy()
        n_rows, n = matrix.shape
        self._warm = Warm(LinearProgram(np.zeros(n), matrix, np.zeros(n_rows), -down, up), work=work)

    def bound(self, cell: int, down: float, up: float) -> None:
        self._down[cell], self._up[cell] = down, up
        self._warm.bounds(-self._down, self._up)

    def far(self, cell: int, *, up: bool, cap: float) -> tuple[float, Floats]:
        push = self._warm.maximise if up else self._warm.minimise
        solution = push(cell, details=False)
        if solution.status is not SolverStatus.UNBOUNDED:
            x = _point(solution)
            return abs(float(x[cell])), x
        slack = self._down[cell], self._up[cell]
        self.bound(cell, min(slack[0], cap), min(slack[1], cap))
        x = _point(push(cell, details=False))
        self.bound(cell, *slack)
        return np.inf, x

    def together(self, cells: Integers, *, up: bool) -> Floats | None:
        total = np.zeros(len(self._down))
        total[cells] = 1.0
        solution = self._warm.solve(total, maximise=up, details=False)
        return None if solution.status is SolverStatus.UNBOUNDED else _point(solution)


def _point(solution: Solution) -> Floats:
    if solution.status is SolverStatus.LIMIT:
        raise SolverError(
            PUSH_WORK_LIMIT,
            "not decided: the search reached its work limit",
            where="feasibility",
            fix="protect fewer linked tables at once, or merge codes",
        )
    if solution.status is not SolverStatus.OPTIMAL or solution.x is None:
        # Zero is feasible, so any status but optimal is a failure of the solver.
        raise SolverError(
            "solver_lost_optimum",
            "the solver ended with {status} on a program that has an optimum",
            where="feasibility",
            fix="look for values of very different size in one table, or split it",
            status=solution.status,
        )
    return solution.x


Pair = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Tied:
    """Every cell as ``sign * x[standing] + offset`` of its representative."""

    equations: Problem
    """The remaining problem in the representatives."""
    standing: Integers
    sign: Floats
    offset: Floats
    """For every cell its representative, a sign, and an integer number of units."""

    def inner(self, low: Floats, high: Floats) -> Pair:
        """Turn bounds of cells into bounds of their representatives: the narrowest."""
        n = self.equations.n_cells
        least, most = np.full(n, -np.inf), np.full(n, np.inf)
        low, high = self._turn_ends(low, high)
        np.maximum.at(least, self.standing, low)
        np.minimum.at(most, self.standing, high)
        return least, most

    def farthest(self, low: Floats, high: Floats) -> Pair:
        """Turn goals of cells into goals of their representatives: the farthest; NaN without goals."""
        n = self.equations.n_cells
        least, most = np.full(n, np.nan), np.full(n, np.nan)
        low, high = self._turn_ends(low, high)
        np.fmin.at(least, self.standing, low)
        np.fmax.at(most, self.standing, high)
        return least, most

    def _turn_ends(self, low: Floats, high: Floats) -> Pair:
        same = self.sign > 0
        return (
            np.where(same, low - self.offset, self.offset - high),
            np.where(same, high - self.offset, self.offset - low),
        )

    def members(self, low: Floats, high: Floats) -> Pair:
        """Turn ends of representatives into ends of all cells."""
        low, high, same = low[self.standing], high[self.standing], self.sign > 0
        return (
            np.where(same, low + self.offset, self.offset - high),
            np.where(same, high + self.offset, self.offset - low),
        )


def tie_cells(equations: Problem) -> Tied | None:
    """Choose a representative of each set of tied cells; None if numbers are not integer, or contradict.

    Examples
    --------
    A row of two suppressed cells with sum 10, and a row of three.

    >>> matrix = sparse.csr_array(np.array([[1.0, 1, 0, 0], [0, 1, 1, 1]]))
    >>> rows, cells = np.array([10.0, 30.0]), np.zeros(4)
    >>> found = tie_cells(Problem(matrix, rows, cells, cells + 99, rows, exact=True))
    >>> found.standing.tolist(), found.sign.tolist(), found.offset.tolist()
    ([0, 0, 1, 2], [-1.0, 1.0, 1.0, 1.0], [10.0, 0.0, 0.0, 0.0])
    >>> found.equations.matrix.toarray().tolist(), found.equations.upper.tolist()
    ([[1.0, 1.0, 1.0]], [10.0, 99.0, 99.0])
    """
    if not equations.exact:
        return None
    n = equations.n_cells
    found = Tied(equations, np.arange(n), np.ones(n), np.zeros(n))
    while True:
        left = found.equations
        place, sign, offset = _follow_relations(left)
        if len(place) == left.n_cells and np.array_equal(place, np.arange(len(place))):
            return found
        onto = sparse.csr_array((sign, (np.arange(len(place)), place)), (len(place), int(place.max()) + 1))
        matrix = sparse.csr_array(left.matrix @ onto)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        rhs = left.rhs - left.matrix @ offset
        rows = _different(matrix, rhs)
        if rows is None:
            return None
        step = Tied(
            replace(left, matrix=matrix[rows], rhs=rhs[rows], size=left.size[rows]), place, sign, offset
        )
        lower, upper = step.inner(left.lower, left.upper)
        found = Tied(
            replace(step.equations, lower=lower, upper=upper),
            place[found.standing],
            found.sign * sign[found.standing],
            found.sign * offset[found.standing] + found.offset,
        )


def _follow_relations(equations: Problem) -> tuple[Integers, Floats, Floats]:
    """Follow relations with two cells; return the representative, sign and offset of every cell."""
    matrix = equations.matrix
    above: dict[int, tuple[int, float, float]] = {}

    def top(cell: int) -> tuple[int, float, float]:
        sign, offset = 1.0, 0.0
        while cell in above:
            cell, turn, further = above[cell]
            sign, offset = sign * turn, sign * further + offset
        return cell, sign, offset

    for row in np.flatnonzero(np.diff(matrix.indptr) == 2).tolist():
        start = matrix.indptr[row]
        (first, second), (a, b) = matrix.indices[start : start + 2].tolist(), matrix.data[start : start + 2]
        further = float(equations.rhs[row] / a)
        if abs(a) != abs(b) or not further.is_integer():
            continue
        # a * first + b * second == rhs: first == -b / a * second + rhs / a.
        one, sign, offset = top(first)
        other, turn, more = top(second)
        if one != other:
            above[one] = other, -sign * turn * b / a, sign * (further - more * b / a - offset)
    n = matrix.shape[1]
    place, signs, offsets = np.arange(n), np.ones(n), np.zeros(n)
    for cell in above:
        place[cell], signs[cell], offsets[cell] = top(cell)
    return np.unique(place, return_inverse=True)[1].astype(np.int64), signs, offsets


def _different(matrix: sparse.csr_array, rhs: Floats) -> Integers | None:
    """Return one row of each set of equal rows; None if two contradict each other."""
    said: dict[tuple[bytes, bytes], float] = {}
    rows = []
    for row, (start, stop) in enumerate(
        zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
    ):
        if start == stop:
            if rhs[row] != 0:
                return None
            continue
        turn = np.sign(matrix.data[start])
        key = matrix.indices[start:stop].tobytes(), (turn * matrix.data[start:stop]).tobytes()
        right = float(turn * rhs[row])
        if key not in said:
            said[key] = right
            rows.append(row)
        elif said[key] != right:
            return None
    return np.array(rows, dtype=np.int64)
