"""Elimination on the incidence columns: supports any candidate test, at the price of more work.

Columns are dicts from row to a residue modulo a prime. A column is *led* by its first row; reducing it
subtracts published columns until none leads at that row. An unsafe column can only fall into the
span together with a candidate that is led by the same row, so unsafe columns are filed under their leading
rows, and a candidate affects those of its own row only.

Candidates are processed in order; one becomes secondary if a test refuses its publication. The
ordinary test is whether an unsafe column would fall into the span of the published ones; those of
:mod:`hitoku.methods.gauss.singletons` determine what people who know their own cells can derive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hitoku.model import Integers

# Primes 2**61 - c. The second one repeats the whole computation as a check.
CHOICES = (1, 31)
PRIME = 2**61 - CHOICES[0]
ONE = np.uint64(CHOICES[0])

# Rows and residues.
Column = dict[int, int]
Entries = tuple[Integers, Any]
# Watched columns after publication of a column, each with its leading row, -1 for an empty one.
Reduced = Sequence[tuple[int, Entries]]


class Span:
    """Published columns in echelon form, over a known number of rows.

    Examples
    --------
    >>> span = Span(2)
    >>> span.watch({0: 1, 1: 1})  # an unsafe sum of two inner cells
    0
    >>> row = span.reduce({0: 1})
    >>> span.publish(row, span.moved(row))
    >>> span.moved(span.reduce({1: 1}))[0][0]  # the other inner cell would give the sum away
    -1
    """

    def __init__(self, n_rows: int) -> None:
        from hitoku.kernels import echelon  # noqa: PLC0415 - numba starts slowly

        self._kernel = echelon
        # By row, the number of the published column that it leads.
        self._lead = np.full(n_rows, -1, dtype=np.int64)
        self._n = 0
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
        self._filed: dict[int, list[Entries]] = {}
        self._last: Entries = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64))

    def __len__(self) -> int:
        return self._n

    def _reduce(self, entries: Entries, *, everywhere: bool = False) -> Entries:
        rest: Entries = self._kernel.reduce_column(
            *entries, self._lead, self._stored, self._space, everywhere, ONE
        )
        return rest

    def reduce(self, column: Column) -> int:
        """Reduce a column up to its leading row; return that row, or -1 if nothing remains.

        The remainder is stored for :meth:`moved` and :meth:`publish`.
        """
        self._last = self._reduce(_entries(column))
        return int(self._last[0][0]) if len(self._last[0]) else -1

    def finish(self, column: Column) -> Column:
        """Reduce a column in all its rows; the remainder does not depend on earlier steps."""
        return column_of(self._reduce(_entries(column), everywhere=True))

    def watch(self, column: Column) -> int:
        """File an unsafe column under its leading row; return the row, or -1 if it is in the span already."""
        row = self.reduce(column)
        if row >= 0:
            self._filed.setdefault(row, []).append(self._last)
        return row

    def filed(self, row: int) -> list[Column]:
        """Return the watched columns that a row leads."""
        return [column_of(entries) for entries in self._filed.get(row, ())]

    def watched_from(self, first: int) -> list[Column]:
        """Return the watched columns that rows from ``first`` on lead."""
        return [column for row in self._filed if row >= first for column in self.filed(row)]

    def led(self, first: int = 0) -> set[int]:
        """Return the rows from ``first`` on that lead a published column."""
        return set((first + np.flatnonzero(self._lead[first:] >= 0)).tolist())

    def published(self, first: int) -> list[Column]:
        """Return the published columns that rows from ``first`` on lead."""
        start, rows, values = self._stored
        places = [slice(start[number], start[number + 1]) for number in self._lead[first:] if number >= 0]
        return [column_of((rows[place], values[place])) for place in places]

    def moved(self, row: int) -> Reduced:
        """Return the watched columns led by a row, as they would be after publication of a column.

        That column is the one reduced last.
        """
        rows, values = self._last
        out = []
        for own_rows, own_values in self._filed.get(row, ()):
            factor = int(own_values[0]) * pow(int(values[0]), -1, PRIME) % PRIME
            mixed = self._kernel.subtract_multiple(
                own_rows, own_values, rows, values, np.uint64(factor), self._space[0], ONE
            )
            rest = self._reduce(mixed)
            out.append((int(rest[0][0]) if len(rest[0]) else -1, rest))
        return out

    def publish(self, row: int, moved: Reduced) -> None:
        """Add the column that was reduced last, and refile the watched ones that it changes."""
        rows, values = self._last
        start, all_rows, all_values = self._stored
        first, end = int(start[self._n]), int(start[self._n]) + len(rows)
        if end > len(all_rows):
            all_rows, all_values = np.resize(all_rows, 2 * end), np.resize(all_values, 2 * end)
        scale = pow(int(values[0]), -1, PRIME)
        all_rows[first:end] = rows
        all_values[first:end] = values if scale == 1 else [v * scale % PRIME for v in values.tolist()]
        start[self._n + 1] = end
        self._stored = (start, all_rows, all_values)
        self._lead[row] = self._n
        self._n += 1
        self._filed.pop(row, None)
        for lead, unsafe in moved:
            if lead >= 0:
                self._filed.setdefault(lead, []).append(unsafe)

    def add(self, column: Column) -> None:
        """Publish a column, unless it is in the span already."""
        row = self.reduce(column)
        if row >= 0:
            self.publish(row, self.moved(row))


def _entries(column: Column) -> Entries:
    n = len(column)
    return np.fromiter(column.keys(), np.int64, n), np.fromiter(column.values(), np.uint64, n)


def column_of(entries: Entries) -> Column:
    """Return entries as a column."""
    rows, values = entries
    return dict(zip(rows.tolist(), values.tolist(), strict=True))


class Judge(Protocol):
    """Test of one candidate."""

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Return whether a column, led by this row after reduction, must not be published.

        A test may publish implications of the column; the column itself is then in the span.
        """
        ...


class Ordinary:
    """Refuse a column that would expose a watched one."""

    def refuses(self, span: Span, column: Column, row: int) -> bool:  # noqa: ARG002 - of no interest here
        """Return whether a watched column would fall into the span."""
        return any(lead < 0 for lead, _ in span.moved(row))


@dataclass(frozen=True, slots=True)
class Walked:
    """Secondary candidates, unsafe columns (by index) that cannot be protected, and null-space dimension."""

    secondary: tuple[int, ...]
    exposed: tuple[int, ...]
    moves: int


def walk(
    columns: Sequence[Column],
    order: Iterable[int],
    unsafe: Sequence[Column],
    *,
    n_rows: int,
    forced: Iterable[int] = (),
    watched: Iterable[Column] | None = None,
    test: Judge | None = None,
    moves: int = 0,
) -> Walked:
    """Process candidates in order.

    Parameters
    ----------
    columns
        Cells as sums of rows.
    order
        Candidates, the most important first.
    unsafe
        Columns to protect.
    n_rows
        Inner cells.
    forced
        Cells that are published before anything else.
    watched
        The unsafe columns that the ordinary test must check; default: all of them.
    test
        Test that decides whether a candidate is secondary.
    moves
        Minimum null-space dimension to preserve.

    Examples
    --------
    >>> cells = [{0: 1}, {1: 1}, {2: 1}, {0: 1, 1: 1, 2: 1}]  # three cells and their total
    >>> walk(cells, [3, 2, 1], [cells[0]], n_rows=3)
    Walked(secondary=(1,), exposed=(), moves=1)
    """
    judge = test or Ordinary()
    span = Span(n_rows)
    for column in unsafe if watched is None else watched:
        span.watch(column)
    for cell in forced:
        span.add(columns[cell])
    exposed = tuple(place for place, column in enumerate(unsafe) if span.reduce(column) < 0)
    secondary: list[int] = []
    for cell in order:
        row = span.reduce(columns[cell])
        if row < 0:
            continue  # a combination of published cells: protects nothing
        if n_rows - len(span) <= moves or judge.refuses(span, columns[cell], row):
            secondary.append(cell)
        else:
            span.add(columns[cell])
    return Walked(tuple(secondary), exposed, n_rows - len(span))
