"""The span of published columns, as :mod:`hitoku.methods.gauss.span` has it, with compiled arithmetic.

For tables of thousands of cells. Columns come in and go out as dicts; published and watched ones are arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hitoku.methods.gauss.span import PRIME, Column, Span
from hitoku.model import Integers

ONE = np.uint64(1)


class FastSpan(Span):
    """A span over a known number of rows."""

    def __init__(self, n_rows: int) -> None:
        from hitoku.kernels import echelon  # noqa: PLC0415 - numba starts slowly, small tables do without

        super().__init__()
        self._kernel = echelon
        self._lead = np.full(n_rows, -1, dtype=np.int64)
        self._stored: Any = (
            np.zeros(n_rows + 1, dtype=np.int64),
            np.empty(16, dtype=np.int64),
            np.empty(16, dtype=np.uint64),
        )
        self._space = (
            np.zeros(n_rows, dtype=np.uint64),
            np.zeros(n_rows, dtype=np.bool_),
            np.empty(n_rows + 1, dtype=np.int64),
        )
        self._filed: dict[int, list[tuple[Integers, Any]]] = {}
        self._last: tuple[Integers, Any] = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64))

    def _reduced(self, rows: Integers, values: Any, *, everywhere: bool = False) -> tuple[Integers, Any]:
        rest: tuple[Integers, Any] = self._kernel.reduce_column(
            rows, values, self._lead, self._stored, self._space, everywhere, ONE
        )
        return rest

    def reduce(self, column: Column) -> int:
        """Reduce a column up to its leading row, and remember it for what is asked next."""
        self._last = self._reduced(*_arrays(column))
        return int(self._last[0][0]) if len(self._last[0]) else -1

    def finish(self, column: Column) -> Column:
        """Reduce a column in all its rows."""
        rows, values = self._reduced(*_arrays(column), everywhere=True)
        return dict(zip(rows.tolist(), values.tolist(), strict=True))

    def watch(self, column: Column) -> int:
        """File an unsafe column under its leading row."""
        row = self.reduce(column)
        if row >= 0:
            self._filed.setdefault(row, []).append(self._last)
        return row

    def filed(self, row: int) -> Iterable[Column]:
        """Watched columns that this row leads."""
        for rows, values in self._filed.get(row, ()):
            yield dict(zip(rows.tolist(), values.tolist(), strict=True))

    def moved(self, column: Column, row: int) -> Any:  # noqa: ARG002 - the column that was reduced last
        """Watched columns as they would be with the column that was reduced last."""
        rows, values = self._last
        out = []
        for own_rows, own_values in self._filed.get(row, ()):
            factor = int(own_values[0]) * pow(int(values[0]), -1, PRIME) % PRIME
            mixed = self._kernel.subtract_multiple(
                own_rows, own_values, rows, values, np.uint64(factor), self._space[0], ONE
            )
            rest = self._reduced(*mixed)
            out.append((int(rest[0][0]) if len(rest[0]) else -1, rest))
        return out

    def publish(self, column: Column, row: int, moved: Any) -> None:  # noqa: ARG002 - as for moved
        """Add the column that was reduced last, and refile the watched ones that it moves."""
        rows, values = self._last
        start, all_rows, all_values = self._stored
        number = len(self.leading)
        first, end = int(start[number]), int(start[number]) + len(rows)
        if end > len(all_rows):
            all_rows, all_values = np.resize(all_rows, 2 * end), np.resize(all_values, 2 * end)
        scale = pow(int(values[0]), -1, PRIME)
        all_rows[first:end] = rows
        all_values[first:end] = values if scale == 1 else [v * scale % PRIME for v in values.tolist()]
        start[number + 1] = end
        self._stored = (start, all_rows, all_values)
        self._lead[row] = number
        self.leading[row] = {}
        self._filed.pop(row, None)
        for lead, unsafe in moved:
            if lead >= 0:
                self._filed.setdefault(lead, []).append(unsafe)


def _arrays(column: Column) -> tuple[Integers, Any]:
    n = len(column)
    return np.fromiter(column.keys(), np.int64, n), np.fromiter(column.values(), np.uint64, n)
