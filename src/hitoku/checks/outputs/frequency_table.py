"""Frequency tables: units per cell, no cell that holds nearly all of its row or column, wide intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence, TableEvidence, plain_trees, trees_of
from hitoku.checks.outputs.coded_table import CodedTable, claim_about, only_codes, tabulate_records
from hitoku.checks.outputs.output_type import TableClaim
from hitoku.checks.policies import Policy
from hitoku.checks.principles import PrincipleVerdict, tables
from hitoku.checks.records import COMPLETE, Records


@dataclass(frozen=True)
class FrequencyTable(CodedTable[TableEvidence]):
    """Counts of records in every combination of codes, with totals.

    Parameters
    ----------
    by
        The variables.
    missing
        "complete": records without a code are left out, and counted. "error", or "code": they go under
        "missing".
    hierarchies
        Code trees by variable, as in :func:`hitoku.tabulate`: their groups are cells of the table as well.
    period
        One of the variables whose codes are periods in which the same units come back: shares are judged
        within each. A session that knows its period says so itself.
    """

    kind: ClassVar[str] = "frequency_table"
    evidence: ClassVar[type[Evidence]] = TableEvidence

    by: tuple[str, ...]
    missing: str = COMPLETE
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    period: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))

    def collect(self, records: Records) -> TableEvidence:
        """Tabulate once."""
        trees = trees_of(self.hierarchies)
        table = tabulate_records(records, self.by, missing=self.missing, hierarchies=trees)
        return TableEvidence.of(table, period=self.period, only=only_codes(records, table))

    def protect(self, evidence: TableEvidence, policy: Policy) -> TableEvidence:
        """Withhold what the rules hit, and what that needs; totals are as they are."""
        return replace(evidence, withheld=tables.withhold_counts(evidence, policy))

    def judge(self, evidence: TableEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Apply the principles to what leaves."""
        need = tables.count_need(evidence, policy)
        asked = f"intervals of withheld counts at least {policy.interval.count:g} wide"
        if policy.groups and policy.interval.count < policy.least_units:
            asked += f" and up to {policy.least_units}"
        return (
            *tables.count_verdicts(evidence, need.rules, policy),
            tables.interval_verdict(evidence.table, need, evidence.withheld, asked),
        )

    def contradictions(self, evidence: TableEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        if not np.array_equal(evidence.value, evidence.records):
            yield "the counts of the table are not its records"
        yield from super().contradictions(evidence)

    def claim(self, evidence: TableEvidence, policy: Policy) -> TableClaim | None:
        """Return what the certificate is about."""
        return claim_about(evidence, tables.count_need(evidence, policy))
