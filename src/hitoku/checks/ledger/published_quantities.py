"""Quantities published for periods of a panel, and for sums of the largest contributors.

A concentration ratio publishes the sum of the four largest contributors of a group. The partition into groups
is followed by one of the largest contributors of each group, which is subtracted like any other. Small groups
are allowed there, because the ratio itself is about one, but not so small that one member knows the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hitoku.attacks.differencing import COUNT, SingledOut

WITHIN = " within "


def within_period(what: str, period: str) -> str:
    """Return the name of a quantity published for the units of a period.

    Examples
    --------
    >>> within_period("count", "year=2020")
    'count within year=2020'
    """
    return f"{what}{WITHIN}{period}"


def publishes_counts(publishes: Iterable[str]) -> bool:
    """Return whether counts are published, in total or for a period.

    Examples
    --------
    >>> publishes_counts({"income", "count within year=2020"}), publishes_counts({"income", "counts"})
    (True, False)
    """
    return any(each == COUNT or each.startswith(f"{COUNT}{WITHIN}") for each in publishes)


# In a sum of two contributors, each knows the other.
FEWEST = 3


def largest_of(n: int, value: str) -> str:
    """Return the name of the sum or share of the n largest contributors to a variable."""
    return f"largest {n} of {value}"


def published_ranks(publishes: Iterable[str]) -> dict[str, set[int]]:
    """Return the published numbers of largest contributors for each variable.

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
    """Return pairs of top-n sums that differ by fewer than ``FEWEST`` contributors.

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
    """Return whether a small derived group is allowed, because it consists of top contributors.

    Parameters
    ----------
    group
        Derived group.
    publishes
        Published quantities of each output; outputs of top contributors have them after their first
        partition.
    """
    of_largest = any(part > 0 and published_ranks(publishes[name]) for name, part, _ in group.certificate)
    return of_largest and len(group) >= FEWEST
