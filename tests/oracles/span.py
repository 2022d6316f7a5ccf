"""The span of published columns in plain Python, reduced again for every question."""

from __future__ import annotations

from collections.abc import Mapping

PRIME = 2**61 - 1

Column = dict[int, int]


class PlainSpan:
    """Twin of :class:`hitoku.methods.gauss.span.Span`."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.pivots: dict[int, Column] = {}
        self.secrets: list[Column] = []
        self.last: Column = {}

    def __len__(self) -> int:
        return len(self.pivots)

    def finish(self, column: Mapping[int, int]) -> Column:
        left = dict(column)
        while shared := left.keys() & self.pivots.keys():
            left = without(left, self.pivots[min(shared)], left[min(shared)])
        return left

    def reduce(self, column: Mapping[int, int]) -> int:
        self.last = self.finish(column)
        return min(self.last, default=-1)

    def watch(self, column: Mapping[int, int]) -> int:
        row = self.reduce(column)
        if row >= 0:
            self.secrets.append(dict(column))
        return row

    def filed(self, row: int) -> list[Column]:
        return [left for left in map(self.finish, self.secrets) if min(left, default=-1) == row]

    def led(self, first: int = 0) -> set[int]:
        return {row for row in self.pivots if row >= first}

    def moved(self, row: int) -> list[tuple[int, Column]]:
        scale = pow(self.last[row], -1, PRIME)
        left = [self.finish(without(one, self.last, one[row] * scale)) for one in self.filed(row)]
        return [(min(one, default=-1), one) for one in left]

    def publish(self, row: int, moved: object) -> None:
        del moved  # secrets are reduced again whenever they matter
        scale = pow(self.last[row], -1, PRIME)
        self.pivots[row] = {other: value * scale % PRIME for other, value in self.last.items()}

    def add(self, column: Mapping[int, int]) -> None:
        row = self.reduce(column)
        if row >= 0:
            self.publish(row, [])


def without(column: Mapping[int, int], other: Mapping[int, int], factor: int) -> Column:
    """Return a column less a multiple of another."""
    left = {
        row: (column.get(row, 0) - factor * other.get(row, 0)) % PRIME for row in column.keys() | other.keys()
    }
    return {row: value for row, value in left.items() if value}
