"""Parts of a large problem around one cell, which decide about it from both sides.

The least change that moves a cell is looked for with a few relations only, all others forgotten; relations
that it breaks are added, and so on. Cells move more freely than they can, so what bounds the cell even then
bounds it in the whole table. A change that breaks no relation is one of the whole table: a witness, and the
cells that it moves are all that a program needs to make it exact.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.evidence.disclosure import Disclosure
from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.model.arrays import Floats, Integers
from hitoku.solver.linear import LinearProgram, opened

# What moving the cell is worth beside a move of others as far, so that none of them is a reason to stay.
WORTH = 1e5
# Nobody needs to move more than so many times as far as the cell.
MOST_TIMES = 1e3
# Shares of the way that count as rounding: of a move, and of what a relation is off.
STILL, BROKEN = 1e-7, 1e-6


@dataclass(frozen=True, eq=False)
class LeastChange:
    """The least change that moves one cell, as far as some relations tell.

    Parameters
    ----------
    cells, steps
        Cells that move, and how far, in steps of the grid; not exact. None where the cell goes too short.
    rows
        The relations that were taken into account.
    n_programs
        Linear programs solved.
    """

    cells: Integers
    steps: Floats
    rows: Integers
    n_programs: int


@dataclass(frozen=True, eq=False)
class ProblemPart:
    """Some cells and rows of a problem, as a problem of its own.

    Parameters
    ----------
    problem
        The part, in its own numbers.
    cells, rows
        Which cells and rows of the whole they are, sorted.
    """

    problem: AuditProblem
    cells: Integers
    rows: Integers

    def place(self, cell: int) -> int:
        """Return where a cell of the whole is in the part."""
        return int(np.searchsorted(self.cells, cell))

    def witness(self, found: Witness) -> Witness:
        """Return a witness of the part in the numbers of the whole."""
        moved = {int(self.cells[place]): move for place, move in found.differences.items()}
        return Witness(found.denominator, moved)

    def disclosure(self, found: Disclosure) -> Disclosure:
        """Return a bound of the part in the numbers of the whole."""
        return replace(
            found,
            place=int(self.cells[found.place]),
            multipliers={int(self.rows[number]): times for number, times in found.multipliers.items()},
            taken={int(self.cells[place]): upper for place, upper in found.taken.items()},
        )


class CellSurroundings:
    """The parts of a problem around its cells."""

    def __init__(self, problem: AuditProblem) -> None:
        self._problem = problem

    @cached_property
    def _columns(self) -> Any:
        return self._problem.matrix.tocsc()

    @cached_property
    def _room(self) -> tuple[Floats, Floats]:
        low, high = self._problem.steps
        return low.astype(np.float64), high.astype(np.float64)

    def least_change(self, place: int, way: float, least: float, *, most_cells: int) -> LeastChange:
        """Move a cell by so many steps, other cells as little as possible, and all relations kept.

        Where it falls short of the least that will do, the relations that were added so far keep it from
        going there, as far as doubles tell; then no more are added.

        Parameters
        ----------
        place
            The cell.
        way
            How far, in steps: below zero for down.
        least
            What it must go at least, as a share of that.
        most_cells
            Beyond so many cells the search ends.
        """
        matrix, rows, n_programs = self._problem.matrix, self._rows_of(np.array([place])), 0
        while True:
            n_programs += 1
            cells = np.union1d(place, matrix[rows].indices)
            own = int(np.searchsorted(cells, place))
            share = self._moved(matrix[rows][:, cells], cells, own, way)
            if abs(share[own]) < max(least - BROKEN, STILL):
                break
            moved = np.flatnonzero(np.abs(share) > STILL)
            wider = np.setdiff1d(self._rows_of(cells[moved]), rows)
            broken = wider[np.abs(matrix[wider][:, cells[moved]] @ share[moved]) > BROKEN]
            if len(broken) == 0:
                return LeastChange(cells[moved], share[moved] * abs(way), rows, n_programs)
            if len(cells) > most_cells:
                break
            rows = np.union1d(rows, broken)
        return LeastChange(np.zeros(0, dtype=np.int64), np.zeros(0), rows, n_programs)

    def _moved(self, relations: Any, cells: Integers, own: int, way: float) -> Floats:
        """Return how far cells move when one is pushed, as shares of the way."""
        low, high = (np.clip(room[cells] / abs(way), -MOST_TIMES, MOST_TIMES) for room in self._room)
        if way > 0:
            low[own], high[own] = 0.0, min(high[own], 1.0)
        else:
            low[own], high[own] = max(low[own], -1.0), 0.0
        still, cost = np.zeros(2 * len(cells)), np.ones(2 * len(cells))
        cost[[own, len(cells) + own]] = -WORTH
        ends = np.concatenate([high, -low])
        program = LinearProgram(
            cost, sparse.hstack([relations, -relations]), np.zeros(relations.shape[0]), still, ends
        )
        with opened(program, dual=True) as warm:
            point = warm.solve(cost, details=False).x
        if point is None:
            return np.zeros(len(cells))
        return np.asarray(point[: len(cells)] - point[len(cells) :])

    def _rows_of(self, cells: Integers) -> Integers:
        return np.unique(self._columns[:, cells].indices)

    def held(self, asking: Collection[int], cells: Integers) -> ProblemPart:
        """Let some cells move, and no others; look at what those among them need that are asking."""
        return self._part(asking, cells, self._rows_of(cells))

    def freed(self, place: int, rows: Integers) -> ProblemPart:
        """Forget all relations but some; look at what one cell in them needs."""
        return self._part([place], np.union1d(place, self._problem.matrix[rows].indices), rows)

    def _part(self, asking: Collection[int], cells: Integers, rows: Integers) -> ProblemPart:
        whole, number = self._problem, {int(cell): k for k, cell in enumerate(cells)}
        part = AuditProblem(
            cells=whole.cells[cells],
            rows=[{number[c]: a for c, a in whole.rows[row].items() if c in number} for row in rows.tolist()],
            relation=whole.relation[rows],
            lower=[whole.lower[cell] for cell in cells.tolist()],
            upper=[whole.upper[cell] for cell in cells.tolist()],
            scale=whole.scale,
            integer=whole.integer,
            demands={k: whole.demands[cell] for cell, k in number.items() if cell in asking},
        )
        return ProblemPart(part, cells, rows)
