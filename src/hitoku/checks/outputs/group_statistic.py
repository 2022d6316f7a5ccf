"""Base class of statistics by group, and functions for groups that are published in steps.

Curves and tables in steps are published at few ends, so that every step between two ends meets the policy.
The evidence has one part, in order, for every position where a step could end; positions inside a step are
suppressed. Positions after the last end belong to no step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from hitoku.checks.evidence import CodedCells, GroupEvidence, ValuesEvidence
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.membership import Membership, group_membership
from hitoku.checks.outputs.output_type import Fact, OutputType, added_up, required_columns, unit_facts
from hitoku.checks.principles import Said
from hitoku.checks.unit_records import Records
from hitoku.model import Integers, Mask

OTHER_VARIABLES = "groups by other variables than in the definition"

G = TypeVar("G", bound=GroupEvidence)


class GroupStatistic(OutputType[G]):
    """Base class of statistics by group; a subclass is a frozen dataclass with ``by`` and ``missing``."""

    # Number of variables of the evidence beyond ``by``, such as the position within a curve.
    n_added: ClassVar[int] = 0

    value: str
    by: tuple[str, ...]
    missing: str

    @property
    def variables(self) -> tuple[str, ...]:
        """Grouping variables."""
        return self.by

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a record must have to be used."""
        numbers = tuple(getattr(self, name, None) for name in ("value", "other", "weight"))
        return required_columns(self.by, numbers, self.missing)

    @property
    def publishes(self) -> frozenset[str]:
        """The variables of the statistic, but not counts."""
        return frozenset(name for name in (self.value, getattr(self, "other", None)) if name is not None)

    def contradictions(self, evidence: G) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from evidence.contradictions()
        if evidence.by[: len(evidence.by) - self.n_added] != self.by:
            yield OTHER_VARIABLES

    def facts(self, evidence: G) -> Iterator[Fact]:
        """Yield the units of the groups, and the records of all unions of groups."""
        yield from unit_facts(evidence.cells)
        records = evidence.n_records.tolist()
        yield from added_up(evidence.cells, {("records",): records}, records)

    def cells(self, evidence: G) -> CodedCells | None:
        """Return the groups with their codes; None for positions within a curve, which are not codes."""
        return None if self.n_added else evidence.cells

    def membership(self, records: Records, evidence: G) -> Membership | None:
        """Return the published group of each unit."""
        return group_membership(records, evidence, self.missing)


def said_of(evidence: ValuesEvidence, variable: str, statistic: str) -> Iterator[Said]:
    """Yield a statistic of a variable for each published group."""
    values, holders = evidence.n_values, evidence.holders
    for place in np.flatnonzero(~evidence.withheld).tolist():
        yield Said(
            codes=dict(zip(evidence.by, evidence.labels[place], strict=True)),
            variable=variable,
            statistic=statistic,
            n_units=int(evidence.n_units[place]),
            n_values=0 if values is None else int(values[place]),
            holders=() if values is None or holders is None else tuple(holders[place].tolist()),
        )


def publish_groups(
    evidence: GroupEvidence, values: Sequence[Any], name: str, decimals: int | None = None
) -> dict[str, list[Any]]:
    """Return the codes of the groups and one rounded value each, with None for suppressed values."""
    columns: dict[str, list[Any]] = {
        variable: [label[place] for label in evidence.labels] for place, variable in enumerate(evidence.by)
    }
    columns[own_name(name, columns)] = [
        None if gone else value if decimals is None else round(value, decimals)
        for value, gone in zip(values, evidence.withheld.tolist(), strict=True)
    ]
    return columns


def own_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return a name for a column of numbers that differs from all columns of codes.

    Examples
    --------
    >>> own_name("count", {"region": []}), own_name("count", {"count": []})
    ('count', 'count_')
    """
    while name in columns:
        name += "_"
    return name


def sum_measures(
    records: Records,
    value: str,
    weight: str | None,
    decimals: int | None = None,
    kind: Literal["mean", "sum"] = "sum",
) -> dict[str, Measure]:
    """Return the amounts of all units behind published sums or means.

    Units outside the filter of the output are included, because differences between outputs may concern them.
    Weighted sums are sums of another variable, amount times weight. Weighted means yield nothing: the sums of
    weights, by which they would have to be multiplied, are not published.

    Parameters
    ----------
    records
        All records of the data.
    value, weight
        Column of amounts, and of weights or None.
    decimals
        Number of decimals in the published numbers; None if they are not rounded.
    kind
        Whether sums or means are published.
    """
    if weight is not None and kind == "mean":
        return {}
    name = value if weight is None else f"{value} times {weight}"
    rounded = 0.0 if decimals is None else 10.0**-decimals
    return {name: Measure.of(records.per_unit(value, weight), kind, rounded)}


# First and last position of a step.
Step = tuple[int, int]


def curves(evidence: GroupEvidence) -> Iterator[Integers]:
    """Yield the positions of the parts of each group, which the last code of a label numbers."""
    places: dict[tuple[str, ...], list[int]] = {}
    for at, label in enumerate(evidence.labels):
        places.setdefault(label[:-1], []).append(at)
    yield from (np.array(own) for own in places.values())


def whole_groups(evidence: GroupEvidence) -> Iterator[tuple[dict[str, str], Integers]]:
    """Yield the codes of each group, without the number of the part, and the positions of its parts."""
    for own in curves(evidence):
        yield dict(zip(evidence.by[:-1], evidence.labels[own[0]][:-1], strict=True)), own


def columns_of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows as columns; repeated names are made unique."""
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(names):
        columns[own_name(name, columns)] = [row[place] for row in rows]
    return columns


def choose_ends(n: int, fits: Callable[[int, int], bool]) -> list[int]:
    """Return the ends of steps, ending each step as soon as it fits.

    Parameters
    ----------
    n
        Number of positions.
    fits
        Predicate: whether the positions from ``first`` to ``last`` may be a step.

    Examples
    --------
    >>> choose_ends(6, lambda first, last: last - first == 1)
    [1, 3, 5]
    """
    ends: list[int] = []
    first = 0
    for last in range(n):
        if fits(first, last):
            ends.append(last)
            first = last + 1
    return ends


def close_ends(n: int, ends: list[int], fits: Callable[[int, int], bool]) -> list[int]:
    """Merge the last steps with the remainder, so that the last step ends at the last position.

    Returns an empty list if not even one step over all positions fits.

    Examples
    --------
    >>> close_ends(5, [1, 3], lambda first, last: last - first >= 1)
    [1, 4]
    """
    for kept in range(len(ends), -1, -1):
        first = ends[kept - 1] + 1 if kept else 0
        if first < n and fits(first, n - 1):
            return [*ends[:kept], n - 1]
        if first == n:
            return ends[:kept]
    return []


def published_steps(withheld: Mask) -> list[Step]:
    """Return the steps, which end at the published positions.

    Examples
    --------
    >>> published_steps(np.array([True, False, False, True]))
    [(0, 1), (2, 2)]
    """
    steps: list[Step] = []
    first = 0
    for last in np.flatnonzero(~withheld).tolist():
        steps.append((first, last))
        first = last + 1
    return steps
