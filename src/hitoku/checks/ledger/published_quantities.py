"""What outputs tell of periods of a panel, and by sums of the largest contributors.

A concentration ratio tells what the four largest have of a group. Its partition of the units into groups is
followed by one of the largest of each group, so that it is subtracted like any other. Groups of few are
allowed there, because the ratio itself is one of them, but not so few that one of them knows the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hitoku.attacks.differencing import COUNT, SingledOut

WITHIN = " within "


def within_period(what: str, period: str) -> str:
    """Say that something is told about the units of a period.

    Examples
    --------
    >>> within_period("count", "year=2020")
    'count within year=2020'
    """
    return f"{what}{WITHIN}{period}"


def publishes_counts(publishes: Iterable[str]) -> bool:
    """Tell whether counts are among what is told, of everybody or of a period.

    Examples
    --------
    >>> publishes_counts({"income", "count within year=2020"}), publishes_counts({"income", "counts"})
    (True, False)
    """
    return any(each == COUNT or each.startswith(f"{COUNT}{WITHIN}") for each in publishes)


# With two contributors in a sum, each of them knows the other.
FEWEST = 3


def largest_of(n: int, value: str) -> str:
    """Say that an output tells the sum, or the share, of the n largest contributors to a variable."""
    return f"largest {n} of {value}"


def published_ranks(publishes: Iterable[str]) -> dict[str, set[int]]:
    """Read what :func:`largest_of` says: for every variable of how many the sum is told.

    Examples
    --------
    >>> published_ranks({"income", largest_of(4, "income"), largest_of(8, "income")}) == {"income": {4, 8}}
    True
    """
    found: dict[str, set[int]] = {}
    for each in publishes:
        if told := re.fullmatch(r"largest (\d{1,9}) of (.*)", each, re.DOTALL):
            found.setdefault(told[2], set()).add(int(told[1]))
    return found


def next_to(one: Iterable[str], other: Iterable[str]) -> list[tuple[str, int, int]]:
    """Find the sums of largest contributors that differ by too few: the variable, and of how many they are.

    Examples
    --------
    >>> next_to({largest_of(4, "x")}, {largest_of(5, "x"), largest_of(8, "x")})
    [('x', 4, 5)]
    """
    mine, its = published_ranks(one), published_ranks(other)
    return [
        (value, n, m)
        for value in sorted(mine.keys() & its.keys())
        for n in sorted(mine[value])
        for m in sorted(its[value])
        if 0 < abs(n - m) < FEWEST
    ]


def allowed(group: SingledOut, publishes: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a group of few may follow: it is one of several of the largest.

    Parameters
    ----------
    group
        What follows.
    publishes
        By output what it tells; one of the largest has them in every partition but its first.
    """
    of_largest = any(part > 0 and published_ranks(publishes[name]) for name, part, _ in group.certificate)
    return of_largest and len(group) >= FEWEST
