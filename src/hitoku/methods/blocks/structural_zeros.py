"""Exchanges in a rectangle along augmenting paths, also around structural zeros."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hitoku.methods.blocks.attainable_range import FAR, Local
from hitoku.model import Integers, Mask

Cell = tuple[int, int]


def push(
    values: Integers,
    lower: Integers,
    upper: Integers,
    source: int,
    sink: int,
    most: int,
    touched: set[Cell] | None = None,
) -> int:
    """Push units from one line to another through the cells of a table, in place; return how many.

    Lines are rows, then columns. From a row to a column a unit moves by lowering their cell, from a column to
    a row by raising it, so all other sums stay. Shortest paths first: every path visits a line at most once,
    and the number of paths is bounded independently of the values.

    Parameters
    ----------
    values, lower, upper
        Table, and bounds of its cells.
    source, sink, most
        First and last line, and the limit.
    touched
        Set to which the changed cells are added.

    Examples
    --------
    >>> table = np.array([[5, 0], [2, 3]])
    >>> push(table, 0 * table, 0 * table + 9, 0, 1, 4), table.tolist()  # from the first row to the second
    (4, [[1, 0], [6, 3]])
    """
    pushed = 0
    while pushed < most:
        path = _shortest(values, lower, upper, source, sink)
        if path is None:
            break
        lowered, raised = path
        slack = [int(values[cell] - lower[cell]) for cell in lowered]
        step = min([most - pushed, *slack, *(int(upper[cell] - values[cell]) for cell in raised)])
        for cell in lowered:
            values[cell] -= step
        for cell in raised:
            values[cell] += step
        if touched is not None:
            touched.update(lowered, raised)
        pushed += step
    return pushed


def _shortest(
    values: Integers, lower: Integers, upper: Integers, source: int, sink: int
) -> tuple[list[Cell], list[Cell]] | None:
    """Find the cells to lower and to raise along a shortest path from line to line."""
    n_rows, n_columns = values.shape
    before = np.full(n_rows + n_columns, -1)
    before[source] = source
    frontier = np.array([source])
    while before[sink] < 0 and len(frontier):
        by_row = frontier[0] < n_rows
        if by_row:
            steps = (values[frontier] > lower[frontier]) & (before[n_rows:] < 0)
        else:
            columns = frontier - n_rows
            steps = ((upper[:, columns] > values[:, columns]) & (before[:n_rows] < 0)[:, None]).T
        met = np.flatnonzero(steps.any(axis=0))
        before[met + n_rows if by_row else met] = frontier[steps[:, met].argmax(axis=0)]
        frontier = met + n_rows if by_row else met
    if before[sink] < 0:
        return None
    lowered, raised = [], []
    line = sink
    while line != source:
        other = int(before[line])
        if other < n_rows:
            lowered.append((other, line - n_rows))
        else:
            raised.append((line, other - n_rows))
        line = other
    return lowered, raised


@dataclass(frozen=True, eq=False)
class Rectangle:
    """One rectangle, cut across its columns or not at all."""

    # A table with the sums of the rectangle. Any such table will do: no result depends on the choice.
    values: Integers
    # first, last, large, width: per cell, as in :class:`Terms`.
    first: Integers
    last: Integers
    large: Integers
    width: Integers
    free: Mask = field(kw_only=True)  # Cells that are not structural zeros.

    @property
    def transposed(self) -> Rectangle:
        parts = (self.values, self.first, self.last, self.large, self.width)
        return Rectangle(*(part.T for part in parts), free=self.free.T)

    def families(self, cut: int | None, *, both: bool = False) -> Iterator[tuple[Integers, Mask, int, Mask]]:
        """List tables with their free cells, and the row and the columns of a segment.

        Such a table has an additional last row with the remainder of the segment's row. The segment has the
        least sum that it may have; with ``both`` a table with the largest is listed too.
        """
        for row, inside, first, last in self._segments(cut):
            free = np.vstack([self.free, self.free[row]])
            free[row] &= inside
            free[-1] &= ~inside
            for goal in (first, last) if both else (first,):
                values = np.vstack([self.values, self.values[row] * ~inside])
                values[row] *= inside
                lacking = goal - int(values[row].sum())
                lines = (len(values) - 1, row) if lacking > 0 else (row, len(values) - 1)
                push_beside(values, free, *lines, abs(lacking))
                if first <= values[row].sum() <= last:
                    yield values, free, row, inside

    def _segments(self, cut: int | None) -> Iterator[tuple[int, Mask, int, int]]:
        """List rows, columns of a segment, and the sums that give the rectangle its reason."""
        n_rows, n_columns = self.values.shape
        places = np.arange(n_columns)
        if cut is None:
            for row, column in np.argwhere(self.free & (self.first <= self.last)).tolist():
                yield row, places == column, int(self.first[row, column]), int(self.last[row, column])
            return
        narrow = np.minimum(self.last, self.width - 1)
        for row in range(n_rows):
            for inside in (places < cut, places >= cut):
                mine = inside & self.free[row]
                if mine.any():
                    first, last = int(self.first[row, mine].max()), int(narrow[row, mine].min())
                    if first <= last:
                        yield row, inside, first, last

    def may_be_unsafe(self, row: int, column: int) -> bool:
        """Return whether a table with these sums and zeros has an unsafe count there."""
        down, up = reach(self.values, self.free, row, column, int(FAR), int(FAR))
        value = self.values[row, column]
        low, high = value - down, value + up
        first, last = self.first[row, column], self.last[row, column]
        small = first <= last and low <= last and high >= first
        return bool(small or high >= self.large[row, column])


def wide_around_zeros(rectangle: Rectangle, axis: int, cut: int) -> bool:
    """Return whether every cell that may be unsafe is wide enough within one family of tables.

    Parameters
    ----------
    rectangle
        A leaf, or an inner node.
    axis, cut
        Direction and position of the cut of an inner node; -1 for leaves.
    """
    if axis == 0:
        rectangle = rectangle.transposed
    values, width = rectangle.values, rectangle.width
    sums = values.sum(axis=1)[None], values.sum(axis=0)[None]
    parts = (part[None] for part in (rectangle.first, rectangle.last, rectangle.large, width))
    # More cells than those that may be unsafe with the zeros, and quickly found.
    waiting = Local(*sums, *parts).may_be_unsafe[0] & rectangle.free
    for table, free, split, inside in rectangle.families(None if axis < 0 else cut):
        if not waiting.any():
            return True
        n_rows = len(values)
        easy = _swaps(table, free)
        for row, column in np.argwhere(waiting).tolist():
            place = row if row != split or inside[column] else n_rows
            enough = int(width[row, column])
            if easy[place, column] >= enough:
                waiting[row, column] = False
                continue
            down, up = reach(table, free, place, column, enough, enough)
            waiting[row, column] = down + up < enough
    return not any(rectangle.may_be_unsafe(row, column) for row, column in np.argwhere(waiting).tolist())


def reach(values: Integers, free: Mask, row: int, column: int, down: int, up: int) -> tuple[int, int]:
    """Return how far a cell can fall and rise while all sums stay, up to given limits."""
    own = int(values[row, column])
    found = []
    n_rows = len(values)
    for source, sink, most in ((n_rows + column, row, min(down, own)), (row, n_rows + column, up)):
        others, open_cells = values.copy(), free.copy()
        others[row, column], open_cells[row, column] = 0, False
        found.append(push_beside(others, open_cells, source, sink, int(most)))
    return found[0], found[1]


def push_beside(values: Integers, free: Mask, source: int, sink: int, most: int) -> int:
    """Push units from one line to another; free cells have no upper bound."""
    return push(values, np.zeros_like(values), np.where(free, FAR, 0), source, sink, most)


def _swaps(values: Integers, free: Mask) -> Integers:
    """Return how far cells can rise at least, by one exchange with the largest of their row and column."""
    of_row, of_column = values.argmax(axis=1), values.argmax(axis=0)
    n_rows, n_columns = values.shape
    most = np.minimum(values.max(axis=1)[:, None], values.max(axis=0)[None, :])
    apart = (of_row[:, None] != np.arange(n_columns)) & (of_column[None, :] != np.arange(n_rows)[:, None])
    return np.where(apart & free[of_column[None, :], of_row[:, None]], most, 0)
