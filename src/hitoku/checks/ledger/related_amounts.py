"""Amounts of variables that depend on each other, and which of them follow from published sums.

An attacker who has the sums of wages and of rents subtracts them from a total of both. Every unit has a
coordinate for each variable that is not a sum of others; amounts of a few units follow if a combination of
published sums is zero for all other units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hitoku.attacks.differencing import COUNT, Partition, SingledOut, combinations
from hitoku.checks.ledger.settings import WITHIN
from hitoku.model import Floats, Integers

# Quantities of order, which sums of other groups do not determine.
RANKED = re.compile(r"(p[\d.]+|mode|largest \d{1,9}) of .*", re.DOTALL)
# Stands for amounts of any variable, where it is not known how they are related.
ANY_AMOUNT = "amounts of any variable"
# Largest number of entries of a matrix whose rank is computed.
MAX_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Related:
    """How variables with published amounts depend on each other, constants apart.

    Parameters
    ----------
    parts
        For each variable its factors over some of them; {itself: 1} for one that is not explained by others.
    undecided
        Variables for which this is not known.
    nearly
        Sets of variables of which one is explained by the others for all but a few units, with the number of
        these units.
    """

    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    undecided: frozenset[str] = frozenset()
    nearly: Mapping[frozenset[str], int] = field(default_factory=dict)

    @cached_property
    def common_names(self) -> dict[str, frozenset[str]]:
        """For each variable the names under which its amounts are compared with those of others.

        Examples
        --------
        >>> parts = {"a": {"a": 1}, "b": {"b": 1}, "c": {"c": 1}, "both": {"a": 1, "b": 1}}
        >>> {name: sorted(common) for name, common in Related(parts=parts).common_names.items()}
        {'a': ['amounts of a, b, both'], 'b': ['amounts of a, b, both'], 'both': ['amounts of a, b, both']}
        """
        together: list[set[str]] = []
        for name, its in self.parts.items():
            own = {name, *its}
            apart = [each for each in together if not each & own]
            together = [*apart, own.union(*(each for each in together if each & own))]
        found = {
            name: frozenset({f"amounts of {', '.join(sorted(each))}"})
            for name in self.parts
            for each in together
            if name in each and len(each) > 1
        }
        if self.undecided:
            for name in {*self.parts, *self.undecided}:
                found[name] = found.get(name, frozenset()) | {ANY_AMOUNT}
        return found

    def add_common_names(self, publishes: frozenset[str]) -> frozenset[str]:
        """Add the names under which published amounts are compared with those of other variables."""
        found = set(publishes)
        for each in publishes:
            name, within, period = each.partition(WITHIN)
            found |= {other + within + period for other in self.common_names.get(name, ())}
        return frozenset(found)


def published_by(parts: Iterable[Partition]) -> frozenset[str]:
    """Return everything that is published for the cells of some partitions."""
    return frozenset[str]().union(*(part.publishes for part in parts))


def amounts_in(publishes: Iterable[str]) -> list[str]:
    """Return the variables of which sums or means are published, in order.

    Examples
    --------
    >>> amounts_in(["count", "inc within year=2020", "p50 of inc", "rent"])
    ['inc', 'rent']
    """
    names = dict.fromkeys(each.partition(WITHIN)[0] for each in sorted(publishes))
    return [name for name in names if name != COUNT and not RANKED.fullmatch(name)]


def follows(units: Integers, parts: Sequence[Partition], quantity: str, related: Related) -> bool | None:
    """Return whether amounts of some units follow from sums over all cells; None if there are too many.

    Every unit has a coordinate for each variable that others are explained by. Amounts of the units follow if
    a combination of the published sums is zero for all other units, and not for these.

    Parameters
    ----------
    units
        The units; confidential.
    parts
        All published partitions.
    quantity
        The common name of the variables; only partitions that publish it matter.
    related
        How the variables depend on each other.
    """
    used = [part for part in parts if quantity in part.publishes]
    basis = sorted({name for its in related.parts.values() for name in its})
    directions = [_directions(part, quantity, related, basis) for part in used]
    _, codes, sizes = combinations(used)
    n_rows = sum(len(part) * len(own) for part, own in zip(used, directions, strict=True))
    if n_rows * len(sizes) * len(basis) > MAX_ENTRIES:
        return None
    inside = np.zeros(len(sizes), dtype=np.bool_)
    inside[combinations(used)[0][units]] = True
    rows = np.zeros((n_rows, len(sizes), len(basis)))
    place = 0
    for own, code, part in zip(directions, codes, used, strict=True):
        for direction in own:
            there = np.flatnonzero(code)
            rows[place + code[there] - 1, there] = direction
            place += len(part)
    outside = rows[:, ~inside].reshape(n_rows, -1)
    every = rows.reshape(n_rows, -1)
    return bool(np.linalg.matrix_rank(every) > (np.linalg.matrix_rank(outside) if outside.size else 0))


def judge_related(
    groups: Sequence[SingledOut], every: Mapping[str, Sequence[Partition]], related: Related
) -> list[tuple[str, bool, list[SingledOut]]]:
    """Judge groups of few units that sums of different variables single out together.

    Parameters
    ----------
    groups
        The groups; no quantity of theirs is published by all of their outputs.
    every
        The partitions of all outputs, by name.
    related
        How the variables depend on each other.

    Returns
    -------
    list
        For each name of related variables the groups whose amounts follow, and those of which this is not
        decided; those that do not follow are left out.
    """
    named = {
        name: [replace(part, publishes=related.add_common_names(part.publishes)) for part in own]
        for name, own in every.items()
    }
    parts = [part for own in named.values() for part in own]
    found: dict[tuple[str, bool], list[SingledOut]] = {}
    apart: dict[str, list[SingledOut]] = {}
    for group in groups:
        published = [published_by(named[name]) for name in group.outputs]
        names = frozenset[str].intersection(*published)
        exact = sorted(name for name in names if not name.startswith(ANY_AMOUNT))
        for name in exact:
            follow = follows(group.units, parts, name, related)
            if follow is False:
                apart.setdefault(name, []).append(group)
            else:
                found.setdefault((name, bool(follow)), []).append(group)
        if not exact and any(related.undecided & set(amounts_in(each)) for each in published):
            found.setdefault((ANY_AMOUNT, False), []).append(group)
    for name, own in apart.items():
        # Each by itself does not follow, but perhaps something of all of them together.
        units = np.unique(np.concatenate([group.units for group in own]))
        if len(own) > 1 and follows(units, parts, name, related) is not False:
            found.setdefault((name, False), []).extend(own)
    return [(name, follow, own) for (name, follow), own in found.items()]


def _directions(part: Partition, quantity: str, related: Related, basis: Sequence[str]) -> Floats:
    """Return a basis of the coordinates of the variables that a partition publishes."""
    period = quantity.partition(WITHIN)[2]
    names = [
        name
        for name, within, own in (each.partition(WITHIN) for each in sorted(part.publishes))
        if name in related.parts and own == period
    ]
    found = np.zeros((len(names), len(basis)))
    for row, name in zip(found, names, strict=True):
        for other, factor in related.parts[name].items():
            row[basis.index(other)] = factor
    if not len(found):
        return found
    _, sizes, turned = np.linalg.svd(found / np.abs(found).max(axis=1, keepdims=True))
    kept: Floats = turned[: int((sizes > 1e-9 * sizes.max()).sum())]
    return kept
