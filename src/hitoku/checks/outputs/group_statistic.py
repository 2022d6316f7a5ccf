"""What statistics by group have in common; a type adds how it is computed and the rules it is held to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from hitoku.checks.evidence import CodedCells, GroupEvidence, ValuesEvidence
from hitoku.checks.outputs.complete_cases import needed
from hitoku.checks.outputs.facts import Fact, added_up, unit_facts
from hitoku.checks.outputs.membership import Membership, group_membership
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.principles import Said
from hitoku.checks.records import Records
from hitoku.errors import ParameterError

MOST_DECIMALS = 15
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
    def tells(self) -> frozenset[str]:
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
        """Return the groups with their codes."""
        return evidence.cells

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
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > MOST_DECIMALS:
        raise ParameterError(
            "decimals_not_whole",
            "decimals must be a whole number, got {decimals!r}",
            where="decimals",
            fix="2 stands for hundredths, -3 for thousands; leave it out to publish all digits",
            decimals=decimals,
        )
