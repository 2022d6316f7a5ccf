"""Flags instead of rectangles: suppressed cells follow from public facts and one bit per group.

Cells with similar expectations form small groups, anywhere in the table. A group is
*flagged* if one of its cells is unsafe, and is then suppressed whole. Further cells are chosen from the flags
and public facts alone, so that every line with suppressed cells has some that can move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hitoku.methods.blocks import PARTS
from hitoku.methods.tuning import FLAGGED_GROUPS
from hitoku.model import Integers, Mask


def groups_of(expected: Integers, size: int) -> Integers:
    """Group cells, those with the least expectation first; return group numbers, rows by columns.

    Remaining cells join the last group.

    Examples
    --------
    >>> groups_of(np.array([[1, 9, 2], [8, 3, 30]]), 2)
    array([[0, 2, 0],
           [1, 1, 2]])
    """
    group = np.empty(expected.size, dtype=np.int64)
    last = max(expected.size // size - 1, 0)
    group[np.argsort(expected, axis=None, kind="stable")] = np.minimum(np.arange(expected.size) // size, last)
    return group.reshape(expected.shape)


def flag_groups(group: Integers, unsafe: Mask) -> Mask:
    """Return which cells belong to a group with an unsafe cell.

    Examples
    --------
    >>> flag_groups(np.array([[0, 1], [1, 0]]), np.array([[True, False], [False, False]])).astype(int)
    array([[1, 0],
           [0, 1]])
    """
    marked = np.zeros(int(group.max()) + 1, dtype=np.bool_)
    marked[group[unsafe]] = True
    return marked[group]


def closure(marked: Mask, expected: Integers, width: int, count: int) -> Mask:
    """Add cells until every line with a suppressed cell has ``count`` others that can move.

    Parameters
    ----------
    marked
        Cells of flagged groups.
    expected
        Public expectation, in units of 1/1024.
    width, count
        Largest required width; cells per line.

    Examples
    --------
    >>> marked = np.eye(4, dtype=bool) & (np.arange(4) < 2)
    >>> closure(marked, np.full((4, 4), 100 * PARTS), 5, 1).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 0, 0],
           [0, 0, 0, 0]])
    """
    lines = Lines(marked, marked.copy(), expected, FLAGGED_GROUPS.ample_share * width * PARTS, count)
    lines.widen()
    going = True
    while going:
        going = False
        for axis in (0, 1):
            for line in range(marked.shape[axis]):
                going |= lines.lacks(axis, line) and lines.add(axis, line)
    return lines.hidden


@dataclass(frozen=True, eq=False)
class Lines:
    """Rows (axis 0) and columns (axis 1) while cells are added."""

    # marked, hidden: cells of flagged groups; all cells withheld so far.
    marked: Mask
    hidden: Mask
    # expected, enough: expectation, and the amount from which a cell can move.
    expected: Integers
    enough: int
    count: int  # Number of such cells that a line must have.

    def lacks(self, axis: int, line: int) -> bool:
        """Return whether a line with suppressed cells needs one more."""
        n_hidden = int(self._along(self.hidden, axis)[line].sum())
        n_marked = int(self._along(self.marked, axis)[line].sum())
        return (
            0 < n_hidden < max(2, n_marked + self.count)
            and n_marked < FLAGGED_GROUPS.max_flagged * self.count
        )

    def add(self, axis: int, line: int) -> bool:
        """Suppress one more cell of a line; return False if there is none."""
        hidden, expected = self._along(self.hidden, axis), self._along(self.expected, axis)[line]
        places = np.flatnonzero(~hidden[line])
        if not len(places):
            return False
        ample = places[expected[places] >= self.enough]
        touched = ample[hidden[:, ample].any(axis=0)]
        if len(touched):
            lacking = np.array([self.lacks(1 - axis, int(place)) for place in touched])
            place = touched[np.lexsort((expected[touched], ~lacking))[0]]
        elif len(ample):
            place = ample[expected[ample].argmin()]
        else:
            place = places[expected[places].argmax()]
        hidden[line, place] = True
        return True

    def widen(self) -> None:
        """Suppress a cell of the largest line if only one row or column is affected, and so derivable."""
        for axis in (0, 1):
            hidden, expected = self._along(self.hidden, axis), self._along(self.expected, axis)
            lines = np.flatnonzero(hidden.any(axis=1))
            if len(lines) == 1:
                others = expected.sum(axis=1)
                others[lines] = -1
                columns = np.flatnonzero(hidden[lines[0]])
                hidden[others.argmax(), columns] = True

    @staticmethod
    def _along(cells: np.ndarray, axis: int) -> np.ndarray:
        return cells if axis == 0 else cells.T
