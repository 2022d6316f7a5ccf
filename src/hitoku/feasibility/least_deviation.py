"""The least change of withheld cells that moves one of them: what an outsider cannot see, near one cell.

It is looked for with a few relations only, all others forgotten; relations that it breaks are added, and so
on. Cells move more freely than they can, so what bounds the cell even then bounds it in the whole table. A
change that breaks no relation is one of the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.feasibility.incidence import entries_of
from hitoku.feasibility.problem import Problem
from hitoku.model import BOUND, WHOLE, Floats, Integers
from hitoku.solver.growing import GrowingProgram

# Up to so many withheld cells programs over all of them, with all relations, are quick.
SMALL = 6_000
# Near a cell are no more cells than this, at first and then.
NEARBY_CELLS = (2_000, 20_000)


@dataclass(frozen=True, eq=False)
class LeastDeviation:
    """The least change that moves one cell, as far as some relations tell."""

    cells: Integers
    steps: Floats
    """Cells that move, and how far; not exact. None where the cell goes too short."""
    rows: Integers
    """The relations that were taken into account."""
    n_programs: int
    work: int
    """Linear programs solved, and the cells that they had, added up: the same on every computer."""


@dataclass(frozen=True, eq=False)
class DeviationSearch:
    """Relations among withheld cells, and how far each of these may move."""

    by_row: sparse.csr_array
    by_cell: Any
    """The relations, by rows and by columns."""
    low: Floats
    high: Floats
    """Rooms below and above zero, infinite where there is no end."""

    @classmethod
    def of(cls, problem: Problem) -> DeviationSearch:
        """Look at differences of withheld cells.

        Examples
        --------
        Two by two cells with published margins: whoever moves one moves all.

        >>> square = sparse.csr_array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
        >>> changes = DeviationSearch.of(Problem.deviations(square, np.full(4, -9.0), np.full(4, 9.0)))
        >>> changes.least(0, 5.0, 1.0, most_cells=100).steps.tolist()
        [5.0, -5.0, -5.0, 5.0]
        """
        return cls(problem.matrix, problem.matrix.tocsc(), problem.lower, problem.upper)

    def within(self, low: Floats, high: Floats) -> DeviationSearch:
        """Give cells other rooms."""
        return replace(self, low=low, high=high)

    def least(
        self, place: int, way: float, least: float, *, most_cells: int, weight: Floats | None = None
    ) -> LeastDeviation:
        """Move a cell, other cells as little as possible, and all relations kept.

        Where it falls short of the least that will do, the relations that were added so far keep it from
        going there, as far as doubles tell; then no more are added.

        Parameters
        ----------
        place
            The cell.
        way
            How far: below zero for down.
        least
            What it must go at least, as a share of that.
        most_cells
            Beyond so many cells the search ends.
        weight
            What moves of each cell cost, at most one; left out, they all cost one.
        """
        program = _Neighbourhood(self, place, way, weight)
        broken = _entries(self.by_cell, np.array([place]))[0]
        if self.by_row.shape[1] <= SMALL:
            broken = np.arange(self.by_row.shape[0])
        while True:
            program.add(broken)
            share = program.solve()
            if share is None or abs(share[0]) < max(least - WHOLE, BOUND):
                break
            moved = np.flatnonzero(np.abs(share) > BOUND)
            cells = program.cells[moved]
            broken = program.broken(cells, share[moved])
            if len(broken) == 0:
                order = np.argsort(cells)
                steps = share[moved][order] * abs(way)
                return LeastDeviation(cells[order], steps, program.rows, program.n_solved, program.work)
            if len(program.cells) > most_cells:
                break
        return LeastDeviation(
            np.zeros(0, dtype=np.int64), np.zeros(0), program.rows, program.n_solved, program.work
        )


class _Neighbourhood:
    """The program of one cell: moves as shares of its way, each split into one up and one down."""

    def __init__(self, changes: DeviationSearch, place: int, way: float, weight: Floats | None) -> None:
        self._changes, self._place, self._way, self._weight = changes, place, way, weight
        self._program = GrowingProgram()
        self._column = np.full(changes.by_row.shape[1], -1, dtype=np.int64)
        self._taken = np.zeros(changes.by_row.shape[0], dtype=np.bool_)
        self.cells = np.zeros(0, dtype=np.int64)
        self.n_solved = self.work = 0
        self._let_move(np.array([place]))

    @property
    def rows(self) -> Integers:
        """The relations that are taken into account, sorted."""
        return np.flatnonzero(self._taken)

    def add(self, rows: Integers) -> None:
        """Take more relations into account."""
        rows = rows[~self._taken[rows]]
        self._taken[rows] = True
        cells, factors, lengths = _entries(self._changes.by_row, rows)
        self._let_move(np.unique(cells[self._column[cells] < 0]))
        columns = np.repeat(2 * self._column[cells], 2)
        columns[1::2] += 1
        coefficients = np.repeat(factors, 2)
        coefficients[1::2] *= -1.0
        self._program.add_rows(np.concatenate([[0], np.cumsum(2 * lengths)]), columns, coefficients)

    def _let_move(self, cells: Integers) -> None:
        self._column[cells] = np.arange(len(self.cells), len(self.cells) + len(cells))
        self.cells = np.concatenate([self.cells, cells])
        rooms = -self._changes.low[cells], self._changes.high[cells]
        # No cell needs to move more than a thousand times as far as this one.
        down, up = (np.clip(room / abs(self._way), 0.0, 1e3) for room in rooms)
        cost = np.ones(len(cells)) if self._weight is None else self._weight[cells]
        own = cells == self._place
        # Moving the cell is worth far more than moves of others as far cost, so that it moves if it can.
        cost[own] = -1e5
        ways = (up, down) if self._way > 0 else (down, up)
        ways[0][own], ways[1][own] = np.minimum(ways[0][own], 1.0), 0.0
        self._program.add_columns(np.repeat(cost, 2), np.column_stack([up, down]).ravel())

    def solve(self) -> Floats | None:
        """Return the shares by which cells move."""
        self.n_solved += 1
        self.work += len(self.cells)
        point = self._program.solve()
        return None if point is None else np.asarray(point[::2] - point[1::2])

    def broken(self, cells: Integers, share: Floats) -> Integers:
        """Return relations that are not kept by a change of some cells, among those not looked at yet."""
        rows, factors, lengths = _entries(self._changes.by_cell, cells)
        found, place = np.unique(rows, return_inverse=True)
        off = np.bincount(place, factors * np.repeat(share, lengths))
        return np.asarray(found[(np.abs(off) > WHOLE) & ~self._taken[found]])


def _entries(matrix: Any, lines: Integers) -> tuple[Integers, Floats, Integers]:
    """Return places and numbers in rows of a matrix by rows, or columns of one by columns, and lengths."""
    within, ends = entries_of(matrix.indptr, lines)
    return matrix.indices[within].astype(np.int64), matrix.data[within].astype(np.float64), np.diff(ends)
