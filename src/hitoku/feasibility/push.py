"""Push one cell as far as possible, repeatedly, while bounds of single cells change.

Variables are deviations from the true table, so zero is feasible. Networks are pushed by maximum flows, other
problems by a linear program that stays open; both give the same distances.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy import sparse

from hitoku.errors import SolverError
from hitoku.feasibility.incidence import Components, Incidence
from hitoku.feasibility.network import arcs
from hitoku.model import ROUNDING, Floats, Integers
from hitoku.solver.linear import LinearProgram, Solution, SolverStatus, Warm
from hitoku.solver.work import CountedWork

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
        self, relations: Incidence, parts: Components, room: tuple[Floats, Floats], work: CountedWork
    ) -> None:
        from hitoku.kernels.flow import graph_of  # noqa: PLC0415 - loads numba

        tail, head, outside = arcs(relations, parts.row, parts.sign)
        self._graph = graph_of(tail, head, relations.n_rows + int(outside.max(initial=-1)) + 1)
        self._lower, self._upper, self._work = -room[0], room[1].copy(), work
        sizes = np.abs(np.concatenate(room))
        sizes = sizes[np.isfinite(sizes)]
        whole = np.array_equal(sizes, np.rint(sizes))
        self._tiny = 0.0 if whole else ROUNDING * float(sizes.max(initial=0.0))

    def bound(self, cell: int, down: float, up: float) -> None:
        self._lower[cell], self._upper[cell] = -down, up

    def far(self, cell: int, *, up: bool, cap: float) -> tuple[float, Floats]:
        distance, x = self._sent(cell, up=up, goal=np.inf)
        return (distance, x) if np.isfinite(distance) else (np.inf, self._sent(cell, up=up, goal=cap)[1])

    def _sent(self, cell: int, *, up: bool, goal: float) -> tuple[float, Floats]:
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
        room = self._down[cell], self._up[cell]
        self.bound(cell, min(room[0], cap), min(room[1], cap))
        x = _point(push(cell, details=False))
        self.bound(cell, *room)
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
