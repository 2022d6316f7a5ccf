"""People who know their own cell: what they could work out, and the tests that stop them.

A *singleton* is an inner cell with one person or firm behind it (or nobody, where zeros are withheld: whoever
sees that a sum is zero knows every part). Each way to handle singletons has a name here and one in the R
package SSBtools; both are understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hitoku.errors import ParameterError, did_you_mean
from hitoku.methods.gauss.span import Column, Span

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
    if name not in NAMES:
        raise ParameterError(
            f"no way to handle singletons is called {singletons!r}",
            where="singletons",
            fix=did_you_mean(str(singletons), [*NAMES, *ALIASES]),
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

    def refuses(self, span: Span, column: Column, row: int) -> bool:
        """Tell whether the column, or a watched one with it, would be left to singletons alone."""
        return row >= self.first or any(lead < 0 or lead >= self.first for lead, _ in span.moved(column, row))


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
            rest = span.finish(dict(column))
            if len(set(rest.values())) > 1 and not self.used & rest.keys():
                self.used.update(rest)
            elif not self.open or self.reveals_watched(span, rest):
                return True
            else:
                span.reveal(rest)
                return False
        return any(lead < 0 for lead, _ in span.moved(column, row))

    def reveals_watched(self, span: Span, rest: Column) -> bool:
        """Tell whether a watched column consists of nothing but these rows."""
        return contained(span, rest.keys())


def contained(span: Span, rows: Iterable[int]) -> bool:
    """Tell whether some watched column, reduced, has no rows but these."""
    known = set(rows)
    return any(span.finish(dict(watched)).keys() <= known for row in known for watched in span.filed(row))


@dataclass(frozen=True, slots=True)
class ZeroSums(AnySums):
    """Open sums of zeros, with what follows from one zero for the next.

    Where all zeros of a group are known except for those of one cell, that cell is known too. ``groups`` are
    cells that hold singletons only, ``unsafe`` those of them to protect. What is refused here is protected
    from then on.
    """

    groups: tuple[Column, ...] = ()
    unsafe: tuple[Column, ...] = ()

    def reveals_watched(self, span: Span, rest: Column) -> bool:
        """Tell whether these zeros, with all that follows from them, hold a watched column."""
        groups = {frozenset(span.finish(dict(column))) for column in (*self.groups, *self.unsafe)}
        known = set(rest)
        while follow := {group - known for group in groups if group & known} & groups - {frozenset()}:
            known.update(*follow)
        unsafe = [span.finish(dict(column)).keys() for column in self.unsafe]
        if contained(span, known) or any(rows and rows <= known for rows in unsafe):
            span.watch(dict(rest))
            return True
        return False
