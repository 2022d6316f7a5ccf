"""Every group of inner cells whose total follows from published cells by adding and subtracting, listed.

A group follows exactly if its 0/1 vector over the inner cells is a combination of the vectors of published
cells. All 0/1 vectors are tried, and combinations are decided in exact fractions: slow and beyond doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import lcm
from typing import Any

import numpy as np

from hitoku.model import Table
from hitoku.rules import Dominance, PPercent


def memberships(table: Table) -> np.ndarray:
    """Return which inner cells each cell of a cross table sums: cells by inner cells, zero or one."""
    return reduce(np.kron, [dimension.closure.toarray() for dimension in table.dimensions]).astype(np.int64)


def kernel(rows: np.ndarray) -> np.ndarray:
    """Return a basis of all whole vectors x with ``rows @ x == 0``, one per column."""
    n = rows.shape[1]
    reduced: dict[int, list[Fraction]] = {}
    for row in rows:
        left = [Fraction(int(a)) for a in row]
        for lead, other in reduced.items():
            if left[lead]:
                left = [a - left[lead] * b for a, b in zip(left, other, strict=True)]
        lead = next((place for place, a in enumerate(left) if a), None)
        if lead is None:
            continue
        left = [a / left[lead] for a in left]
        for key, other in reduced.items():
            reduced[key] = [a - other[lead] * b for a, b in zip(other, left, strict=True)]
        reduced[lead] = left
    basis = []
    for free in (place for place in range(n) if place not in reduced):
        vector = [Fraction(0)] * n
        vector[free] = Fraction(1)
        for lead, row in reduced.items():
            vector[lead] = -row[free]
        scale = lcm(*(a.denominator for a in vector))
        basis.append([int(a * scale) for a in vector])
    return np.array(basis, dtype=np.int64).reshape(len(basis), n).T


def derivable(rows: np.ndarray) -> np.ndarray:
    """Return all 0/1 vectors that are rational combinations of rows, one per line, without the zero vector.

    A vector is a combination of rows exactly if it is orthogonal to all that the rows are orthogonal to.
    """
    n = rows.shape[1]
    assert n <= 16, "there are too many groups to list"
    every = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return every[~np.any(every @ kernel(rows), axis=1)]


def small_groups(table: Table, withheld: np.ndarray, units: np.ndarray, n: int) -> list[tuple[int, ...]]:
    """Return the derivable groups with units, but fewer than n, as positions among the inner cells.

    Parameters
    ----------
    table
        A cross table.
    withheld
        Cells that are not published.
    units
        Units in every cell of the table.
    n
        Least number of units of a group.
    """
    member = memberships(table)
    inner = [int(np.flatnonzero((member.sum(axis=1) == 1) & (column == 1))[0]) for column in member.T]
    groups = derivable(member[~withheld])
    size = groups @ units[inner]
    return [tuple(np.flatnonzero(group).tolist()) for group in groups[(size > 0) & (size < n)]]


def violates(rule: Any, contributions: Sequence[float]) -> bool:
    """Apply a rule to the contributions of a group, in the words of the rule."""
    ranked, total = sorted(contributions, reverse=True), sum(contributions)
    if isinstance(rule, Dominance):
        return sum(ranked[: rule.n]) > rule.k / 100 * total + 1e-9
    part = rule.p / 100 if isinstance(rule, PPercent) else rule.p / rule.q
    return total > 0 and total - sum(ranked[: rule.n + 1]) < part * ranked[0] - 1e-9


def violating_groups(
    table: Table, withheld: np.ndarray, contributions: Sequence[Sequence[float]], rule: Any
) -> list[tuple[int, ...]]:
    """Return the derivable groups that violate a rule, as positions among the inner cells.

    Parameters
    ----------
    table
        A cross table.
    withheld
        Cells that are not published.
    contributions
        Contributions to each inner cell.
    rule
        A rule that compares contributions.
    """
    groups = derivable(memberships(table)[~withheld])
    inside = [np.flatnonzero(group).tolist() for group in groups]
    return [tuple(own) for own in inside if violates(rule, [v for cell in own for v in contributions[cell]])]
