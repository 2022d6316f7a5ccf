"""Parts of a large problem around one cell, which decide about it from both sides.

With the cells near it alone, all others held, whatever moves is a change of the whole table: a witness. With
the relations near it alone, all others forgotten, cells move more freely than they can: what bounds the cell
even then bounds it in the whole table. CellSurroundings grow until one of the two decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hitoku.evidence.disclosure import Disclosure
from hitoku.evidence.problem import AuditProblem, Witness
from hitoku.model.arrays import Integers

# CellSurroundings of more cells are not worth a program of their own.
MOST_CELLS = 3_000


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

    def rings(self, place: int) -> Iterator[tuple[Integers, Integers, bool]]:
        """Yield cells and rows around a cell, ever more of them, and whether these are all there are."""
        cells = np.array([place])
        rows = self._rows_of(cells)
        while len(rows):
            cells = np.unique(self._problem.matrix[rows].indices)
            if len(cells) > MOST_CELLS:
                return
            wider = self._rows_of(cells)
            last = len(wider) == len(rows)
            yield cells, rows, last
            if last:
                return
            rows = wider

    def _rows_of(self, cells: Integers) -> Integers:
        return np.unique(self._columns[:, cells].indices)

    def held(self, asking: Collection[int], cells: Integers) -> ProblemPart:
        """Let some cells move, and no others; look at what those among them need that are asking."""
        return self._part(asking, cells, self._rows_of(cells))

    def freed(self, place: int, cells: Integers, rows: Integers) -> ProblemPart:
        """Forget all relations but some; ``cells`` are those in them. Look at what one of them needs."""
        return self._part([place], cells, rows)

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
