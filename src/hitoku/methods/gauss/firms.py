"""Firms that subtract what they know of themselves: one firm at a time, exactly.

A firm that is alone in some inner cells knows their values. It must not be able to work out an unsafe cell
from the published ones and its own, nor may any combination of its own cells be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hitoku.methods.gauss.span import Column, Span


@dataclass(frozen=True, slots=True)
class Firms:
    """Refuse a column that would tell some firm, or everybody, too much.

    Parameters
    ----------
    first
        Rows from here on are singletons.
    owner
        The firm behind each row; zero for rows with several.
    inside
        Unsafe columns that consist of singletons only. The others are watched by the span.
    """

    first: int
    owner: Sequence[int]
    inside: tuple[Column, ...]

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Tell whether an unsafe column would follow for somebody."""
        if row < self.first:
            for lead, watched in span.moved(column, row):
                if lead < 0 or (lead >= self.first and self._follows(span, watched)):
                    return True
            return False
        rest = span.finish(dict(column))
        return self._follows(span, rest) or self._harms(span, rest)

    def _known(self, span: Span) -> list[Column]:
        """Return the published combinations of singletons."""
        return [pivot for row, pivot in span.leading.items() if row >= self.first]

    def _follows(self, span: Span, column: Column) -> bool:
        """Tell whether some firm can work out a combination of singletons, with its own set aside."""
        known = _linked(column, self._known(span))
        for firm in self._firms([column, *known]):
            if _spanned(self._without(firm, known), self._without(firm, [column]))[0]:
                return True
        return False

    def _harms(self, span: Span, column: Column) -> bool:
        """Tell whether publishing a combination of singletons would give an unsafe one away."""
        watched = [(w, 0) for row, filed in span.watched.items() if row >= self.first for w in filed]
        watched += [(w, self._own(w)) for w in self.inside]
        known = _linked(column, [*self._known(span), *(w for w, _ in watched)])
        rows = set(column).union(*known)
        watched = [(w, firm) for w, firm in watched if rows & w.keys()]
        known = [k for k in self._known(span) if rows & k.keys()]
        for firm in (0, *self._firms([column, *known, *(w for w, _ in watched)])):
            others = [w for w, own in watched if own == 0 or own != firm]
            before = _spanned(self._without(firm, known), self._without(firm, others))
            after = _spanned(self._without(firm, [*known, column]), self._without(firm, others))
            if before != after:
                return True
        return False

    def _own(self, column: Column) -> int:
        firms = {self.owner[row] for row in column}
        return firms.pop() if len(firms) == 1 else 0

    def _firms(self, columns: Iterable[Column]) -> list[int]:
        return sorted({self.owner[row] for column in columns for row in column} - {0})

    def _without(self, firm: int, columns: Iterable[Column]) -> list[Column]:
        """Columns without the rows of one firm (none for firm zero: every row here has an owner)."""
        return [{row: v for row, v in column.items() if self.owner[row] != firm} for column in columns]


def _linked(column: Column, columns: Iterable[Column]) -> list[Column]:
    """Columns that share a row with this one, or with one that does, and so on."""
    rows, waiting = set(column), list(columns)
    found: list[Column] = []
    while True:
        near = [c for c in waiting if rows & c.keys()]
        if not near:
            return found
        waiting = [c for c in waiting if not rows & c.keys()]
        found += near
        rows.update(*near)


def _spanned(columns: Iterable[Column], asked: Iterable[Column]) -> list[bool]:
    """Tell which columns lie in the span of others."""
    span = Span()
    for column in columns:
        new = dict(column)
        row = span.reduce(new)
        if row >= 0:
            span.publish(new, row, [])
    return [span.reduce(dict(column)) < 0 for column in asked]
