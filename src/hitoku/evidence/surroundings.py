"""Parts of a large problem around one cell, which decide about it from both sides.

With some relations forgotten cells move more freely than they can, so what bounds a cell even then bounds it
in the whole table. A change that breaks no relation is a witness, and the cells that it moves are all that a
program needs to make it exact.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hitoku.evidence.disclosure import Disclosure
from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.feasibility import DeviationSearch, LeastDeviation
from hitoku.model import Integers


@dataclass(frozen=True, eq=False)
class ProblemPart:
    """Some cells and rows of a problem, as a problem of its own."""

    problem: AuditProblem
    """The part, in its own numbers."""
    cells: Integers
    rows: Integers
    """Which cells and rows of the whole they are, sorted."""

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
    def _changes(self) -> DeviationSearch:
        return DeviationSearch.of(self._problem.in_doubles)

    def least_deviation(self, place: int, way: float, least: float, *, most_cells: int) -> LeastDeviation:
        """Move a cell by so many steps, other cells as little as possible, and all relations kept.

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
        return self._changes.least(place, way, least, most_cells=most_cells)

    def _rows_of(self, cells: Integers) -> Integers:
        return np.unique(self._changes.by_cell[:, cells].indices)

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
