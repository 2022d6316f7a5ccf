"""People who know their own cell: what they can derive, and the tests that prevent it.

A *singleton* is an inner cell with one contributor (or none, if zeros are suppressed: a published zero sum
reveals every part). Each treatment of singletons has a name here and one in the R
package SSBtools; both are accepted. A firm that is alone in some inner cells must not be able to derive
an unsafe cell from the published ones and its own, and no combination of its own cells may be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.gauss.span import PRIME, Column, Span, column_of

# Name here, name in R. docs/reference/methods/gauss.md explains what each one prevents.
NAMES = {
    "none": "none",
    "group_sums": "subSum",
    "any_sums": "anySum",
    "open_sums": "anySumNOTprimary",
    "zero_sums": "anySum0",
    "space": "subSpace",
    "pairs": "sub2Sum",
    "firm_pairs": "numFTT",
    "firms": "numttHTT",
    "all_firms": "numTTHTT",
}
FREQUENCY = ("group_sums", "any_sums", "open_sums", "zero_sums", "space")
MAGNITUDE = ("pairs", "firm_pairs", "firms", "all_firms")
ALIASES = {r_name: name for name, r_name in NAMES.items()} | {"numFFT": "pairs", "num": "none"}


def singleton_treatment(singletons: str) -> str:
    """Return hitoku's name of a treatment of singletons, given hitoku's or R's.

    Examples
    --------
    >>> singleton_treatment("anySum"), singleton_treatment("group_sums")
    ('any_sums', 'group_sums')
    """
    name = ALIASES.get(singletons, singletons)
    if name not in NAMES and str(singletons).startswith("num"):
        here = [word for word in ALIASES if word.startswith("num")]
        raise ParameterError(
            "singletons_num_not_supported",
            "{singletons!r} of R's num... family is not here",
            where="singletons",
            fix="here are {here}; numTTHTT treats every cell of a single firm as unsafe",
            singletons=singletons,
            here=", ".join(sorted(here)),
        )
    if name not in NAMES:
        raise ParameterError(
            "unknown_singletons",
            "no way to handle singletons is called {singletons!r}",
            where="singletons",
            fix=did_you_mean(str(singletons), [*NAMES, *ALIASES]),
            singletons=singletons,
        )
    return name


def group_sums(columns: Iterable[Column], singles: frozenset[int]) -> list[Column]:
    """Return the sums of the singletons within each cell, if two or more, without duplicates."""
    found: dict[frozenset[tuple[int, int]], Column] = {}
    for column in columns:
        part = {row: value for row, value in column.items() if row in singles}
        if len(part) > 1:
            found.setdefault(frozenset(part.items()), part)
    return list(found.values())


def pair_sums(
    columns: Sequence[Column], unsafe: Iterable[int], owner: Sequence[int], *, by_firm: bool
) -> list[Column]:
    """Return sums of two suppressed inner cells of a published group, if one owner can subtract its own.

    With ``by_firm`` the cells of one firm count as one.
    """
    hidden = set(unsafe)
    inner = {next(iter(columns[cell])) for cell in hidden if len(columns[cell]) == 1}
    found: dict[frozenset[tuple[int, int]], Column] = {}
    for cell, column in enumerate(columns):
        part = {row: value for row, value in column.items() if row in inner}
        if cell in hidden or len(part) < 2 or not any(owner[row] for row in column):
            continue
        sides = {owner[row] or -row - 1 for row in part} if by_firm else set(part)
        if len(sides) <= 2:
            found.setdefault(frozenset(part.items()), part)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Space:
    """Treat the knowledge of all singletons as published: even together they must derive nothing.

    Rows from ``first`` on are singletons.
    """

    first: int

    def refuses(self, span: Span, column: Column, row: int) -> bool:  # noqa: ARG002 - the row is enough
        """Return whether the column, or a watched one with it, would reduce to singletons alone."""
        return row >= self.first or any(lead < 0 or lead >= self.first for lead, _ in span.moved(row))


@dataclass(frozen=True, slots=True)
class AnySums:
    """Publish no sum of singletons: all its parts are one (or zero) and known with it.

    A combination in which singletons have different weights is not such a sum; it may be published if no
    earlier one contains the same singletons, because their difference could contain sums.

    ``open`` is for tables in which singletons need not be unsafe: a sum of singletons may be published if no
    watched column consists of its parts; each of the parts is then known.
    """

    first: int
    open: bool = False
    used: set[int] = field(default_factory=set)

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Return whether a sum of singletons would be published, or a watched column exposed."""
        if row >= self.first:
            rest = span.finish(column)
            if len(set(rest.values())) > 1 and not self.used & rest.keys():
                self.used.update(rest)
            elif not self.open:
                return True
            else:
                known = self.implied_rows(span, rest)
                if consists_of_rows(span, known):
                    self.guard(span, rest)
                    return True
                for follows in sorted(known):
                    span.add({follows: 1})
                return False
        return any(lead < 0 for lead, _ in span.moved(row))

    def implied_rows(self, span: Span, rest: Column) -> set[int]:  # noqa: ARG002 - zeros look around
        """Return the rows that are known once a sum of singletons is."""
        return set(rest)

    def guard(self, span: Span, rest: Column) -> None:
        """Protect a sum that was refused, if the test requires it."""


def consists_of_rows(span: Span, rows: Iterable[int]) -> bool:
    """Return whether some watched column, reduced, has only these rows."""
    known = set(rows)
    return any(span.finish(watched).keys() <= known for row in known for watched in span.filed(row))


@dataclass(frozen=True, slots=True)
class ZeroSums(AnySums):
    """Open sums of zeros, including what one known zero implies for the next.

    If all zeros of a group are known except those of one cell, that cell is known too. ``groups`` are
    cells with singletons only, ``unsafe`` those of them to protect. If all but some parts of a published
    combination of zeros are known, and the rest have one sign, the rest are known. Refused sums
    are protected from then on.
    """

    groups: tuple[Column, ...] = ()
    unsafe: tuple[Column, ...] = ()
    # Unpublished parts of groups and unsafe cells, by number; which of them contain a row; and the
    # published rows already taken into account.
    left: dict[int, frozenset[int]] = field(default_factory=dict)
    having: dict[int, set[int]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    # Published combinations of zeros, by the sign of each row.
    published: list[dict[int, int]] = field(default_factory=list)

    def implied_rows(self, span: Span, rest: Column) -> set[int]:
        """Return rows that are zero once these are: the last ones of a group, or of a published sum."""
        self._take_out_published(span)
        groups = set(self.left.values()) - {frozenset()}
        known, grown = set(rest), True
        while grown:
            touched = set().union(*(self.having.get(row, ()) for row in known))
            follow = {self.left[number] - known for number in touched} & groups
            follow |= {rows for rows in self._zero_parts(known) if rows}
            grown = bool(follow)
            known.update(*follow)
        return known

    def _zero_parts(self, known: set[int]) -> Iterator[frozenset[int]]:
        """Yield the unknown parts of published combinations of zeros with one sign: each is zero."""
        for combination in self.published:
            signs = {row: sign for row, sign in combination.items() if row not in known}
            if len(set(signs.values())) == 1 and 0 not in signs.values():
                yield frozenset(signs)

    def guard(self, span: Span, rest: Column) -> None:
        """Protect a sum that was refused."""
        span.watch(rest)

    def _take_out_published(self, span: Span) -> None:
        """Reduce columns with a row that now leads a published column; others do not change."""
        columns = (*self.groups, *self.unsafe)
        led = span.led(self.first)
        if led - self.seen:
            self.published[:] = [_signs(row, span.finish({row: 1})) for row in led]
        stale = set().union(*(self.having.get(row, ()) for row in led - self.seen))
        for number in stale if self.left else range(len(columns)):
            for row in self.left.get(number, ()):
                self.having[row].discard(number)
            self.left[number] = frozenset(span.finish(columns[number]))
            for row in self.left[number]:
                self.having.setdefault(row, set()).add(number)
        self.seen.update(led)


def _signs(row: int, rest: Column) -> dict[int, int]:
    """Return the signs of the published combination that a row leads; zero if a residue is not small."""
    small = 2**20
    signs = {other: -1 if v < small else 1 if PRIME - v < small else 0 for other, v in rest.items()}
    return {row: 1, **signs} if rest else {}


@dataclass(frozen=True, slots=True)
class Firms:
    """Refuse a column that would reveal too much to a firm or to the public."""

    first: int  # Rows from here on are singletons.
    owner: Sequence[int]  # The firm of each row; zero for rows with several.
    # Unsafe columns that consist of singletons only. The others are watched by the span.
    inside: tuple[Column, ...]

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Return whether an unsafe column would follow for some firm or the public."""
        if row < self.first:
            for lead, watched in span.moved(row):
                if lead < 0 or (lead >= self.first and self._follows(span, column_of(watched))):
                    return True
            return False
        rest = span.finish(column)
        return self._follows(span, rest) or self._harms(span, rest)

    def _published_combinations(self, span: Span) -> list[Column]:
        """Return the published combinations of singletons."""
        return span.published(self.first)

    def _follows(self, span: Span, column: Column) -> bool:
        """Return whether some firm can derive a combination of singletons, apart from its own."""
        known = _connected_columns(column, self._published_combinations(span))
        for firm in self._firms([column, *known]):
            if self._in_span(self._without(firm, known), self._without(firm, [column]))[0]:
                return True
        return False

    def _harms(self, span: Span, column: Column) -> bool:
        """Return whether publishing a combination of singletons would disclose an unsafe one."""
        watched = [(w, 0) for w in span.watched_from(self.first)]
        watched += [(w, self._own(w)) for w in self.inside]
        known = _connected_columns(column, [*self._published_combinations(span), *(w for w, _ in watched)])
        rows = set(column).union(*known)
        watched = [(w, firm) for w, firm in watched if rows & w.keys()]
        known = [k for k in self._published_combinations(span) if rows & k.keys()]
        for firm in (0, *self._firms([column, *known, *(w for w, _ in watched)])):
            others = [w for w, own in watched if own == 0 or own != firm]
            before = self._in_span(self._without(firm, known), self._without(firm, others))
            after = self._in_span(self._without(firm, [*known, column]), self._without(firm, others))
            if before != after:
                return True
        return False

    def _own(self, column: Column) -> int:
        firms = {self.owner[row] for row in column}
        return firms.pop() if len(firms) == 1 else 0

    def _firms(self, columns: Iterable[Column]) -> list[int]:
        return sorted({self.owner[row] for column in columns for row in column} - {0})

    def _without(self, firm: int, columns: Iterable[Column]) -> list[Column]:
        """Return columns without the rows of one firm (unchanged for firm zero)."""
        return [{row: v for row, v in column.items() if self.owner[row] != firm} for column in columns]

    def _in_span(self, columns: Iterable[Column], asked: Iterable[Column]) -> list[bool]:
        """Return which columns lie in the span of others."""
        span = Span(len(self.owner))
        for column in columns:
            span.add(column)
        return [span.reduce(column) < 0 for column in asked]


def _connected_columns(column: Column, columns: Iterable[Column]) -> list[Column]:
    """Return the columns connected with this one through shared rows."""
    rows, waiting = set(column), list(columns)
    found: list[Column] = []
    while True:
        near = [c for c in waiting if rows & c.keys()]
        if not near:
            return found
        waiting = [c for c in waiting if not rows & c.keys()]
        found += near
        rows.update(*near)
