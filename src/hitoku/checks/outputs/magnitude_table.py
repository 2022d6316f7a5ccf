"""Magnitude tables: the rules on counts, dominance, and intervals in percent of the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence import groups as grouped
from hitoku.checks.evidence.trees import plain_trees, trees_of
from hitoku.checks.outputs.frequency_table import count_verdicts, tabulated
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import tables
from hitoku.checks.principles.insiders import insider_verdicts
from hitoku.checks.principles.verdict import Principle, Verdict
from hitoku.checks.records import Records
from hitoku.model.need import Need
from hitoku.rules.withheld_counts import FROM_COUNTS


@dataclass(frozen=True)
class MagnitudeTable:
    """Sums of a variable in every combination of codes, with totals.

    Parameters
    ----------
    by
        The variables.
    value
        Column to add up; amounts below zero count by their size in the rules.
    holding
        Column that names units who act as one.
    weight
        Column with the number of units each record stands for. Units are counted unweighted.
    missing
        "error", or "code".
    hierarchies
        Code trees by variable, as in :func:`hitoku.tabulate`.
    """

    kind: ClassVar[str] = "magnitude_table"

    by: tuple[str, ...]
    value: str
    holding: str | None = None
    weight: str | None = None
    missing: str = "error"
    hierarchies: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))

    def collect(self, records: Records) -> Evidence:
        """Tabulate once: sums, units, largest contributions."""
        records.weights(self.weight)
        grouped.refuse_counts(records.numbers(self.value), self.value)
        table = tabulated(
            records,
            self.by,
            value=self.value,
            holding=self.holding,
            weight=self.weight,
            missing=self.missing,
            hierarchies=trees_of(self.hierarchies),
            magnitude="abs",
        )
        return tables.evidence_of(table)

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Protect the counts, then the magnitudes with the same cells withheld; totals are as they are."""
        counts = tables.protected(tables.counts_of(evidence), tables.count_need(evidence, policy))
        if counts.all():
            return {**evidence, "counts_withheld": counts.tolist(), "withheld": counts.tolist()}
        need = tables.magnitude_need(evidence, policy, counts)
        withheld = tables.protected(tables.table_of(evidence), need, insiders=True)
        return {**evidence, "counts_withheld": counts.tolist(), "withheld": withheld.tolist()}

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        withheld = np.asarray(evidence["withheld"], dtype=np.bool_)
        count_need = tables.count_need(evidence, policy)
        # What the rules on counts hit is looked at whatever the evidence says was withheld for it.
        counts = np.asarray(evidence["counts_withheld"], dtype=np.bool_) | count_need.unsafe
        need: Need = tables.magnitude_need(evidence, policy, counts)
        hit = np.logical_or.reduce([need.rules[name] for name in need.rules if name != FROM_COUNTS])
        rule = policy.dominance
        size = np.asarray(evidence["size"])
        share = np.asarray(evidence["largest"])[:, : rule.n].sum(axis=1) / np.where(size > 0, size, 1.0)
        more = f" and the {rule.p:g} % rule" if rule.p is not None else ""
        return (
            *count_verdicts(evidence, count_need.rules, policy),
            tables.rule_verdict(
                Principle.DOMINANCE,
                "dominated",
                evidence,
                hit,
                f"({rule.n}, {rule.k:g}) dominance{more}",
                {"n": rule.n, "k": rule.k, "largest_share": float(share.max())},
                "merge these categories with others",
            ),
            tables.interval_verdict(
                tables.table_of(evidence),
                need,
                withheld,
                f"intervals of withheld values at least {policy.interval.share:.0%} of them wide",
            ),
            *insider_verdicts(tables.table_of(evidence), need, withheld),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return tables.published_columns(evidence)
