"""Statistics by group: what types have in common, and groups that are published in steps.

Of curves and tables in steps only so many ends are published that every step between two may leave. The
evidence has one part for every place where a step could end, in order; those at which none ends are withheld.
What lies beyond the last end is no step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from hitoku.checks.evidence import CodedCells, GroupEvidence, ValuesEvidence
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.membership import Membership, group_membership
from hitoku.checks.outputs.output_type import Fact, OutputType, added_up, needed, unit_facts
from hitoku.checks.principles import Said
from hitoku.checks.unit_records import Records
from hitoku.errors import ParameterError
from hitoku.model import Integers, Mask

OTHER_VARIABLES = "groups by other variables than the definition says"

G = TypeVar("G", bound=GroupEvidence)


class GroupStatistic(OutputType[G]):
    """A statistic for each group of records; a subclass is a frozen dataclass with ``by`` and ``missing``."""

    # Variables of the evidence that are not those of the definition: a step of a curve is one.
    n_added: ClassVar[int] = 0

    value: str
    by: tuple[str, ...]
    missing: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that make the groups."""
        return self.by

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        numbers = tuple(getattr(self, name, None) for name in ("value", "other", "weight"))
        return needed(self.by, numbers, self.missing)

    @property
    def publishes(self) -> frozenset[str]:
        """Something of the variable it is about; how many units there are, it does not say."""
        return frozenset(name for name in (self.value, getattr(self, "other", None)) if name is not None)

    def contradictions(self, evidence: G) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from evidence.contradictions()
        if evidence.by[: len(evidence.by) - self.n_added] != self.by:
            yield OTHER_VARIABLES

    def facts(self, evidence: G) -> Iterator[Fact]:
        """Say how many units the groups have, and how many records any of them together."""
        yield from unit_facts(evidence.cells)
        records = evidence.n_records.tolist()
        yield from added_up(evidence.cells, {("records",): records}, records)

    def cells(self, evidence: G) -> CodedCells | None:
        """Return the groups with their codes; places in an order, or in time, are no codes of a variable."""
        return None if self.n_added else evidence.cells

    def membership(self, records: Records, evidence: G) -> Membership | None:
        """Return in which published group each unit is."""
        return group_membership(records, evidence, self.missing)


def said_of(evidence: ValuesEvidence, variable: str, statistic: str) -> Iterator[Said]:
    """Say that a statistic of a variable leaves, of every group that is not withheld."""
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
    """Return what leaves: the codes of the groups and one value each, rounded, None where withheld."""
    columns: dict[str, list[Any]] = {
        variable: [label[place] for label in evidence.labels] for place, variable in enumerate(evidence.by)
    }
    columns[own_name(name, columns)] = [
        None if gone else value if decimals is None else round(value, decimals)
        for value, gone in zip(values, evidence.withheld.tolist(), strict=True)
    ]
    return columns


def own_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return the name of a column of numbers beside columns of codes, one of which may be called the same.

    Examples
    --------
    >>> own_name("count", {"region": []}), own_name("count", {"count": []})
    ('count', 'count_')
    """
    while name in columns:
        name += "_"
    return name


def refuse_decimals(decimals: int | None) -> None:
    """Raise unless numbers can be rounded to so many decimals."""
    if decimals is None:
        return
    # Doubles have 15 significant digits.
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 15:
        raise ParameterError(
            "decimals_not_whole",
            "decimals must be a whole number, got {decimals!r}",
            where="decimals",
            fix="2 stands for hundredths, -3 for thousands; leave it out to publish all digits",
            decimals=decimals,
        )


def sum_measures(
    records: Records,
    value: str,
    weight: str | None,
    decimals: int | None = None,
    kind: Literal["mean", "sum"] = "sum",
) -> dict[str, Measure]:
    """Return the amounts behind published sums or means.

    Of all units, for what follows from the output may be about those that its filter leaves out. Weighted
    sums are sums of another variable, the amount times its weight. Weighted means are none: nobody is told
    the weights that they would have to be multiplied with.

    Parameters
    ----------
    records
        All of them.
    value, weight
        Columns.
    decimals
        To which the numbers are rounded.
    kind
        Whether sums or means are published.
    """
    if weight is not None and kind == "mean":
        return {}
    name = value if weight is None else f"{value} times {weight}"
    rounded = 0.0 if decimals is None else 10.0**-decimals
    return {name: Measure.of(records.per_unit(value, weight), kind, rounded)}


# A step, by the first and the last place in it.
Step = tuple[int, int]


def curves(evidence: GroupEvidence) -> Iterator[Integers]:
    """Yield the places of each group's parts; the last code of a label numbers them."""
    places: dict[tuple[str, ...], list[int]] = {}
    for at, label in enumerate(evidence.labels):
        places.setdefault(label[:-1], []).append(at)
    yield from (np.array(own) for own in places.values())


def whole_groups(evidence: GroupEvidence) -> Iterator[tuple[dict[str, str], Integers]]:
    """Yield the codes of each group, without the number of a part, and the places of its parts."""
    for own in curves(evidence):
        yield dict(zip(evidence.by[:-1], evidence.labels[own[0]][:-1], strict=True)), own


def columns_of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return rows as columns; a name that is used twice gets one of its own."""
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(names):
        columns[own_name(name, columns)] = [row[place] for row in rows]
    return columns


def choose_ends(n: int, fits: Callable[[int, int], bool]) -> list[int]:
    """End a step as soon as it fits.

    Parameters
    ----------
    n
        How many places there are.
    fits
        Tells whether what lies from one place to another may be a step.

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
    """Add what is left over to the last steps, so that these end at the last place; nothing if none fits.

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
    """Return the steps that end at what is published.

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
