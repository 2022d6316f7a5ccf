"""Exact solution of sparse linear systems, in integers.

Relations of tables are nearly triangular and nearly all coefficients are plus or minus one, so that plain
elimination in a good order causes little fill-in and rarely produces fractions.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction
from math import gcd

Number = int | Fraction
Row = dict[int, int]


def solve(rows: Sequence[Row], right: Sequence[Number]) -> dict[int, Number] | None:
    """Solve ``sum(row[c] * x[c]) == right`` for every row; None if no solution exists.

    Rows may depend on each other. Free unknowns are zero.

    Parameters
    ----------
    rows
        For each equation its unknowns with their integer coefficients, none of them zero.
    right
        Right-hand sides.

    Examples
    --------
    >>> solve([{0: 1, 1: 1}, {0: 1, 1: -1}], [3, 0])
    {1: Fraction(3, 2), 0: Fraction(3, 2)}
    >>> solve([{0: 1}, {0: 2}], [1, 3]) is None
    True
    """
    system = _System(rows, right)
    while (pivot := system.next_pivot()) is not None:
        system.eliminate(*pivot)
    if any(system.right[row] for row in system.active):
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
        solution[column] = _divided(rest, own[column])
    return solution


class _System:
    """Equations that are still to be used, and the order of pivots."""

    def __init__(self, rows: Sequence[Row], right: Sequence[Number]) -> None:
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

    def _subtract(self, target: int, row: int, column: int) -> None:
        """Subtract a multiple of one equation from another so that an unknown cancels."""
        own, entries = self.rows[row], self.rows[target]
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
            self.right[row] = _divided(self.right[row], common)


def _divided(number: Number, divisor: int) -> Number:
    if isinstance(number, int) and number % divisor == 0:
        return number // divisor
    quotient = Fraction(number) / divisor
    return int(quotient) if quotient.denominator == 1 else quotient
