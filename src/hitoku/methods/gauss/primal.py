"""Elimination on the incidence columns: any candidate test, at the price of more work.

Candidates are taken in order; one becomes secondary when a test says that publishing it would do harm. The
ordinary test asks whether an unsafe column would fall into the span of the published ones; those of
:mod:`hitoku.methods.gauss.singletons` and :mod:`hitoku.methods.gauss.firms` ask what people could do who
know their own cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hitoku.methods.gauss.span import Column, Span


class Judge(Protocol):
    """Judges one candidate."""

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Tell whether a reduced column, led by this row, must not be published.

        A test may publish what follows from the column; the column itself is then in the span.
        """
        ...


class Ordinary:
    """Refuse a column that would expose a watched one."""

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Tell whether a watched column would fall into the span."""
        return any(lead < 0 for lead, _ in span.moved(column, row))


@dataclass(frozen=True, slots=True)
class Walked:
    """Candidates that became secondary, unsafe columns (by place) that nothing can hide, and moves left."""

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
    limit: float = float("inf"),
    span: Span | None = None,
) -> Walked | None:
    """Take candidates in order; None when that touches more entries than the limit.

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
        The unsafe columns that the ordinary test must see; all of them unless given.
    test
        What makes a candidate secondary.
    moves
        Independent moves to leave.
    limit
        Entries to touch at most.
    span
        An empty span to use; a plain one unless given.

    Examples
    --------
    >>> cells = [{0: 1}, {1: 1}, {2: 1}, {0: 1, 1: 1, 2: 1}]  # three cells and their total
    >>> walk(cells, [3, 2, 1], [cells[0]], n_rows=3)
    Walked(secondary=(1,), exposed=(), moves=1)
    """
    judge = test or Ordinary()
    span = Span() if span is None else span
    for column in unsafe if watched is None else watched:
        span.watch(dict(column))
    for cell in forced:
        column = dict(columns[cell])
        row = span.reduce(column)
        if row >= 0:
            span.publish(column, row, span.moved(column, row))
    exposed = tuple(place for place, column in enumerate(unsafe) if span.reduce(dict(column)) < 0)
    secondary: list[int] = []
    for cell in order:
        if span.effort > limit:
            return None
        column = dict(columns[cell])
        row = span.reduce(column)
        if row < 0:
            continue  # a combination of published cells: it hides nothing
        if n_rows - len(span.leading) <= moves or judge.refuses(span, column, row):
            secondary.append(cell)
            continue
        row = span.reduce(column)
        if row >= 0:
            span.publish(column, row, span.moved(column, row))
    return Walked(tuple(secondary), exposed, n_rows - len(span.leading))
