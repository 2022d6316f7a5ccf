"""Cells tied by a relation with two suppressed cells: each determines the other.

Such cells rise and fall together, or one rises as the other falls. In a release, most suppressed cells are
tied to another one, often in chains. One cell of each chain represents all, which leaves about a third of the
unknowns and even fewer relations, because many become equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from hitoku.feasibility.problem import Problem
from hitoku.model import Floats, Integers

Pair = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Tied:
    """Every cell as ``sign * x[standing] + offset`` of its representative."""

    equations: Problem
    """The remaining problem in the representatives."""
    standing: Integers
    sign: Floats
    offset: Floats
    """For every cell its representative, a sign, and an integer number of units."""

    def inner(self, low: Floats, high: Floats) -> Pair:
        """Turn bounds of cells into bounds of their representatives: the narrowest."""
        n = self.equations.n_cells
        least, most = np.full(n, -np.inf), np.full(n, np.inf)
        low, high = self._turned(low, high)
        np.maximum.at(least, self.standing, low)
        np.minimum.at(most, self.standing, high)
        return least, most

    def farthest(self, low: Floats, high: Floats) -> Pair:
        """Turn goals of cells into goals of their representatives: the farthest; NaN without goals."""
        n = self.equations.n_cells
        least, most = np.full(n, np.nan), np.full(n, np.nan)
        low, high = self._turned(low, high)
        np.fmin.at(least, self.standing, low)
        np.fmax.at(most, self.standing, high)
        return least, most

    def _turned(self, low: Floats, high: Floats) -> Pair:
        same = self.sign > 0
        return (
            np.where(same, low - self.offset, self.offset - high),
            np.where(same, high - self.offset, self.offset - low),
        )

    def members(self, low: Floats, high: Floats) -> Pair:
        """Turn ends of representatives into ends of all cells."""
        low, high, same = low[self.standing], high[self.standing], self.sign > 0
        return (
            np.where(same, low + self.offset, self.offset - high),
            np.where(same, high + self.offset, self.offset - low),
        )


def tied(equations: Problem) -> Tied | None:
    """Choose a representative of each set of tied cells; None if numbers are not integer, or contradict.

    Examples
    --------
    A row of two suppressed cells with sum 10, and a row of three.

    >>> matrix = sparse.csr_array(np.array([[1.0, 1, 0, 0], [0, 1, 1, 1]]))
    >>> rows, cells = np.array([10.0, 30.0]), np.zeros(4)
    >>> found = tied(Problem(matrix, rows, cells, cells + 99, rows, exact=True))
    >>> found.standing.tolist(), found.sign.tolist(), found.offset.tolist()
    ([0, 0, 1, 2], [-1.0, 1.0, 1.0, 1.0], [10.0, 0.0, 0.0, 0.0])
    >>> found.equations.matrix.toarray().tolist(), found.equations.upper.tolist()
    ([[1.0, 1.0, 1.0]], [10.0, 99.0, 99.0])
    """
    if not equations.exact:
        return None
    n = equations.n_cells
    found = Tied(equations, np.arange(n), np.ones(n), np.zeros(n))
    while True:
        left = found.equations
        place, sign, offset = _followed(left)
        if len(place) == left.n_cells and np.array_equal(place, np.arange(len(place))):
            return found
        onto = sparse.csr_array((sign, (np.arange(len(place)), place)), (len(place), int(place.max()) + 1))
        matrix = sparse.csr_array(left.matrix @ onto)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        rhs = left.rhs - left.matrix @ offset
        rows = _different(matrix, rhs)
        if rows is None:
            return None
        step = Tied(
            replace(left, matrix=matrix[rows], rhs=rhs[rows], size=left.size[rows]), place, sign, offset
        )
        lower, upper = step.inner(left.lower, left.upper)
        found = Tied(
            replace(step.equations, lower=lower, upper=upper),
            place[found.standing],
            found.sign * sign[found.standing],
            found.sign * offset[found.standing] + found.offset,
        )


def _followed(equations: Problem) -> tuple[Integers, Floats, Floats]:
    """Follow relations with two cells; return the representative, sign and offset of every cell."""
    matrix = equations.matrix
    above: dict[int, tuple[int, float, float]] = {}

    def top(cell: int) -> tuple[int, float, float]:
        sign, offset = 1.0, 0.0
        while cell in above:
            cell, turn, further = above[cell]
            sign, offset = sign * turn, sign * further + offset
        return cell, sign, offset

    for row in np.flatnonzero(np.diff(matrix.indptr) == 2).tolist():
        start = matrix.indptr[row]
        (first, second), (a, b) = matrix.indices[start : start + 2].tolist(), matrix.data[start : start + 2]
        further = float(equations.rhs[row] / a)
        if abs(a) != abs(b) or not further.is_integer():
            continue
        # a * first + b * second == rhs: first == -b / a * second + rhs / a.
        one, sign, offset = top(first)
        other, turn, more = top(second)
        if one != other:
            above[one] = other, -sign * turn * b / a, sign * (further - more * b / a - offset)
    n = matrix.shape[1]
    place, signs, offsets = np.arange(n), np.ones(n), np.zeros(n)
    for cell in above:
        place[cell], signs[cell], offsets[cell] = top(cell)
    return np.unique(place, return_inverse=True)[1].astype(np.int64), signs, offsets


def _different(matrix: sparse.csr_array, rhs: Floats) -> Integers | None:
    """Return one row of each set of equal rows; None if two contradict each other."""
    said: dict[tuple[bytes, bytes], float] = {}
    rows = []
    for row, (start, stop) in enumerate(
        zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
    ):
        if start == stop:
            if rhs[row] != 0:
                return None
            continue
        turn = np.sign(matrix.data[start])
        key = matrix.indices[start:stop].tobytes(), (turn * matrix.data[start:stop]).tobytes()
        right = float(turn * rhs[row])
        if key not in said:
            said[key] = right
            rows.append(row)
        elif said[key] != right:
            return None
    return np.array(rows, dtype=np.int64)
