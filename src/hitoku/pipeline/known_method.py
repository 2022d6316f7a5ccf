"""What a reader who knows the method is left with, as the auditor can tell: proved, leaking, or unknown.

The reader keeps the tables that would have led to the same release. Three things can be known about them. A
method may have a theorem, and the certificate a claim that is verified. Where few tables fit, the matching
attack looks at all of them, and its intervals are exact. Elsewhere the auditor, who has the true table, walks
from it to other tables that lead to the same release: what the walk meets the reader cannot rule out, so the
widths it reaches are proved; what it does not reach may be safe or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hitoku.attacks.matching import Board, Matching, Suppressor, flat_two_way, several
from hitoku.errors import HitokuError
from hitoku.evidence import audit
from hitoku.methods import Method, informed
from hitoku.model import Bounds, Need, Protection, Release, Table
from hitoku.rules import Rule

# The matching attack is tried in full up to so many withheld cells, and candidates or nodes of its search.
MOST_WITHHELD, MOST_CANDIDATES, MOST_NODES = 40, 300, 1_000_000
# Cells of a table up to which all these nodes are looked at.
SMALL = 100


@dataclass(frozen=True, eq=False)
class Made:
    """How a release was made: everything that an attacker who knows the method knows."""

    rules: Sequence[Rule]
    method: Method
    width: Any
    groups: bool = True
    """As they were given to :func:`hitoku.protect`."""


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """How the unsafe cells of a release fare against a reader who knows the method."""

    safe: int
    """Cells that are proved to keep what they need."""
    leaking: int
    """Cells that are proved not to."""
    unknown: int
    """The others."""

    def __str__(self) -> str:
        if self.leaking:
            return f"leaks {self.leaking} cells"
        return f"unknown ({self.safe} of {self.safe + self.unknown} shown safe)" if self.unknown else "proved"


def against_known_method(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    rules: Sequence[Rule],
    width: Any,
    *,
    walks: int = 1,
    steps: int = 60,
    seed: int = 0,
    n_jobs: int | None = None,
    nodes: int = MOST_NODES,
    groups: bool = True,
) -> KnownMethod:
    """Tell what is known about a reader who knows the method, its rules and its width.

    Parameters
    ----------
    table, need, protection
        What was protected, and how.
    method, rules, width
        What the reader knows.
    walks, steps, seed
        Walks that the auditor takes from the true table, the tables that each of them tries, and the seed.
        Without walks only the matching attack is tried.
    n_jobs
        Processes for the walks; the answer does not depend on it.
    nodes
        Nodes of the search by the matching attack, in tables of at most 100 cells.
    groups
        As given to :func:`hitoku.assess`; the reader knows that as well.

    Examples
    --------
    >>> from hitoku.methods import Blocks, Optimal
    >>> from hitoku.rules import MinFrequency, assess
    >>> table = Table.from_array([[16, 14, 21, 16], [10, 19, 28, 24], [8, 2, 9, 15], [8, 13, 3, 8]])
    >>> rules = [MinFrequency(5)]
    >>> need = assess(table, rules, width=9)
    >>> for method in (Blocks(rules=rules, width=9), Optimal(cost="unit", keep="margins")):
    ...     print(against_known_method(table, need, method.protect(table, need), method, rules, 9))
    proved
    leaks 2 cells
    """
    n_unsafe = int(need.unsafe.sum())
    release = Release.of(table, protection)
    if protection.reader is not None:
        found = audit(table, need, release, moves=protection.moves, reader=protection.reader)
        if found.withstands_known_method:
            return KnownMethod(n_unsafe, 0, 0)
    method = informed(method, rules, width)
    wide = np.zeros(table.n_cells, dtype=np.bool_)
    narrow = wide.copy()
    if release.integer and release.withheld.sum() <= MOST_WITHHELD:
        # A node of a large table takes longer.
        nodes = nodes * SMALL // max(SMALL, table.n_cells)
        suppressor = Suppressor(method, rules, width, groups)
        try:
            shaves = not suppressor.random and Board.of(release, suppressor) is not None
            limit = nodes if shaves else MOST_CANDIDATES
            attack = Matching(method=method, rules=rules, width=width, groups=groups, limit=limit)
            bounds = attack.bounds(release)
        except HitokuError:
            # The method is none of this release, or the release none that can be matched: nothing is known.
            return KnownMethod(0, 0, n_unsafe)
        wide = need.met(table.value, bounds)
        narrow = ~wide & ~bounds.unknown
    if walks and flat_two_way(release) and np.any(need.unsafe & ~wide & ~narrow):
        same = partial(Suppressor(method, rules, width, groups).reproduces, release)
        start = np.rint(table.value).astype(np.int64)
        wanted = np.where(need.unsafe & ~wide, np.maximum(need.width, need.lower + need.upper), 0)
        low, high = several(release, same, start, wanted, walks=walks, steps=steps, seed=seed, n_jobs=n_jobs)
        met = Bounds(lower=low.astype(np.float64), upper=high.astype(np.float64))
        wide |= need.met(table.value, met)
    safe = int((need.unsafe & wide).sum())
    leaking = int((need.unsafe & narrow & ~wide).sum())
    return KnownMethod(safe, leaking, n_unsafe - safe - leaking)
