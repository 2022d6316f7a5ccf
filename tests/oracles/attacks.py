"""What attackers can infer about small tables of counts, by listing every table that fits a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from tests.oracles.enumeration import fitting_tables

from hitoku.model import Bounds, Release

Column = np.ndarray


def listed(release: Release, largest: int) -> np.ndarray:
    """List every table of whole numbers that fits, tables by all cells."""
    withheld = release.withheld
    found = fitting_tables(release, largest)
    every = np.tile(np.where(withheld, 0.0, release.published), (len(found), 1))
    every[:, withheld] = np.array(found, dtype=float).reshape(len(found), int(withheld.sum()))
    return every


def spanned(tables: np.ndarray) -> Bounds:
    """Least and largest value of every cell."""
    return Bounds(lower=tables.min(axis=0), upper=tables.max(axis=0))


def insiders(release: Release, people: Sequence[dict[object, float]], size: int, largest: int) -> Bounds:
    """Let every coalition strike out the tables that contradict what it knows; keep the tightest ends.

    ``people`` holds, per cell, what everybody in it contributed. Cells that a coalition knows by itself do
    not count for it.
    """
    withheld = np.flatnonzero(release.withheld)
    tables = listed(release, largest)
    lower, upper = tables.min(axis=0), tables.max(axis=0)
    everybody = sorted({who for cell in withheld for who in people[cell]}, key=str)
    for members in (m for k in range(1, size + 1) for m in combinations(everybody, k)):
        keep, own = np.ones(len(tables), dtype=bool), np.zeros(release.n_cells, dtype=bool)
        for cell in withheld:
            amounts = [people[cell][who] for who in members if who in people[cell]]
            if amounts and len(amounts) == len(people[cell]):
                keep &= tables[:, cell] == sum(amounts)
                own[cell] = True
            else:
                keep &= tables[:, cell] >= sum(amounts)
        left = tables[keep]
        lower = np.where(own, lower, np.maximum(lower, left.min(axis=0)))
        upper = np.where(own, upper, np.minimum(upper, left.max(axis=0)))
    return Bounds(lower=lower, upper=upper)


def matched(release: Release, pattern: Callable[[Column], Column], largest: int) -> Bounds:
    """Keep the tables whose own pattern, as the method makes it of their values, is that of the release."""
    tables = listed(release, largest)
    same = [np.array_equal(pattern(table), release.withheld) for table in tables]
    return spanned(tables[np.array(same)])


def pinned(release: Release, k: int, largest: int) -> set[str]:
    """Name groups of a two-way table of which at most k people can have another value, and some have it."""
    tables = listed(release, largest)
    found = set()
    for row in release.relations.toarray():
        (total,), parts = np.flatnonzero(row < 0), np.flatnonzero(row > 0)
        for cell in parts:
            elsewhere = (tables[:, total] - tables[:, cell]).max()
            if elsewhere <= k and tables[:, total].max() > elsewhere:
                codes, whole = (release.labels.codes_of(int(place)) for place in (cell, total))
                named = zip(release.labels.names, codes, whole, strict=True)
                (value,) = (f"{name}={code}" for name, code, group in named if code != group)
                found.add(f"{release.describe(int(total))}: {value}")
    return found
