"""Numbers of a table as exact rationals: a proof cannot rely on rounded numbers.

Doubles that represent 12.34 are read as 1234 hundredths. If no grid of at most six decimals fits, the
exact values of the doubles are used; such a table seldom adds up exactly, and then it gets no
certificate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from hitoku.model import MAX_DECIMALS, SUM_ROUNDING, Floats, Mask, rational

# A number further from the grid than this share of a step was not printed on that grid.
STEP_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Grid:
    """Values as integer multiples of a step.

    Examples
    --------
    >>> Grid.of(np.array([0.1, 0.2, 0.1 + 0.2])).units
    [1, 2, 3]
    """

    scale: int
    """Steps per unit: 100 for two decimals."""
    units: list[int]
    """The value of every cell in steps."""

    @classmethod
    def of(cls, value: Floats) -> Grid:
        """Find the coarsest decimal grid of the values; their exact doubles if there is none."""
        largest = float(np.max(np.abs(value), initial=0.0))
        for decimals in range(MAX_DECIMALS + 1):
            scale = 10**decimals
            steps = value * scale
            off = np.abs(steps - np.rint(steps))
            allowed = rounding(largest, scale) * scale
            if largest * scale < 2.0**62 and np.all(off <= allowed):
                return cls(scale, np.rint(steps).astype(np.int64).tolist())
        exact = [Fraction(float(number)) for number in value]
        scale = max((number.denominator for number in exact), default=1)
        return cls(scale, [int(number * scale) for number in exact])

    def value(self, cell: int) -> Fraction:
        """Exact value of one cell."""
        return Fraction(self.units[cell], self.scale)

    @property
    def texts(self) -> list[int | str]:
        """All values, written exactly."""
        return [*self.units] if self.scale == 1 else [text(self.value(i)) for i in range(len(self.units))]

    def same(self, other: Floats) -> Mask:
        """Return which doubles represent the same numbers, such as 0.3 and 0.1 + 0.2."""
        own = np.array([unit / self.scale for unit in self.units])
        allowed = rounding(float(np.max(np.abs(own), initial=0.0)), self.scale)
        return np.asarray(np.abs(other - own) <= allowed)

    def adds_up(self, relations: Any) -> bool:
        """Return whether every relation holds exactly."""
        data = relations.data
        whole = bool(np.all(data == np.rint(data)))
        largest = max((abs(unit) for unit in self.units), default=0)
        widest = float(np.max(np.abs(relations).sum(axis=1), initial=0.0))
        if whole and largest * widest < 2.0**62:
            return not np.any(relations.astype(np.int64) @ np.array(self.units, dtype=np.int64))
        return all(
            sum(c * self.units[cell] for cell, c in zip(cells, coefficients, strict=True)) == 0
            for cells, coefficients in exact_rows(relations)
        )


def rounding(largest: float, scale: int) -> float:
    """Return the maximum distance of a double from the step that it represents."""
    return min(STEP_SHARE * float(Fraction(1, scale)), SUM_ROUNDING * largest)


def exact_rows(relations: Any) -> list[tuple[list[int], list[int]]]:
    """Return cells and coefficients of every relation, each scaled to integer coefficients.

    Examples
    --------
    >>> from scipy import sparse
    >>> exact_rows(sparse.csr_array([[0.5, 0.25, -1.0]]))
    [([0, 1, 2], [2, 1, -4])]
    """
    ends = relations.indptr.tolist()
    cells, data = relations.indices.tolist(), relations.data.tolist()
    rows = []
    for start, stop in pairwise(ends):
        coefficients = data[start:stop]
        if not all(c.is_integer() for c in coefficients):
            rationals = [rational(c) for c in coefficients]
            common = common_denominator(rationals)
            coefficients = [c * common for c in rationals]
        kept = [(cell, int(c)) for cell, c in zip(cells[start:stop], coefficients, strict=True) if c]
        rows.append(([cell for cell, _ in kept], [c for _, c in kept]))
    return rows


def common_denominator(numbers: Iterable[Fraction | int]) -> int:
    """Return the smallest common multiple of the denominators."""
    return int(np.lcm.reduce([n.denominator for n in numbers] or [1], dtype=object))


def text(number: Fraction | int) -> int | str:
    """Write an exact number: as an integer, else as a decimal, else as p/q.

    Examples
    --------
    >>> text(Fraction(7)), text(Fraction(-5, 4)), text(Fraction(1, 3))
    (7, '-1.25', '1/3')
    """
    top, below = number.numerator, number.denominator
    if below == 1:
        return int(top)
    twos = fives = 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below != 1:
        return f"{top}/{number.denominator}"
    places = max(twos, fives)
    digits = str(abs(top) * 2 ** (places - twos) * 5 ** (places - fives)).rjust(places + 1, "0")
    return f"{'-' if top < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def texts(value: Floats) -> list[str]:
    """Write published values exactly as in the certificate; NaN becomes an empty text.

    Writers of the public file use these, so that ``verify`` can compare number by number.

    Examples
    --------
    >>> texts(np.array([0.1, 0.1 + 0.2, 7.0, np.nan]))
    ['0.1', '0.3', '7', '']
    """
    grid = Grid.of(np.nan_to_num(value, nan=0.0))
    known = ~np.isnan(value)
    return [
        str(text(Fraction(unit, grid.scale))) if there else ""
        for unit, there in zip(grid.units, known, strict=True)
    ]
