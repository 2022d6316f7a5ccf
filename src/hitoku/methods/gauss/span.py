"""The span of published columns, one column at a time, with unsafe columns kept reduced beside it.

Columns are dicts from row to a residue modulo a prime. A column is *led* by its first row; reducing it takes
published columns out until no published column leads at that row. An unsafe column can only fall into the
span together with a candidate that is led by the same row, so unsafe columns are filed under their leading
rows and a candidate touches those of its own row only.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

PRIME = 2**61 - 1

Column = dict[int, int]
Reduced = list[tuple[int, Column]]


class Span:
    """Published columns in echelon form.

    Examples
    --------
    >>> span = Span()
    >>> span.watch({0: 1, 1: 1})  # an unsafe sum of two inner cells
    0
    >>> column = {0: 1}
    >>> row = span.reduce(column)
    >>> span.publish(column, row, span.moved(column, row))
    >>> span.exposed_by({1: 1})  # the other inner cell would give the sum away
    True
    """

    def __init__(self) -> None:
        self.leading: dict[int, Column] = {}
        self.watched: dict[int, list[Column]] = {}
        self.effort = 0  # entries touched, for whoever would rather stop and take another way

    def reduce(self, column: Column) -> int:
        """Reduce a column in place up to its leading row; return that row, -1 where nothing is left."""
        heap = list(column)
        heapq.heapify(heap)
        while heap:
            row = heap[0]
            factor = column.get(row, 0)
            if factor:
                pivot = self.leading.get(row)
                if pivot is None:
                    return row
                _subtract(column, pivot, factor, heap)
                self.effort += len(pivot)
            column.pop(row, None)
            heapq.heappop(heap)
        return -1

    def finish(self, column: Column) -> Column:
        """Reduce a column in all its rows; what is left is the same whatever came first."""
        heap = list(column)
        heapq.heapify(heap)
        rest: Column = {}
        while heap:
            row = heapq.heappop(heap)
            factor = column.pop(row, 0)
            if factor:
                pivot = self.leading.get(row)
                if pivot is None:
                    rest[row] = factor
                else:
                    _subtract(column, pivot, factor, heap)
                    column.pop(row, None)
        return rest

    def watch(self, column: Column) -> int:
        """File an unsafe column under its leading row; return the row, -1 where it is in the span already."""
        row = self.reduce(column)
        if row >= 0:
            self.watched.setdefault(row, []).append(column)
        return row

    def filed(self, row: int) -> Iterable[Column]:
        """Watched columns that this row leads."""
        return self.watched.get(row, ())

    def moved(self, column: Column, row: int) -> Reduced:
        """Watched columns as they would be with this column published: (leading row, column) for each."""
        out: Reduced = []
        scale = pow(column[row], -1, PRIME)
        for unsafe in self.watched.get(row, ()):
            new = dict(unsafe)
            factor = new[row] * scale % PRIME
            _subtract(new, column, factor, [])
            self.effort += len(new)
            new.pop(row, None)
            out.append((self.reduce(new), new))
        return out

    def exposed_by(self, column: Column, gone: Callable[[int], bool] = lambda row: row < 0) -> bool:
        """Tell whether publishing a column puts a watched one into the span (or where ``gone`` says)."""
        column = dict(column)
        row = self.reduce(column)
        return row >= 0 and any(gone(lead) for lead, _ in self.moved(column, row))

    def publish(self, column: Column, row: int, moved: Reduced) -> None:
        """Add a reduced column, and refile the watched ones that it moves."""
        scale = pow(column[row], -1, PRIME)
        self.leading[row] = {r: v * scale % PRIME for r, v in column.items() if v}
        self.watched.pop(row, None)
        for lead, unsafe in moved:
            if lead >= 0:
                self.watched.setdefault(lead, []).append(unsafe)

    def reveal(self, rows: Iterable[int]) -> None:
        """Publish single rows."""
        for row in rows:
            column = {row: 1}
            lead = self.reduce(column)
            if lead >= 0:
                self.publish(column, lead, self.moved(column, lead))


def _subtract(column: Column, pivot: Column, factor: int, heap: list[int]) -> None:
    """Take a multiple of one column from another; new rows go on the heap as well."""
    for row, value in pivot.items():
        old = column.get(row)
        if old is None:
            column[row] = -factor * value % PRIME
            heapq.heappush(heap, row)
        else:
            column[row] = (old - factor * value) % PRIME
