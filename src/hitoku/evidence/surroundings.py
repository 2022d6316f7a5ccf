"""Parts of a large problem around one cell, which can decide about it in both directions.

Without some of the relations cells can move further, so a bound on a cell of the part is valid
in the whole table. A deviation of the part that breaks no other relation is a witness, and the cells that it
moves are all that a program needs to make it exact.
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
    """Some cells and rows of a problem, as a separate problem."""

    problem: AuditProblem
    """The part, with its own numbering."""
    cells: Integers
    rows: Integers
    """Indices of its cells and rows in the whole, ascending."""

    def place(self, cell: int) -> int:
        """Return the position in the part of a cell of the whole."""
        return int(np.searchsorted(self.cells, cell))

    def witness(self, found: Witness) -> Witness:
        """Return a witness of the part in the numbering of the whole."""
        moved = {int(self.cells[place]): move for place, move in found.differences.items()}
        return Witness(found.denominator, moved)

    def disclosure(self, found: Disclosure) -> Disclosure:
        """Return a bound of the part in the numbering of the whole."""
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
        """Move a cell by a number of steps, other cells as little as possible, keeping all relations.

        Parameters
        ----------
        place
            Index of the cell.
        way
            Distance in steps; negative for downwards.
        least
            Minimum share of the distance.
        most_cells
            Maximum number of cells in the search.
        """
        return self._changes.least(place, way, least, most_cells=most_cells)

    def _rows_of(self, cells: Integers) -> Integers:
        return np.unique(self._changes.by_cell[:, cells].indices)

    def held(self, asking: Collection[int], cells: Integers) -> ProblemPart:
        """Return the part in which only some cells may move, with the requirements of open ones."""
        return self._part(asking, cells, self._rows_of(cells))

    def freed(self, place: int, rows: Integers) -> ProblemPart:
        """Return the part with some relations only, with the requirement of one of its cells."""
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
