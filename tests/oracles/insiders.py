"""What contributors can infer, one linear program of scipy per cell and coalition; slow and plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from tests.oracles.both_ends import both_ends

from hitoku.model import Need, Release, Table

# Far above what scipy's solver leaves of rounding in tables of small numbers.
SLACK = 1e-6


def interval_of(release: Release, cell: int, lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Least and largest value of a cell over all tables within these bounds that fit a release."""
    known = ~release.withheld
    low, high = np.where(known, release.published, lower), np.where(known, release.published, upper)
    cost = np.arange(release.n_cells) == cell
    dense = release.relations.toarray()
    return both_ends(cost, dense, np.zeros(len(dense)), np.column_stack([low, high]))


def too_close(
    table: Table, need: Need, release: Release, people: Sequence[dict[object, float]], size: int = 1
) -> set[tuple[tuple[object, ...], int]]:
    """List (coalition, unsafe cell) where the need is not met for that coalition, though for an outsider.

    ``people`` holds, per cell, what everybody in it contributed. A coalition that is everybody in a cell
    knows the cell. What it contributed to a cell it knows to be in it, release or not.
    """
    everybody = sorted({who for cell in people for who in cell}, key=str)
    found = set()
    for cell in np.flatnonzero(need.unsafe & release.withheld):
        if not _met(table, need, release, cell, {}, set()):
            continue
        for members in (m for k in range(1, size + 1) for m in combinations(everybody, k)):
            own, whole = knowledge(people, members)
            if cell not in whole and not _met(table, need, release, cell, own, whole):
                found.add((members, int(cell)))
    return found


def knowledge(
    people: Sequence[dict[object, float]], members: Iterable[object]
) -> tuple[dict[int, float], set[int]]:
    """Amounts of a coalition in each cell, and the cells in which there is nobody else."""
    members = set(members)
    own = {i: sum(v for who, v in cell.items() if who in members) for i, cell in enumerate(people)}
    whole = {i for i, cell in enumerate(people) if cell and set(cell) <= members}
    return own, whole


def _met(
    table: Table, need: Need, release: Release, cell: int, own: dict[int, float], whole: set[int]
) -> bool:
    lower, upper = np.array(table.lower), np.array(table.upper)
    for place, amount in own.items():
        if lower[place] >= 0:
            lower[place] = max(lower[place], amount)
    for place in whole:
        lower[place] = upper[place] = table.value[place]
    low, high = interval_of(release, cell, lower, upper)
    value = table.value[cell]
    return (
        low <= max(value - need.lower[cell], lower[cell]) + SLACK
        and high >= value + need.upper[cell] - SLACK
        and high - low >= max(need.width[cell] - SLACK, SLACK)
    )
