"""Statistics by group as evidence: one sort of the records, then one slice per group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from hitoku.checks.evidence.cells import CodedCells
from hitoku.checks.evidence.consistency import compare_units
from hitoku.checks.evidence.evidence import (
    STRICT,
    WITHHELD,
    CountPairs,
    Counts,
    Evidence,
    NumberRows,
    Numbers,
    Texts,
)
from hitoku.checks.records import Groups, Records, in_order, per_contributor
from hitoku.errors import DataError
from hitoku.model.arrays import Floats, Integers

TOP = 3


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class GroupEvidence(Evidence):
    """Who is in the groups of a statistic; a subclass adds what the statistic needs.

    Parameters
    ----------
    by
        Variables that make the groups; none for one group of all.
    labels
        The codes of each group.
    n_units, n_records
        Units and records in each group.
    """

    # Fields of which no group has more than units, and fields that have not one entry for each group.
    at_most_units: ClassVar[tuple[str, ...]] = ()
    not_by_group: ClassVar[tuple[str, ...]] = ("by", "labels", WITHHELD, "left_out")

    by: Texts
    labels: tuple[Texts, ...]
    n_units: Counts
    n_records: Counts

    @classmethod
    def of(cls, records: Records, groups: Groups, **own: Any) -> Self:
        """Count the units and records of groups, and add what else is known of them."""
        counted = {"n_units": count_units(records, groups), "n_records": _bincount(groups)}
        return cls(by=groups.names, labels=groups.labels, **{**counted, **own})

    @property
    def n_parts(self) -> int:
        return len(self.labels)

    @property
    def n_used(self) -> int | None:
        return int(self.n_records.sum())

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.n_parts > 0, "labels: there is no group")
        self.require(len(set(self.by)) == len(self.by), "by: a variable named twice")
        self.require(
            all(len(label) == len(self.by) for label in self.labels), "labels: not one code for each variable"
        )
        self.require(len(set(self.labels)) == self.n_parts, "labels: two groups have the same codes")
        own = (each.name for each in fields(self) if each.name not in self.not_by_group)
        columns = {name: column for name in own if (column := getattr(self, name)) is not None}
        uneven = [name for name, column in columns.items() if len(column) != self.n_parts]
        self.require(not uneven, f"not one entry for each group: {', '.join(uneven)}")

    @cached_property
    def cells(self) -> CodedCells:
        """Every group with its codes."""
        return CodedCells(
            codes={
                name: tuple(dict.fromkeys(label[place] for label in self.labels))
                for place, name in enumerate(self.by)
            },
            above={},
            labels=self.labels,
            n_units=self.n_units,
            n_records=self.n_records,
        )

    def contradictions(self) -> Iterator[str]:
        """Name what cannot be true together in the counts of groups."""
        yield from compare_units(self.n_units, self.n_records)
        for name in self.at_most_units:
            if np.any(getattr(self, name) > self.n_units):
                yield f"{name}: more units than the group has"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class AmountEvidence(GroupEvidence):
    """A statistic of amounts, and who contributes how much to it.

    Parameters
    ----------
    largest, size
        For each group the largest contributions by size, and what all sizes add up to.
    holders
        Of a variable with two values, such as 0 and 1: how many units of each group have which.
    value
        The statistic.
    """

    largest: NumberRows
    size: Numbers
    holders: CountPairs | None = None
    value: Numbers

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.largest.shape[1] == TOP, f"largest: not {TOP} contributions for each group")
        require_pairs(self, self.holders)

    def contradictions(self) -> Iterator[str]:
        """Name what cannot be true together in the counts of groups."""
        yield from super().contradictions()
        yield from compare_holders(self, self.holders)


def require_pairs(evidence: GroupEvidence, holders: Integers | None) -> None:
    """Refuse holders of anything but two values."""
    evidence.require(
        holders is None or (holders.shape[1] == 2 and bool(holders.any())), "holders: not two values"
    )


def compare_holders(evidence: GroupEvidence, holders: Integers | None) -> Iterator[str]:
    """Compare the units that have each of two values with all units."""
    if holders is not None and (
        np.any(holders.sum(axis=1) < evidence.n_units) or np.any(evidence.n_records < holders.T)
    ):
        yield "two values that more or fewer units have than there are"


def count_units(records: Records, groups: Groups) -> Integers:
    """Count the units of each group."""
    if not records.repeated:
        return _bincount(groups)
    return per_contributor(groups.codes, records.unit, np.zeros(len(records)), len(groups))[2]


def _bincount(groups: Groups) -> Integers:
    return np.asarray(np.bincount(groups.codes, minlength=len(groups)), dtype=np.int64)


def rank_contributions(groups: Groups, who: Integers, amounts: Floats) -> tuple[Floats, Floats]:
    """Return how large the largest contributors of each group are, by size, and what all sizes add up to."""
    group, amount, _ = per_contributor(groups.codes, who, amounts, len(groups))
    size = np.abs(amount)
    order = np.lexsort((-size, group))
    start = np.searchsorted(group[order], np.arange(len(groups)))
    rank = np.arange(len(order)) - start[group[order]]
    largest = np.zeros((len(groups), TOP))
    for place in range(TOP):
        chosen = order[rank == place]
        largest[group[chosen], place] = size[chosen]
    total: Any = np.bincount(group, weights=size, minlength=len(groups))
    return largest, total


def count_holders(records: Records, groups: Groups, values: Floats) -> Integers | None:
    """Count the units that have each of two values, such as 0 and 1; None for other variables."""
    found = []
    for end in _both(values):
        own = values == end
        *_, count = per_contributor(groups.codes[own], records.unit[own], values[own], len(groups))
        found.append(count)
    return np.transpose(found) if found else None


def refuse_counts(values: Floats, name: str) -> None:
    """Raise when a variable has two values only: its sums say how many units have which."""
    if _both(values):
        raise DataError(
            f"column {name!r} has two values only, so that its sums are counts",
            where="value",
            fix=f"ask for a frequency table with {name!r} among its variables",
        )


def _both(values: Floats) -> tuple[float, ...]:
    """Return the two values of a variable that answers a question, 0 and 1 or 1 and 2; else nothing.

    Of other amounts nobody is told that there are two, nor which.
    """
    low, high = float(values.min()), float(values.max())
    answers = low == round(low) and high == low + 1 and np.all((values == low) | (values == high))
    return (low, high) if answers else ()


def slices(groups: Groups) -> Iterator[NDArray[Any]]:
    """Yield the records of each group, by position."""
    order = in_order(groups.codes, len(groups))
    ends = np.cumsum(np.bincount(groups.codes, minlength=len(groups)))
    yield from np.split(order, ends[:-1])


def require_finite(values: Floats, what: str) -> Floats:
    """Return the numbers; one that is not finite has no meaning."""
    if not np.isfinite(values).all():
        raise DataError(
            f"{what} is not defined in {int((~np.isfinite(values)).sum())} group(s)",
            where=what,
            fix="leave out groups whose values or weights are all equal or add up to zero",
        )
    return values
