"""Magnitude tables: rules on counts, dominance, and intervals as a percentage of the value.

Means with totals are a magnitude table, too. Its suppression pattern protects the sums and the counts of the
same cells, and means follow from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from hitoku.checks.evidence import (
    Evidence,
    MagnitudeEvidence,
    TableEvidence,
    compare_contributions,
    compare_ranks,
    compare_sums,
    count_few,
    plain_trees,
    refuse_counts,
    trees_of,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.frequency_table import CodedTable, claim_about, only_codes, tabulate_records
from hitoku.checks.outputs.group_statistic import own_name, sum_measures
from hitoku.checks.outputs.output_type import Fact, TableClaim, contribution_facts
from hitoku.checks.policies import Policy
from hitoku.checks.principles import MEAN as MEAN_OF
from hitoku.checks.principles import (
    Applied,
    Principle,
    PrincipleTest,
    Said,
    dominance_rule,
    insider_verdicts,
)
from hitoku.checks.principles import table_principles as tables
from hitoku.checks.unit_records import COMPLETE, Records
from hitoku.errors import ParameterError
from hitoku.messages import Text
from hitoku.model import Need
from hitoku.parameters import one_of
from hitoku.rules import FROM_COUNTS

MEAN = "mean"
STATISTICS = ("sum", MEAN)


@dataclass(frozen=True)
class MagnitudeTable(CodedTable[MagnitudeEvidence]):
    """Sums or means of a variable in every combination of codes, with totals."""

    kind: ClassVar[str] = "magnitude_table"
    evidence: ClassVar[type[Evidence]] = MagnitudeEvidence
    counted: ClassVar[bool] = False

    by: tuple[str, ...]  # Variables of the table.
    value: str  # Column to sum. The rules use absolute values of negative amounts.
    holding: str | None = None  # Column of holdings; units of one holding count as one contributor.
    # Column with the number of units that each record represents. Units are counted unweighted.
    weight: str | None = None
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    # Code trees by variable, as in :func:`hitoku.tabulate`.
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    # Variable whose codes are periods with the same units; shares are judged within each period. A session
    # sets it from its own ``period``.
    period: str | None = None
    # "sum", or "mean": sums divided by records, suppressed where the sums are.
    statistic: Annotated[str, one_of(STATISTICS)] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))
        super().__post_init__()
        if self.statistic == MEAN and self.weight is not None:
            raise ParameterError(
                "weighted_means_have_no_totals",
                "weighted means with totals are not supported",
                where="weight",
                fix="use mean(), which has no totals",
            )

    def collect(self, records: Records) -> MagnitudeEvidence:
        """Tabulate sums, units and largest contributions."""
        records.weights(self.weight)
        values = records.numbers(self.value)
        refuse_counts(values, self.value)
        table = tabulate_records(
            records,
            self.by,
            value=self.value,
            holding=self.holding,
            weight=self.weight,
            missing=self.missing,
            hierarchies=trees_of(self.hierarchies),
            magnitude="abs",
        )
        groups = records.groups(self.by, self.missing)
        return MagnitudeEvidence.of(
            table,
            period=self.period,
            only=only_codes(records, table),
            **count_few(table.dimensions, groups, records.unit, values),
        )

    def protect(self, evidence: MagnitudeEvidence, policy: Policy) -> MagnitudeEvidence:
        """Protect the counts, then the magnitudes with at least the same cells suppressed."""
        counts = tables.withhold_counts(evidence, policy)
        if counts.all():
            return replace(evidence, counts_withheld=counts, withheld=counts)
        need = tables.magnitude_need(evidence, policy, counts | tables.few_revealed(evidence, policy))
        withheld = tables.choose_withheld(evidence.table, need, insiders=True)
        return replace(evidence, counts_withheld=counts, withheld=withheld)

    def tests(self, evidence: MagnitudeEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of the rules on counts and amounts, and verdicts on intervals and insiders."""
        count_need = tables.count_need(evidence, policy)
        need = _need(evidence, count_need, policy)
        rule = policy.dominance
        largest, size = evidence.largest, evidence.size
        share = largest[:, : rule.n].sum(axis=1) / np.where(size > 0, size, 1.0)
        yield from tables.count_tests(evidence, count_need.rules, policy)
        yield PrincipleTest(
            principle=Principle.DOMINANCE,
            reason="dominated",
            unsafe=np.logical_or.reduce([need.rules[name] for name in need.rules if name != FROM_COUNTS]),
            rule=dominance_rule(policy),
            numbers={"n": rule.n, "k": rule.k, "largest_share": float(share.max())},
            remedy="merge these categories with others",
        )
        yield from tables.few_tests(evidence, policy)
        asked = Text(
            "intervals of withheld values at least {share:.0%} of them wide", share=policy.interval.share
        )
        yield tables.interval_verdict(evidence.table, need, evidence.withheld, asked)
        yield from insider_verdicts(evidence.table, need, evidence.withheld)

    def publish(self, evidence: TableEvidence) -> dict[str, list[Any]]:
        """Return codes and sums or means; None for suppressed values, and for means of empty cells."""
        columns = super().publish(evidence)
        if self.statistic == MEAN:
            *_, (measure, sums) = columns.items()
            del columns[measure]
            records = evidence.records.tolist()
            columns[own_name(f"{MEAN}_{evidence.measure}", columns)] = [
                None if total is None or not n else total / n for total, n in zip(sums, records, strict=True)
            ]
        return columns

    def contradictions(self, evidence: MagnitudeEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        largest, size = evidence.largest, evidence.size
        yield from compare_ranks(largest)
        # Weighted sums differ from the sum of contributions.
        if self.weight is None:
            units = evidence.n_units if self.holding is None else None
            yield from compare_contributions(largest, size, evidence.records, evidence.n_contributors, units)
            yield from compare_sums(evidence.value, size, negative=evidence.negative)

    def facts(self, evidence: MagnitudeEvidence) -> Iterator[Fact]:
        """Yield the units, records, contributions and sums of the cells."""
        yield from super().facts(evidence)
        if self.weight is not None:
            return
        largest, size = evidence.largest, evidence.size
        cells = evidence.cells
        yield from contribution_facts(cells, self.value, self.holding, largest, size)
        for codes, total, scale in zip(cells.named(), evidence.value.tolist(), size.tolist(), strict=True):
            yield Fact(codes, ("sum", self.value), total, scale)

    def claim(self, evidence: TableEvidence, policy: Policy) -> TableClaim | None:
        """Return the table, its need and its release; None for a table without contributions."""
        if not isinstance(evidence, MagnitudeEvidence):
            return None
        return claim_about(evidence, _need(evidence, tables.count_need(evidence, policy), policy))

    def said(self, evidence: MagnitudeEvidence) -> Iterator[Said]:
        """Yield the means of published cells, which follow from sums and counts."""
        if self.weight is not None:
            return
        kept = (~evidence.withheld & (evidence.n_units > 0)).tolist()
        for codes, n, out in zip(evidence.cells.named(), evidence.n_units.tolist(), kept, strict=True):
            if out:
                yield Said(codes=codes, variable=self.value, statistic=MEAN_OF, n_units=n)

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts of all units, multiplied by their weights if there are any."""
        return sum_measures(records, self.value, self.weight)


def _need(evidence: MagnitudeEvidence, count_need: Need, policy: Policy) -> Need:
    # Counts that the rules find unsafe are protected even if the evidence does not list them as suppressed.
    known = evidence.counts_withheld | count_need.unsafe | tables.few_revealed(evidence, policy)
    return tables.magnitude_need(evidence, policy, known)
