"""Tables with totals: counts, unless a type says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import CodedCells, TableEvidence, same_trees, trees_of
from hitoku.checks.outputs.complete_cases import needed
from hitoku.checks.outputs.facts import Fact, record_facts, unit_facts
from hitoku.checks.outputs.group_statistic import OTHER_VARIABLES, own_name
from hitoku.checks.outputs.membership import Membership, table_membership
from hitoku.checks.outputs.output_type import OutputType, TableClaim
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, tables
from hitoku.checks.records import COMPLETE, ERROR, Records
from hitoku.model import Need, Protection, Release, Table
from hitoku.tabulation import tabulate

UNIT = "hitoku unit"

T = TypeVar("T", bound=TableEvidence)


class CodedTable(OutputType[T]):
    """Numbers for every combination of codes, with totals; a subclass is a frozen dataclass."""

    tabular: ClassVar[bool] = True
    # Whether its numbers are counts of records.
    counted: ClassVar[bool] = True

    by: tuple[str, ...]
    missing: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the table."""
        return self.by

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        numbers = (getattr(self, "value", None), getattr(self, "weight", None))
        return needed(self.by, numbers, self.missing)

    @property
    def tells(self) -> frozenset[str]:
        """Counts; sums of a variable as well, for with its means they give the counts."""
        return COUNTS | {name for name in (getattr(self, "value", None),) if name is not None}

    def collect(self, records: Records) -> T:
        """Tabulate once, with totals."""
        trees = trees_of(getattr(self, "hierarchies", {}))
        table = tabulate_records(records, self.by, missing=self.missing, hierarchies=trees)
        made = TableEvidence.of(table, period=getattr(self, "period", None), only=only_codes(records, table))
        return cast("T", made)

    def tests(self, evidence: T, policy: Policy) -> Iterator[Applied]:
        """Apply the rules on counts, and attack what leaves."""
        need = tables.count_need(evidence, policy)
        yield from tables.count_tests(evidence, need.rules, policy)
        asked = f"intervals of withheld counts at least {policy.interval.count:g} wide"
        if policy.groups and policy.interval.count < policy.least_units:
            asked += f" and up to {policy.least_units}"
        yield tables.interval_verdict(evidence.table, need, evidence.withheld, asked)

    def protect(self, evidence: T, policy: Policy) -> T:
        """Withhold what the rules hit, and what that needs; totals are as they are."""
        return replace(evidence, withheld=tables.withhold_counts(evidence, policy))

    def claim(self, evidence: T, policy: Policy) -> TableClaim | None:
        """Return what the certificate is about."""
        return claim_about(evidence, tables.count_need(evidence, policy))

    def publish(self, evidence: TableEvidence) -> dict[str, list[Any]]:
        """Return what leaves: codes and the value, None where withheld."""
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
        """Name what cannot be true together in the evidence."""
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
        """Say how many units and records the cells have."""
        yield from unit_facts(evidence.cells)
        yield from record_facts(evidence.cells)

    def cells(self, evidence: T) -> CodedCells | None:
        """Return the cells with their codes."""
        return evidence.cells

    def membership(self, records: Records, evidence: T) -> Membership | None:
        """Tell in which published cell each unit is."""
        return table_membership(records, evidence, self.missing)


def claim_about(evidence: TableEvidence, need: Need) -> TableClaim:
    """Return what the certificate of a table is about."""
    table = evidence.table
    return TableClaim(table, need, Release.of(table, Protection.withhold(table, evidence.withheld, need)))


def only_codes(records: Records, table: Table) -> tuple[str, ...] | None:
    """Return the variables of which a filter on others left a single code; None where there are none."""
    single = (each.name for each in table.dimensions if len(each.leaves) == 1)
    return tuple(name for name in single if records.narrowed(name)) or None


def tabulate_records(records: Records, by: tuple[str, ...], **options: Any) -> Table:
    """Tabulate records with their units."""
    wanted = [*by, *(options[key] for key in ("value", "weight", "holding") if options.get(key))]
    for name in wanted:
        records.column(name)
    chosen = records.table.select(list(dict.fromkeys(wanted)))
    for name in set(by) - set(wanted[len(by) :]):
        # As everything else in a session writes them: a table's cells are found again by their codes.
        chosen = chosen.set_column(
            chosen.column_names.index(name), name, records.texts(name, options["missing"])
        )
    # What is left out is out already.
    options["missing"] = ERROR if options["missing"] == COMPLETE else options["missing"]
    if records.repeated:
        chosen = chosen.append_column(UNIT, [records.unit])
        options["unit"] = UNIT
    return tabulate(chosen, by=list(by), **options)
