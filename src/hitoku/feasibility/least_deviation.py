"""The least deviation that moves one suppressed cell, found near that cell.

The search starts with a few relations and adds those that the last deviation violated. This relaxes the
problem, so a bound on the cell is valid for the entire table; a deviation that violates no relation is one of
the entire table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.feasibility.pattern import entries_of
from hitoku.feasibility.problem import Problem
from hitoku.model import BOUND, WHOLE, Floats, Integers
from hitoku.solver.linear import GrowingProgram

# Up to this many suppressed cells, programs over all cells and relations are fast.
SMALL = 6_000
# Maximum numbers of cells near a cell, in a first and a second attempt.
NEARBY_CELLS = (2_000, 20_000)


@dataclass(frozen=True, eq=False)
class LeastDeviation:
    """The least deviation that moves one cell, subject to some relations."""

    cells: Integers
    steps: Floats
    """Cells that move, and distances; not exact. Empty if the cell does not move far enough."""
    rows: Integers
    """Relations that were taken into account."""
    n_programs: int
    work: int
    """Number of linear programs solved, and total number of their cells: the same on every computer."""


@dataclass(frozen=True, eq=False)
class DeviationSearch:
    """Relations among suppressed cells, and the slack of each cell."""

    by_row: sparse.csr_array
    by_cell: Any
    """The relations, by rows and by columns."""
    low: Floats
    high: Floats
    """Bounds of deviations, below and above zero; infinite for none."""

    @classmethod
    def of(cls, problem: Problem) -> DeviationSearch:
        """Search for deviations of suppressed cells.

        Examples
        --------
        Two by two cells with published margins: if one moves, all move.

        >>> square = sparse.csr_array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
        >>> changes = DeviationSearch.of(Problem.deviations(square, np.full(4, -9.0), np.full(4, 9.0)))
        >>> changes.least(0, 5.0, 1.0, most_cells=100).steps.tolist()
        [5.0, -5.0, -5.0, 5.0]
        """
        return cls(problem.matrix, problem.matrix.tocsc(), problem.lower, problem.upper)

    def within(self, low: Floats, high: Floats) -> DeviationSearch:
        """Return the same search with other bounds."""
        return replace(self, low=low, high=high)

    def least(
        self, place: int, way: float, least: float, *, most_cells: int, weight: Floats | None = None
    ) -> LeastDeviation:
        """Move a cell, and other cells as little as possible, while keeping all relations.

        If the cell does not move far enough, the relations that were added so far prevent it, up to rounding,
        and the search ends.

        Parameters
        ----------
        place
            Index of the cell.
        way
            Distance; negative for down.
        least
            Least share of the distance that is required.
        most_cells
            Maximum number of cells.
        weight
            Cost of moving each cell, at most one; default: one.
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
    """The program of one cell: moves as shares of its distance, each split into a rise and a fall."""

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
        """Relations that are taken into account, sorted."""
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
        slacks = -self._changes.low[cells], self._changes.high[cells]
        # No cell needs to move more than a thousand times as far as this one.
        down, up = (np.clip(slack / abs(self._way), 0.0, 1e3) for slack in slacks)
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
        """Return relations that a deviation violates, among those that were not added yet."""
        rows, factors, lengths = _entries(self._changes.by_cell, cells)
        found, place = np.unique(rows, return_inverse=True)
        off = np.bincount(place, factors * np.repeat(share, lengths))
        return np.asarray(found[(np.abs(off) > WHOLE) & ~self._taken[found]])


def _entries(matrix: Any, lines: Integers) -> tuple[Integers, Floats, Integers]:
    """Return indices, coefficients and lengths of rows of a CSR matrix, or columns of a CSC matrix."""
    within, ends = entries_of(matrix.indptr, lines)
    return matrix.indices[within].astype(np.int64), matrix.data[within].astype(np.float64), np.diff(ends)
