"""Attainable range of a cell of a rectangle, given only the rectangle's sums and its reason.

A *segment* is the part of one row that lies in some of the columns. If its sum is fixed, the row splits into
two rows: one that may use these columns only, one that may use the others only. For such tables Hall's
condition is short, and the least and largest value of every cell have closed forms; if the sum of the segment
may be any integer of a range, the ends of that range decide. The derivation is in
docs/explanation/blocks.md.

Arrays hold many rectangles of one shape at once: rectangles, or rectangles by rows by columns.

Expected inner cells as integers, computed from public information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hitoku.errors import ParameterError
from hitoku.model import Integers, Mask

# Expected counts are stored in units of 1/1024.
PARTS = 1024


def expectation(
    rows: Integers, columns: Integers, given: ArrayLike | None, plenty: int | None = None
) -> Integers:
    """Return the expectation of every cell, from both totals or as given, in units of 1/1024.

    A given expectation is capped at ``plenty``: above it a cell is not small, and its exact size would only
    prevent lines with small cells in the same positions from being adjacent.

    Examples
    --------
    >>> expectation(np.array([10, 30]), np.array([20, 20]), None) // PARTS
    array([[ 5,  5],
           [15, 15]])
    """
    whole, rest = np.divmod(rows[:, None] * columns[None, :], max(int(rows.sum()), 1))
    shares: Integers = whole * PARTS + rest * PARTS // max(int(rows.sum()), 1)
    if given is None:
        return shares
    shape = shares.shape
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_expectation(shape) from error
    if numbers.size == (shape[0] + 1) * (shape[1] + 1):
        numbers = numbers.reshape(shape[0] + 1, shape[1] + 1)[:-1, :-1]
    if numbers.shape != shape or np.isinf(numbers).any() or np.any(numbers < 0):
        raise wrong_expectation(shape)
    known = ~np.isnan(numbers)
    counts = np.where(known, np.rint(np.where(known, numbers, 0) * PARTS).astype(np.int64), shares)
    return counts if plenty is None else np.minimum(counts, plenty * PARTS)


def wrong_expectation(shape: Sequence[int]) -> ParameterError:
    return ParameterError(
        "expected_shape",
        "expected is not a table of {n_rows} by {n_columns} non-negative numbers",
        where="blocks, expected",
        fix="give the inner cells, or all cells of a release over the same codes; NaN where nothing is known",
        n_rows=shape[0],
        n_columns=shape[1],
    )


# Larger than every count.
FAR = np.int64(2**60)


@dataclass(frozen=True, eq=False)
class Local:
    """Public information about rectangles of one shape."""

    # rows, columns: sums of their rows and columns.
    rows: Integers
    columns: Integers
    # first, last: per cell, the least and the largest small count that is unsafe; none if ``first > last``.
    first: Integers
    last: Integers
    large: Integers  # Per cell, the count from which it is unsafe again; ``FAR`` if there is none.
    width: Integers  # Per cell, the required width.

    @property
    def transposed(self) -> Local:
        turned = (a.swapaxes(1, 2) for a in (self.first, self.last, self.large, self.width))
        return Local(self.columns, self.rows, *turned)

    @property
    def may_be_unsafe(self) -> Mask:
        """Cells for which the sums allow an unsafe count."""
        row, column = self.rows[:, :, None], self.columns[:, None, :]
        total = self.rows.sum(axis=1)[:, None, None]
        least, most = np.maximum(0, row + column - total), np.minimum(row, column)
        small = (self.first <= self.last) & (least <= self.last) & (most >= self.first)
        return np.asarray(small | (most >= self.large))


def wide_alone(local: Local) -> Mask:
    """Return for leaves whether every cell that may be unsafe is wide over the tables with an unsafe cell."""
    return reach_alone(local).wide(local)


def reach_alone(local: Local) -> AttainableRange:
    """Return the ranges of leaf cells over tables in which some cell lies between ``first`` and ``last``."""
    reach = AttainableRange.nowhere(local)
    for column in range(local.columns.shape[1]):
        inside = np.arange(local.columns.shape[1]) == column
        reach.widen(local, inside, local.first[:, :, column], local.last[:, :, column])
    return reach


def wide_together(local: Local, axis: int, cut: int) -> Mask:
    """Return for inner nodes whether cells that may be unsafe are wide over tables in which a part calls.

    Parameters
    ----------
    local
        The nodes.
    axis, cut
        Position of the cut: before this row (axis 0) or column (axis 1).
    """
    if axis == 0:
        local = local.transposed
    reach = AttainableRange.nowhere(local)
    for inside in (np.arange(local.columns.shape[1]) < cut, np.arange(local.columns.shape[1]) >= cut):
        # A positive sum below every threshold has an unsafe cell; below every width that cell is narrow.
        first = local.first[:, :, inside].max(axis=2)
        last = np.minimum(local.last, local.width - 1)[:, :, inside].min(axis=2)
        reach.widen(local, inside, first, last)
    return reach.wide(local)


@dataclass(frozen=True, eq=False)
class AttainableRange:
    """Least and largest values found so far."""

    least: Integers
    most: Integers

    @classmethod
    def nowhere(cls, local: Local) -> AttainableRange:
        return cls(np.full(local.width.shape, FAR), np.full(local.width.shape, -FAR))

    def wide(self, local: Local) -> Mask:
        """Return which rectangles are wide enough."""
        enough: Mask = ~local.may_be_unsafe | (self.most - self.least >= local.width)
        return np.asarray(enough.all(axis=(1, 2)))

    def widen(self, local: Local, inside: Mask, first: Integers, last: Integers) -> None:
        """Include the tables in which the segment of some row has a sum from ``first`` to ``last``.

        Parameters
        ----------
        local
            The rectangles.
        inside
            Columns of the segment.
        first, last
            Bounds of the sum, rectangles by rows.
        """
        rows, columns = local.rows, local.columns
        total, here = rows.sum(axis=1, keepdims=True), columns[:, inside].sum(axis=1, keepdims=True)
        there = total - here
        first, last = np.maximum(first, rows - there), np.minimum(np.minimum(last, rows), here)
        possible = first <= last
        taken = least_of_others(np.where(possible, first, FAR))[:, :, None]
        left = least_of_others(np.where(possible, rows - last, FAR))[:, :, None]
        row, column = rows[:, :, None], columns[:, None, :]
        total, here, there = total[:, :, None], here[:, :, None], there[:, :, None]
        other = taken < FAR
        # Segment of another row.
        most = np.minimum(np.minimum(row, column), np.where(inside, here - taken, there - left))
        least = np.maximum(0, row + column - total + np.where(inside, left, taken))
        np.maximum(self.most, np.where(other, most, -FAR), out=self.most)
        np.minimum(self.least, np.where(other, least, FAR), out=self.least)
        # Segment of its own row.
        own = possible[:, :, None]
        begin, end = first[:, :, None], last[:, :, None]
        most = np.minimum(np.where(inside, end, row - begin), column)
        least = np.maximum(0, column + np.where(inside, begin - here, row - end - there))
        np.maximum(self.most, np.where(own, most, -FAR), out=self.most)
        np.minimum(self.least, np.where(own, least, FAR), out=self.least)


def least_of_others(values: Integers) -> Integers:
    """Return for every position of a row the least of the other positions.

    Examples
    --------
    >>> least_of_others(np.array([[3, 1, 2], [5, 5, 9]]))
    array([[1, 2, 1],
           [5, 5, 5]])
    """
    if values.shape[1] == 1:
        return np.full(values.shape, FAR)
    two = np.partition(values, 1, axis=1)[:, :2]
    return np.where(values == two[:, :1], two[:, 1:], two[:, :1])
