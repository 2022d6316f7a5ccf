"""Evidence of statistics by group: one sort of the records, then one slice per group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from hitoku.checks.evidence.evidence import (
    STRICT,
    WITHHELD,
    CodedCells,
    CountRows,
    Counts,
    Evidence,
    NumberRows,
    Numbers,
    Texts,
    Wholes,
    compare_units,
)
from hitoku.checks.unit_records import Groups, Records, in_order, per_contributor
from hitoku.errors import DataError
from hitoku.model import ADDITIVITY, Floats, Integers

TOP = 3
# Number of most frequent values of a group for which units are counted.
COUNTED = 5
# A variable with at most this many distinct values in a group is treated as a count, otherwise as an amount.
FEW_VALUES = 10


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class GroupEvidence(Evidence):
    """Units and records of the groups of a statistic. Subclasses add what the statistic needs."""

    # Fields bounded by the units of each group, and fields without one entry per group.
    at_most_units: ClassVar[tuple[str, ...]] = ()
    not_by_group: ClassVar[tuple[str, ...]] = ("by", "labels", WITHHELD, "left_out")

    by: Texts  # Variables that define the groups; empty for one group of all records.
    labels: tuple[Texts, ...]  # Codes of each group.
    # n_units, n_records: units and records of each group.
    n_units: Counts
    n_records: Counts

    @classmethod
    def of(cls, records: Records, groups: Groups, **own: Any) -> Self:
        """Count the units and records of groups, and add other fields."""
        counted = {"n_units": count_units(records, groups), "n_records": _bincount(groups)}
        return cls(by=groups.names, labels=groups.labels, **{**counted, **own})

    @property
    def n_parts(self) -> int:
        return len(self.labels)

    @property
    def n_used(self) -> int | None:
        return int(self.n_records.sum())

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a group, used in messages."""
        return self.labels[place]

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
        """Groups with their codes."""
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
        """Yield inconsistencies in the counts of groups."""
        yield from compare_units(self.n_units, self.n_records)
        for name in self.at_most_units:
            if np.any(getattr(self, name) > self.n_units):
                yield f"{name}: more units than the group has"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class ValuesEvidence(GroupEvidence):
    """Statistic of a variable, with the number of units that share its most frequent values."""

    # Number of distinct values of each group; None in evidence of earlier versions.
    n_values: Counts | None = None
    # Units that have the most frequent value of each group, the next one, and so on, padded with 0.
    holders: CountRows | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_values is not None:
            fits = self.holders is not None and self.holders.shape[1] == COUNTED
            self.require(fits, f"holders: not {COUNTED} numbers of units for each group")

    def contradictions(self) -> Iterator[str]:
        """Yield inconsistencies in the counts of groups."""
        yield from super().contradictions()
        yield from compare_values(self.n_units, self.n_records, self.n_values, self.holders)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class AmountEvidence(ValuesEvidence):
    """Statistic of amounts, with the largest contributions."""

    # largest, size: largest contributions of each group by absolute value, and the sum of all absolute
    # values.
    largest: NumberRows
    size: Numbers
    value: Numbers  # The statistic.

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.largest.shape[1] == TOP, f"largest: not {TOP} contributions for each group")


class Values(NamedTuple):
    """Number of distinct values of each group, and units with its most frequent values."""

    n_values: Integers
    holders: Integers


def compare_values(
    n_units: Integers, n_records: Integers, n_values: Integers | None, holders: Integers | None
) -> Iterator[str]:
    """Yield inconsistencies between the holders of the most frequent values and all units.

    Examples
    --------
    >>> many, two = np.array([40]), np.array([2])
    >>> list(compare_values(many, many, two, np.array([[37, 3, 0, 0, 0]])))
    []
    >>> list(compare_values(many, many, two, np.array([[20, 3, 0, 0, 0]])))
    ['values that more or fewer units have than there are']
    """
    if n_values is None or holders is None:
        return
    listed = (holders > 0).sum(axis=1)
    if np.any(listed != np.minimum(n_values, COUNTED)) or np.any(np.diff(holders, axis=1) > 0):
        yield "values without units, or not in order"
        return
    # A unit with several records may have several values.
    every, most = holders.sum(axis=1), n_records + np.minimum(listed - n_values, 0)
    if np.any(every > most) or np.any((n_values <= COUNTED) & (every < n_units)):
        yield "values that more or fewer units have than there are"


def count_units(records: Records, groups: Groups) -> Integers:
    """Count the units of each group."""
    if not records.repeated:
        return _bincount(groups)
    return per_contributor(groups.codes, records.unit, np.zeros(len(records)), len(groups))[2]


def _bincount(groups: Groups) -> Integers:
    return np.asarray(np.bincount(groups.codes, minlength=len(groups)), dtype=np.int64)


def rank_contributions(groups: Groups, who: Integers, amounts: Floats) -> tuple[Floats, Floats]:
    """Return the largest contributions of each group by absolute value, and the sum of all."""
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


def count_each(codes: Integers, who: Integers, values: Floats) -> tuple[Integers, Integers]:
    """Return the group and the number of units of each distinct value, sorted by group.

    Parameters
    ----------
    codes, who, values
        Group, unit and value of each record.
    """
    # Sort by value, then by group: codes are short and radix-sorted.
    order = np.argsort(values)
    order = order[in_order(codes[order], int(codes.max(initial=0)) + 1)]
    group, value = codes[order], values[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (group[1:] != group[:-1]) | (value[1:] != value[:-1])
    owner = group[first]
    if np.bincount(who).max(initial=0) <= 1:
        return owner, np.diff(np.flatnonzero(first), append=len(order))
    *_, count = per_contributor(np.cumsum(first) - 1, who[order], value, len(owner))
    return owner, count


def count_values(codes: Integers, who: Integers, values: Floats, n_groups: int) -> Values:
    """Count the distinct values of each group, and the units with its most frequent values.

    Parameters
    ----------
    codes, who, values
        Group, unit and value of each record.
    n_groups
        Number of groups.

    Examples
    --------
    >>> one_group, values = np.zeros(4, dtype=np.int64), np.array([7.0, 7.0, 0.0, 7.0])
    >>> found = count_values(one_group, np.arange(4), values, 1)
    >>> found.n_values.tolist(), found.holders.tolist()
    ([2], [[3, 1, 0, 0, 0]])
    """
    owner, count = count_each(codes, who, values)
    ranked = np.argsort(-count, kind="stable")
    ranked = ranked[in_order(owner[ranked], n_groups)]
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    holders = np.zeros((n_groups, COUNTED), dtype=np.int64)
    shown = rank < COUNTED
    holders[owner[shown], rank[shown]] = count[ranked][shown]
    return Values(np.asarray(np.bincount(owner, minlength=n_groups), dtype=np.int64), holders)


def values_of(records: Records, groups: Groups, values: Floats) -> dict[str, Integers]:
    """Count the distinct values of groups, as fields of their evidence."""
    return count_values(groups.codes, records.unit, values, len(groups))._asdict()


def refuse_counts(values: Floats, name: str) -> None:
    """Raise DataError for a variable with the two values 0 and 1, or 1 and 2: its sums are counts.

    Other variables with two values are judged group by group.
    """
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if high == low + 1 and low == round(low) and np.all((values == low) | (values == high)):
        raise DataError(
            "two_valued_column",
            "column {name!r} has two values only, so that its sums are counts",
            where="value",
            fix="request a frequency table with {name!r} among its variables",
            name=name,
        )


def slices(groups: Groups) -> Iterator[NDArray[Any]]:
    """Yield the record indices of each group."""
    order = in_order(groups.codes, len(groups))
    ends = np.cumsum(np.bincount(groups.codes, minlength=len(groups)))
    yield from np.split(order, ends[:-1])


def require_finite(values: Floats, what: str) -> Floats:
    """Return the numbers; raise DataError if one is not finite."""
    if not np.isfinite(values).all():
        raise DataError(
            "statistic_undefined_in_groups",
            "{statistic} is not defined in {n} group(s)",
            where=what,
            fix="leave out groups whose values or weights are all equal or add up to zero",
            statistic=what,
            n=int((~np.isfinite(values)).sum()),
        )
    return values


# A statistic, None where it is undefined; tests have the p value as a second entry.
Statistic = Annotated[float, Field(strict=True, allow_inf_nan=False)] | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SummaryEvidence(ValuesEvidence):
    """Summary or test statistic of each group."""

    at_most_units: ClassVar[tuple[str, ...]] = ("alike", "freedom")
    not_by_group: ClassVar[tuple[str, ...]] = (*ValuesEvidence.not_by_group, "categories")

    # other_values, other_holders: as ``n_values`` and ``holders``, for the second variable.
    other_values: Counts | None = None
    other_holders: CountRows | None = None
    # categories, entering, parts, wholes: for a test: codes and units of every group that enters it, 0 if it
    # does not occur here, and the units it reveals within them; see :class:`Entering`.
    categories: Texts | None = None
    entering: CountRows | None = None
    parts: CountRows | None = None
    wholes: CountRows | None = None
    fit: Numbers | None = None  # Square of a correlation; for chi square, the square of Cramér's V.
    # The statistic, None where undefined; for a test also the p value.
    value: tuple[tuple[Statistic, ...], ...]
    freedom: Wholes  # Units minus the parameters estimated on the way.
    # For an extreme value the units that have it; otherwise all units if all values are equal, else 0.
    alike: Counts
    # Largest share of one unit in what the statistic sums: squares for a deviation, higher powers for
    # skewness and kurtosis. None where nothing is summed.
    squares: Numbers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        sides = (0 if self.categories is None else len(self.categories), 0)
        if self.entering is not None:
            sides = (sides[0], self.entering.shape[1])
        self.require(sides[0] == sides[1], "entering: not one number for each category")
        widths = {len(row) for row in self.value}
        self.require(widths <= {1} or widths == {2}, "value: not a statistic for each group")

    def contradictions(self) -> Iterator[str]:
        """Yield inconsistencies in the counts of groups."""
        yield from super().contradictions()
        yield from compare_values(self.n_units, self.n_records, self.other_values, self.other_holders)
        if self.fit is not None and np.any((self.fit < 0) | (self.fit > 1 + ADDITIVITY)):
            yield "fit: not the square of a correlation"
        if self.entering is not None and np.any(self.n_units < self.entering.T):
            yield "entering: more units than the group has"
        if self.parts is not None and (self.wholes is None or np.any(self.parts > self.wholes)):
            yield "parts: more units than the group has"
        if self.squares is not None and np.any((self.squares < 0) | (self.squares > 1)):
            yield "squares: not a share"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class PercentileEvidence(ValuesEvidence):
    """Percentile of each group."""

    at_most_units: ClassVar[tuple[str, ...]] = ("low", "high")

    value: Numbers  # The percentile.
    # low, high: units with a value of at most, and of at least, the percentile.
    low: Counts
    high: Counts


@dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class ModeEvidence(GroupEvidence):
    """Modes of each group."""

    at_most_units: ClassVar[tuple[str, ...]] = ("fewest_holders", "most_holders")

    value: Texts  # Published modes.
    # fewest_holders, most_holders: units with the rarest and the most frequent of the tied values.
    fewest_holders: Counts
    most_holders: Counts
    n_tied: Counts  # Number of tied values.
