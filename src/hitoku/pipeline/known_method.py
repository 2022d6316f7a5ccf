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
from typing import Any

import numpy as np

from hitoku.attacks.matching import Matching
from hitoku.attacks.matching.suppressor import Suppressor
from hitoku.errors import HitokuError
from hitoku.evidence.audit import audit
from hitoku.methods.method import Method, informed
from hitoku.model.arrays import Integers, Mask
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.rules.rule import Rule

# The matching attack is tried in full up to so many withheld cells, and candidates or nodes of its search.
MOST_WITHHELD, MOST_CANDIDATES, MOST_NODES = 40, 300, 1_000_000
# Cycles of at most so many cells; how far a cycle is pushed at a time.
LONGEST, PUSHES = 12, (1, 3)


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """How the unsafe cells of a release fare against a reader who knows the method.

    Parameters
    ----------
    safe
        Cells that are proved to keep what they need.
    leaking
        Cells that are proved not to.
    unknown
        The others.
    """

    safe: int
    leaking: int
    unknown: int

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
    steps: int = 60,
    seed: int = 0,
) -> KnownMethod:
    """Tell what is known about a reader who knows the method, its rules and its width.

    Parameters
    ----------
    table, need, protection
        What was protected, and how.
    method, rules, width
        What the reader knows.
    steps, seed
        How many tables the auditor's walk tries, and which way it goes.

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
        limit = MOST_NODES if hasattr(method, "two_way") else MOST_CANDIDATES
        attack = Matching(method=method, rules=rules, width=width, limit=limit)
        try:
            bounds = attack.bounds(release)
        except HitokuError:
            # The method is none of this release, or the release none that can be matched: nothing is known.
            return KnownMethod(0, 0, n_unsafe)
        wide = bounds.width >= need.width
        narrow = ~wide & ~bounds.unknown
        wide &= ~bounds.unknown
    if two_way(table) and np.any(need.unsafe & ~wide & ~narrow):
        low, high = walked(table, need, release, Suppressor(method, rules, width), steps, seed)
        wide |= high - low >= need.width
    safe = int((need.unsafe & wide).sum())
    leaking = int((need.unsafe & narrow & ~wide).sum())
    return KnownMethod(safe, leaking, n_unsafe - safe - leaking)


def two_way(table: Table) -> bool:
    """Tell whether a table is a flat two-way one of counts."""
    flat = len(table.dimensions) == 2 and all(len(d.groups) == 1 for d in table.dimensions)
    return bool(flat and table.integer and np.all(table.lower == 0) and np.all(np.isinf(table.upper)))


def walked(
    table: Table, need: Need, release: Release, suppressor: Suppressor, steps: int, seed: int
) -> tuple[Integers, Integers]:
    """Walk from the true table through tables that lead to the same release; least and largest values met.

    Every step pushes an unsafe cell that is not wide yet along a random cycle of withheld cells, of four
    cells or more, and tries the method on the result.
    """
    shape = tuple(len(d) for d in table.dimensions)
    values = np.rint(table.value).astype(np.int64)
    low, high = values.copy(), values.copy()
    hidden = release.withheld.reshape(shape)
    random = np.random.default_rng(seed)
    here = values.reshape(shape).copy()
    targets = np.flatnonzero(need.unsafe)
    for step in range(steps):
        open_cells = targets[high[targets] - low[targets] < need.width[targets]]
        if not len(open_cells) or hidden[-1].any() or hidden[:, -1].any():
            break
        cell = divmod(int(random.choice(open_cells)), shape[1])
        cycle = random_cycle(hidden, cell, random)
        if cycle is None:
            continue
        sign = 1 if random.random() < 0.5 else -1
        push = sign * PUSHES[step % len(PUSHES)]
        moved = here.copy()
        for place, at in enumerate(cycle):
            moved[at] += push * (1 - 2 * (place % 2))
        if moved.min() < 0 or not suppressor.reproduces(release, moved.ravel()):
            continue
        here = moved
        low, high = np.minimum(low, here.ravel()), np.maximum(high, here.ravel())
    return low, high


def random_cycle(
    hidden: Mask, cell: tuple[int, int], random: np.random.Generator
) -> list[tuple[int, int]] | None:
    """Find a cycle of withheld cells through one of them, turning at every cell; None when it gets stuck."""
    row, column = cell
    path, used_rows, used_columns = [cell], {row}, {column}
    while len(path) < LONGEST:
        ways = [int(i) for i in np.flatnonzero(hidden[:, column]) if i not in used_rows]
        if not ways:
            return None
        here = ways[int(random.integers(len(ways)))]
        path.append((here, column))
        used_rows.add(here)
        across = [int(j) for j in np.flatnonzero(hidden[here]) if j not in used_columns]
        closing = [j for j in across if hidden[row, j]]
        if closing and (len(path) > 2 or random.random() < 0.7):
            last = closing[int(random.integers(len(closing)))]
            return [*path, (here, last), (row, last)]
        if not across:
            return None
        column = across[int(random.integers(len(across)))]
        path.append((here, column))
        used_columns.add(column)
    return None
