"""Numbers of a table as exact rationals: a proof cannot rely on rounded numbers.

Doubles that represent 12.34 are read as 1234 hundredths. If no grid of at most six decimals fits, the
exact values of the doubles are used; such a table seldom adds up exactly, and then it gets no
certificate.

Sparse linear systems are solved exactly, in integers. Relations of tables are nearly triangular and nearly
all coefficients are plus or minus one, so that plain elimination in a good order causes little fill-in and
rarely produces fractions.

Deviations of many cells from the true table are stored compactly: sixteen bytes per cell instead of a
hundred.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from typing import Any

import numpy as np

from hitoku.model import MAX_DECIMALS, SUM_ROUNDING, Floats, Integers, Mask, rational
from hitoku.solver.solution import CountedWork

# Numbers that a solver reads in the time in which an exact entry is updated, and the bits up to which an
# entry counts once.
READS_PER_ENTRY, BITS_PER_ENTRY = 100, 64
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
    return lcm(*(n.denominator for n in numbers))


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


Number = int | Fraction
Row = dict[int, int]


def solve(
    rows: Sequence[Row], right: Sequence[Number], work: CountedWork | None = None
) -> dict[int, Number] | None:
    """Solve ``sum(row[c] * x[c]) == right`` for every row; None if no solution exists or work is over.

    Rows may depend on each other. Free unknowns are zero.

    Parameters
    ----------
    rows
        For each equation its unknowns with their integer coefficients, none of them zero.
    right
        Right-hand sides.
    work
        Counts the work of all solves of a search, and limits it. Fill-in and growing numbers can make a solve
        as expensive as all programs together.

    Examples
    --------
    >>> solve([{0: 1, 1: 1}, {0: 1, 1: -1}], [3, 0])
    {1: Fraction(3, 2), 0: Fraction(3, 2)}
    >>> solve([{0: 1}, {0: 2}], [1, 3]) is None
    True
    """
    system = _System(rows, right, CountedWork() if work is None else work)
    while (pivot := system.next_pivot()) is not None and not system.work.over:
        system.eliminate(*pivot)
    if system.work.over or any(system.right[row] for row in system.active):
        return None
    solution: dict[int, Number] = {}
    for row, column in reversed(system.order):
        rest = system.right[row]
        own = system.rows[row]
        for other, coefficient in own.items():
            if other != column:
                found = solution.get(other)
                if found:
                    rest -= coefficient * found
        system.count(row, rest)
        if system.work.over:
            return None
        solution[column] = _divide(rest, own[column])
    return solution


class _System:
    """Equations that are still to be used, and the order of pivots."""

    def __init__(self, rows: Sequence[Row], right: Sequence[Number], work: CountedWork) -> None:
        self.work = work
        self.rows = [dict(row) for row in rows]
        self.right = list(right)
        self.active = set(range(len(self.rows)))
        self.order: list[tuple[int, int]] = []
        self.users: dict[int, set[int]] = {}
        for place, row in enumerate(self.rows):
            for column in row:
                self.users.setdefault(column, set()).add(place)
        self.single = sorted((p for p, row in enumerate(self.rows) if len(row) == 1), reverse=True)
        # Columns by their number of rows; stale entries are detected when taken.
        self.columns = [(len(users), column) for column, users in self.users.items()]
        heapq.heapify(self.columns)

    def next_pivot(self) -> tuple[int, int] | None:
        """Choose the cheapest pivot: a row with one unknown, else a column in the fewest rows."""
        while self.single:
            row = self.single.pop()
            if row in self.active and len(self.rows[row]) == 1:
                return row, next(iter(self.rows[row]))
        while self.columns:
            count, column = heapq.heappop(self.columns)
            users = self.users.get(column)
            if not users:
                continue
            if len(users) != count:
                heapq.heappush(self.columns, (len(users), column))
                continue
            rows = self.rows
            return min(users, key=lambda r: (abs(rows[r][column]) != 1, len(rows[r]), r)), column
        return None

    def eliminate(self, row: int, column: int) -> None:
        """Use one equation to remove an unknown from all others."""
        own = self.rows[row]
        self.active.discard(row)
        self.order.append((row, column))
        for other in own:
            self.users[other].discard(row)
        for target in sorted(self.users.pop(column)):
            self._subtract(target, row, column)
            if len(self.rows[target]) == 1:
                self.single.append(target)

    def count(self, row: int, number: Number) -> None:
        """Count that a row was read, with numbers of this size."""
        bits = max(number.numerator.bit_length(), number.denominator.bit_length())
        self.work.add(READS_PER_ENTRY * len(self.rows[row]) * (1 + bits // BITS_PER_ENTRY))

    def _subtract(self, target: int, row: int, column: int) -> None:
        """Subtract a multiple of one equation from another so that an unknown cancels."""
        own, entries = self.rows[row], self.rows[target]
        self.count(row, own[column])
        factor, pivot = entries.pop(column), own[column]
        common = gcd(pivot, factor) * (1 if pivot > 0 else -1)
        keep, take = pivot // common, factor // common
        if keep != 1:
            for other in entries:
                entries[other] *= keep
        for other, coefficient in own.items():
            if other == column:
                continue
            changed = entries.get(other, 0) - take * coefficient
            if changed:
                entries[other] = changed
                self.users[other].add(target)
            elif other in entries:
                del entries[other]
                self.users[other].discard(target)
                # Its column got shorter: push it again.
                heapq.heappush(self.columns, (len(self.users[other]), other))
        self.right[target] = keep * self.right[target] - take * self.right[row]
        if keep != 1:
            self._reduce(target)

    def _reduce(self, row: int) -> None:
        """Divide an equation by the common divisor of its coefficients."""
        entries = self.rows[row]
        common = gcd(*entries.values()) if entries else 1
        if common > 1:
            for column in entries:
                entries[column] //= common
            self.right[row] = _divide(self.right[row], common)


def _divide(number: Number, divisor: int) -> Number:
    if isinstance(number, int) and number % divisor == 0:
        return number // divisor
    quotient = Fraction(number) / divisor
    return int(quotient) if quotient.denominator == 1 else quotient


class IntegerDeviations(Mapping[int, int]):
    """64-bit integers by position, sorted by position.

    Parameters
    ----------
    places
        Positions of changed cells among the suppressed, ascending and distinct.
    amounts
        Deviations.

    Examples
    --------
    >>> some = IntegerDeviations(np.array([2, 5]), np.array([7, -7]))
    >>> some[5], some.get(3, 0), dict(some)
    (-7, 0, {2: 7, 5: -7})
    """

    __slots__ = ("_amounts", "_places")

    def __init__(self, places: Integers, amounts: Integers) -> None:
        # Arrays of the standard library: reading a single number is faster than from numpy's.
        self._places = array("q", places.astype(np.int64).tobytes())
        self._amounts = array("q", amounts.astype(np.int64).tobytes())

    def __getitem__(self, place: int) -> int:
        at = bisect_left(self._places, place)
        if at < len(self._places) and self._places[at] == place:
            return self._amounts[at]
        raise KeyError(place)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def items(self) -> ItemsView[int, int]:
        return _Pairs(self)


class _Pairs(ItemsView[int, int]):
    """Both arrays in parallel, without searching for each position."""

    _mapping: IntegerDeviations

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._mapping._places, self._mapping._amounts, strict=True)  # noqa: SLF001 - its own view
