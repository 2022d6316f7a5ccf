"""Tables of counts: frequency tables with totals, and cross tables without.

Cross tables show counts, or percentages of rows, of columns or of all records. They are protected like the
frequency table with the same variables, including its totals, because totals are often published elsewhere or
known. A percentage together with its count gives the base of the percentage. A total that is the base of a
published percentage therefore counts as published, and no percentage of a suppressed total is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeVar, cast

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import CodedCells, Evidence, TableEvidence, plain_trees, same_trees, trees_of
from hitoku.checks.outputs.group_statistic import OTHER_VARIABLES, own_name
from hitoku.checks.outputs.membership import Membership, table_membership
from hitoku.checks.outputs.output_type import (
    Fact,
    OutputType,
    TableClaim,
    record_facts,
    required_columns,
    unit_facts,
)
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest, verdicts
from hitoku.checks.principles import table_principles as tables
from hitoku.checks.unit_records import COMPLETE, ERROR, Records
from hitoku.errors import ParameterError
from hitoku.messages import Text
from hitoku.model import Integers, Mask, Need, Protection, Release, Table
from hitoku.parameters import Decimals, one_of
from hitoku.tabulation import tabulate

UNIT = "hitoku unit"

T = TypeVar("T", bound=TableEvidence)


class CodedTable(OutputType[T]):
    """Base class of tables with one number per combination of codes, with totals."""

    tabular: ClassVar[bool] = True
    # Whether the numbers of the table are counts of records.
    counted: ClassVar[bool] = True

    by: tuple[str, ...]
    missing: str

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of the table."""
        return self.by

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        numbers = (getattr(self, "value", None), getattr(self, "weight", None))
        return required_columns(self.by, numbers, self.missing)

    @property
    def publishes(self) -> frozenset[str]:
        """Counts, and the summed variable: sums divided by published means give counts."""
        return COUNTS | {name for name in (getattr(self, "value", None),) if name is not None}

    def collect(self, records: Records) -> T:
        """Tabulate the records, with totals."""
        trees = trees_of(getattr(self, "hierarchies", {}))
        table = tabulate_records(records, self.by, missing=self.missing, hierarchies=trees)
        made = TableEvidence.of(table, period=getattr(self, "period", None), only=only_codes(records, table))
        return cast("T", made)

    def tests(self, evidence: T, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of the rules on counts, and the verdict on intervals."""
        need = tables.count_need(evidence, policy)
        yield from tables.count_tests(evidence, need.rules, policy)
        up_to = policy.least_units if policy.groups and policy.interval.count < policy.least_units else None
        asked = Text(
            "intervals of withheld counts at least {width:g} wide"
            if up_to is None
            else "intervals of withheld counts at least {width:g} wide and up to {up_to}",
            width=policy.interval.count,
            up_to=up_to,
        )
        yield tables.interval_verdict(evidence.table, need, evidence.withheld, asked)

    def protect(self, evidence: T, policy: Policy) -> T:
        """Suppress unsafe counts (primary), and others that protect them (secondary)."""
        return replace(evidence, withheld=tables.withhold_counts(evidence, policy))

    def claim(self, evidence: T, policy: Policy) -> TableClaim | None:
        """Return the table, its need and its release, which a certificate is about."""
        return claim_about(evidence, tables.count_need(evidence, policy))

    def publish(self, evidence: TableEvidence) -> dict[str, list[Any]]:
        """Return codes and values, with None for suppressed values."""
        labels = evidence.table.labels
        columns: dict[str, list[Any]] = {
            name: [labels.codes[v][int(p)] for p in labels.column(v)] for v, name in enumerate(labels.names)
        }
        columns[own_name(evidence.measure, columns)] = [
            None if gone else int(value) if evidence.integer else value
            for value, gone in zip(evidence.value.tolist(), evidence.withheld.tolist(), strict=True)
        ]
        return columns

    def contradictions(self, evidence: T) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        if self.counted and not np.array_equal(evidence.value, evidence.records):
            yield "the counts of the table are not its records"
        yield from evidence.contradictions()
        if evidence.by != self.by:
            yield OTHER_VARIABLES
        if evidence.period != getattr(self, "period", None):
            yield "another period than the definition says"
        if not same_trees(trees_of(getattr(self, "hierarchies", {})), evidence.hierarchies or {}):
            yield "another hierarchy than the definition says"

    def facts(self, evidence: T) -> Iterator[Fact]:
        """Yield the units and records of the cells."""
        yield from unit_facts(evidence.cells)
        yield from record_facts(evidence.cells)

    def cells(self, evidence: T) -> CodedCells | None:
        """Return the cells with their codes."""
        return evidence.cells

    def membership(self, records: Records, evidence: T) -> Membership | None:
        """Return the published cell of each unit."""
        return table_membership(records, evidence, self.missing)


def claim_about(evidence: TableEvidence, need: Need) -> TableClaim:
    """Return the table, its need and its release, which a certificate is about."""
    table = evidence.table
    return TableClaim(table, need, Release.of(table, Protection.withhold(table, evidence.withheld, need)))


def only_codes(records: Records, table: Table) -> tuple[str, ...] | None:
    """Return variables that a filter on other variables reduced to a single code; None if there are none."""
    single = (each.name for each in table.dimensions if len(each.leaves) == 1)
    return tuple(name for name in single if records.narrowed(name)) or None


def tabulate_records(records: Records, by: tuple[str, ...], **options: Any) -> Table:
    """Tabulate records, counting units where units have several records."""
    wanted = [*by, *(options[key] for key in ("value", "weight", "holding") if options.get(key))]
    for name in wanted:
        records.column(name)
    chosen = records.table.select(list(dict.fromkeys(wanted)))
    for name in set(by) - set(wanted[len(by) :]):
        # Codes as text, as everywhere in a session: cells are looked up by their codes.
        chosen = chosen.set_column(
            chosen.column_names.index(name), name, records.texts(name, options["missing"])
        )
    # Incomplete records have been removed already.
    options["missing"] = ERROR if options["missing"] == COMPLETE else options["missing"]
    if records.repeated:
        chosen = chosen.append_column(UNIT, [records.unit])
        options["unit"] = UNIT
    return tabulate(chosen, by=list(by), **options)


@dataclass(frozen=True)
class FrequencyTable(CodedTable[TableEvidence]):
    """Counts of records in every combination of codes, with totals."""

    kind: ClassVar[str] = "frequency_table"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    by: tuple[str, ...]  # Variables of the table.
    # "complete" leaves out records with a missing code and counts them, "error" refuses them, "code" puts
    # them under "missing".
    missing: str = COMPLETE
    # Code trees by variable, as in :func:`hitoku.tabulate`. Their inner codes are cells of the table, too.
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    # Variable whose codes are periods with the same units; shares are judged within each period. A session
    # sets it from its own ``period``.
    period: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))
        super().__post_init__()


# Base of percentages; "count" for counts.
OF = ("count", "all", "row", "column")


@dataclass(frozen=True)
class CrossTable(CodedTable[TableEvidence]):
    """Counts without totals, or percentages."""

    kind: ClassVar[str] = "cross_table"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    by: tuple[str, ...]  # Variables of the table. Rows are the codes of the first, columns those of the last.
    # "count" for counts; "all", "row" or "column" for percentages of all records, of the row or of the
    # column.
    of: Annotated[str, one_of(OF)] = "count"
    # "complete" leaves out records with a missing code and counts them, "error" refuses them, "code" puts
    # them under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in percentages. Default: not rounded.
    # Variable whose codes are periods with the same units; shares are judged within each period. A session
    # sets it from its own ``period``.
    period: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of in {"row", "column"} and len(self.by) < 2:
            raise ParameterError(
                "percentages_need_two_variables",
                "percentages of a {of} need two variables",
                where="by",
                fix='use of="all" for one',
                of=self.of,
            )

    def protect(self, evidence: TableEvidence, policy: Policy) -> TableEvidence:
        """Suppress what a frequency table suppresses, and percentages of suppressed totals.

        Totals that are the base of a percentage count as published, all other totals as suppressed.
        """
        withheld = tables.withhold_counts(evidence, policy)
        if self.of != "count":
            withheld = withheld | withheld[self._denominators(evidence)]
        return replace(evidence, withheld=withheld | ~self._revealed_cells(evidence))

    def _revealed_cells(self, evidence: TableEvidence) -> Mask:
        """Return the cells of which something is revealed: those inside, and what percentages are of."""
        revealed = _inner(evidence).copy()
        if self.of != "count":
            revealed[self._denominators(evidence)[revealed]] = True
        return revealed

    def tests(self, evidence: TableEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the verdicts on the frequency table with the totals that an attacker may know.

        Percentages of suppressed totals are tested in addition.
        """
        known = self._with_known_cells(evidence, policy)
        yield from verdicts(super().tests(known, policy), known)
        if self.of != "count":
            yield PrincipleTest(
                principle=Principle.INTERVAL,
                reason="share_of_withheld",
                unsafe=_inner(evidence)
                & evidence.withheld[self._denominators(evidence)]
                & ~evidence.withheld,
                rule="no percentage of a total that is withheld",
                remedy="withhold the percentages of this total, or merge categories until it need not be "
                "withheld",
            )

    def _with_known_cells(self, evidence: TableEvidence, policy: Policy) -> TableEvidence:
        """Return the evidence with the cells that an attacker may know: totals as in a frequency table."""
        own = tables.withhold_counts(evidence, policy)
        return replace(evidence, withheld=np.where(self._revealed_cells(evidence), evidence.withheld, own))

    def claim(self, evidence: TableEvidence, policy: Policy) -> TableClaim | None:
        """Return the table with the totals that an attacker may know, which the certificate is about."""
        return super().claim(self._with_known_cells(evidence, policy), policy)

    def publish(self, evidence: TableEvidence) -> dict[str, list[Any]]:
        """Return codes and counts or percentages, with None for suppressed entries."""
        labels, shown = evidence.table.labels, np.flatnonzero(_inner(evidence)).tolist()
        columns: dict[str, list[Any]] = {
            name: [labels.codes[v][int(labels.column(v)[cell])] for cell in shown]
            for v, name in enumerate(labels.names)
        }
        counts, gone = evidence.value.tolist(), evidence.withheld.tolist()
        if self.of == "count":
            columns[own_name("count", columns)] = [None if gone[at] else int(counts[at]) for at in shown]
            return columns
        wholes = self._denominators(evidence)
        whole = evidence.value[wholes].tolist()
        gone = (evidence.withheld | evidence.withheld[wholes]).tolist()
        columns[own_name("percent", columns)] = [
            None if gone[at] else self._round(100 * counts[at] / whole[at]) if whole[at] else 0.0
            for at in shown
        ]
        return columns

    def _round(self, percent: float) -> float:
        return percent if self.decimals is None else round(percent, self.decimals)

    def _denominators(self, evidence: TableEvidence) -> Integers:
        """Return, for each cell, the cell that is the base of its percentage."""
        sides = [len(d) for d in evidence.dimensions]
        at = list(np.unravel_index(np.arange(evidence.n_parts), sides))
        # A row shares all codes but that of the last variable; a column shares the code of the last.
        summed = {"all": range(len(sides)), "row": [len(sides) - 1], "column": range(len(sides) - 1)}[self.of]
        for axis in summed:
            at[axis] = np.full(evidence.n_parts, sides[axis] - 1)
        return np.ravel_multi_index(at, sides)

    def contradictions(self, evidence: TableEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        if not evidence.withheld[~self._revealed_cells(evidence)].all():
            yield "a total of a table without totals is published"


def _inner(evidence: TableEvidence) -> Mask:
    """Return the cells that are not totals."""
    sides = [len(d) for d in evidence.dimensions]
    at = np.unravel_index(np.arange(evidence.n_parts), sides)
    inner: Mask = np.logical_and.reduce([place < side - 1 for place, side in zip(at, sides, strict=True)])
    return inner
