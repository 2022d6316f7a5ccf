"""People who know their own cell: what they could work out, and the tests that stop them.

A *singleton* is an inner cell with one person or firm behind it (or nobody, where zeros are withheld: who
sees that a sum is zero knows every part). Each way to handle singletons has a name here and one in the R
package SSBtools; both are understood. A firm that is alone in some inner cells must not be able to work out
an unsafe cell from the published ones and its own, nor may any combination of its own cells be published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.gauss.span import PRIME, Column, Span, column_of

# Name here, name in R. What each one stops stands in docs/reference/methods/gauss.md.
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


def named(singletons: str) -> str:
    """Return our name of a way to handle singletons, given ours or R's.

    Examples
    --------
    >>> named("anySum"), named("group_sums")
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
    """Return the sums of the singletons within each cell, two or more, each once."""
    found: dict[frozenset[tuple[int, int]], Column] = {}
    for column in columns:
        part = {row: value for row, value in column.items() if row in singles}
        if len(part) > 1:
            found.setdefault(frozenset(part.items()), part)
    return list(found.values())


def pair_sums(
    columns: Sequence[Column], unsafe: Iterable[int], owner: Sequence[int], *, by_firm: bool
) -> list[Column]:
    """Return sums of two withheld inner cells of a published group, one of whom can subtract its own.

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
    """Count everything that singletons know as published: nothing may follow even for all of them together.

    Rows from ``first`` on are singletons.
    """

    first: int

    def refuses(self, span: Span, column: Column, row: int) -> bool:  # noqa: ARG002 - the row is enough
        """Return whether the column, or a watched one with it, would be left to singletons alone."""
        return row >= self.first or any(lead < 0 or lead >= self.first for lead, _ in span.moved(row))


@dataclass(frozen=True, slots=True)
class AnySums:
    """Publish no sum of singletons: all its parts are equal to one (or zero) and known with it.

    A combination in which singletons count differently is no such sum; it may be published as long as no
    earlier one touched the same singletons, for then sums could hide in their difference.

    ``open`` is for tables in which singletons need not be unsafe: a sum of singletons may be published if no
    watched column consists of its parts; the parts are then known one by one.
    """

    first: int
    open: bool = False
    used: set[int] = field(default_factory=set)

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Tell whether a sum of singletons would be published, or a watched column exposed."""
        if row >= self.first:
            rest = span.finish(column)
            if len(set(rest.values())) > 1 and not self.used & rest.keys():
                self.used.update(rest)
            elif not self.open:
                return True
            else:
                known = self.told(span, rest)
                if contained(span, known):
                    self.guard(span, rest)
                    return True
                for follows in sorted(known):
                    span.add({follows: 1})
                return False
        return any(lead < 0 for lead, _ in span.moved(row))

    def told(self, span: Span, rest: Column) -> set[int]:  # noqa: ARG002 - zeros look around
        """Rows that are known once a sum of singletons is."""
        return set(rest)

    def guard(self, span: Span, rest: Column) -> None:
        """Protect a sum that was refused, where that is asked for."""


def contained(span: Span, rows: Iterable[int]) -> bool:
    """Tell whether some watched column, reduced, has no rows but these."""
    known = set(rows)
    return any(span.finish(watched).keys() <= known for row in known for watched in span.filed(row))


@dataclass(frozen=True, slots=True)
class ZeroSums(AnySums):
    """Open sums of zeros, with what follows from one zero for the next.

    Where all zeros of a group are known except for those of one cell, that cell is known too. ``groups`` are
    cells that hold singletons only, ``unsafe`` those of them to protect. A published combination of zeros
    that comes down to one sign, others of its parts being known, tells the rest of them. What is refused here
    is protected from then on.
    """

    groups: tuple[Column, ...] = ()
    unsafe: tuple[Column, ...] = ()
    # Groups and unsafe cells as far as they are not published, by number; which of them have a row; and the
    # published rows that this takes into account.
    left: dict[int, frozenset[int]] = field(default_factory=dict)
    having: dict[int, set[int]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    # Published combinations of zeros, by the sign of each row.
    published: list[dict[int, int]] = field(default_factory=list)

    def told(self, span: Span, rest: Column) -> set[int]:
        """Rows that are zero once these are: the last ones of a group, or of a sum that is published."""
        self._take_out_published(span)
        groups = set(self.left.values()) - {frozenset()}
        known, grown = set(rest), True
        while grown:
            touched = set().union(*(self.having.get(row, ()) for row in known))
            follow = {self.left[number] - known for number in touched} & groups
            follow |= {rows for rows in self._summed(known) if rows}
            grown = bool(follow)
            known.update(*follow)
        return known

    def _summed(self, known: set[int]) -> Iterator[frozenset[int]]:
        """Yield what is left of published combinations of zeros where it has one sign: each is zero."""
        for combination in self.published:
            signs = {row: sign for row, sign in combination.items() if row not in known}
            if len(set(signs.values())) == 1 and 0 not in signs.values():
                yield frozenset(signs)

    def guard(self, span: Span, rest: Column) -> None:
        """Protect a sum that was refused."""
        span.watch(rest)

    def _take_out_published(self, span: Span) -> None:
        """Reduce what has a row that leads a published column by now: nothing else changes."""
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
    """Signs of the published combination that a row leads; zero where a residue is no small number."""
    small = 2**20
    signs = {other: -1 if v < small else 1 if PRIME - v < small else 0 for other, v in rest.items()}
    return {row: 1, **signs} if rest else {}


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
            for lead, watched in span.moved(row):
                if lead < 0 or (lead >= self.first and self._follows(span, column_of(watched))):
                    return True
            return False
        rest = span.finish(column)
        return self._follows(span, rest) or self._harms(span, rest)

    def _known(self, span: Span) -> list[Column]:
        """Return the published combinations of singletons."""
        return span.published(self.first)

    def _follows(self, span: Span, column: Column) -> bool:
        """Tell whether some firm can work out a combination of singletons, with its own set aside."""
        known = _linked(column, self._known(span))
        for firm in self._firms([column, *known]):
            if self._spanned(self._without(firm, known), self._without(firm, [column]))[0]:
                return True
        return False

    def _harms(self, span: Span, column: Column) -> bool:
        """Tell whether publishing a combination of singletons would give an unsafe one away."""
        watched = [(w, 0) for w in span.watched_from(self.first)]
        watched += [(w, self._own(w)) for w in self.inside]
        known = _linked(column, [*self._known(span), *(w for w, _ in watched)])
        rows = set(column).union(*known)
        watched = [(w, firm) for w, firm in watched if rows & w.keys()]
        known = [k for k in self._known(span) if rows & k.keys()]
        for firm in (0, *self._firms([column, *known, *(w for w, _ in watched)])):
            others = [w for w, own in watched if own == 0 or own != firm]
            before = self._spanned(self._without(firm, known), self._without(firm, others))
            after = self._spanned(self._without(firm, [*known, column]), self._without(firm, others))
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

    def _spanned(self, columns: Iterable[Column], asked: Iterable[Column]) -> list[bool]:
        """Return which columns lie in the span of others."""
        span = Span(len(self.owner))
        for column in columns:
            span.add(column)
        return [span.reduce(column) < 0 for column in asked]


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
