"""Averages and sums: enough units, and nobody who dominates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence import groups as grouped
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import groups as principles
from hitoku.checks.principles.verdict import Verdict
from hitoku.checks.records import Records
from hitoku.errors import ParameterError, did_you_mean

STATISTICS = ("mean", "sum")


@dataclass(frozen=True)
class Average:
    """A mean or a sum, overall or by group.

    Parameters
    ----------
    value
        Column of numbers; amounts below zero count by their size in the dominance rule.
    by
        Variables that make the groups; none for one number over all.
    statistic
        "mean" or "sum".
    holding
        Column that names units who act as one.
    weight
        Column with weights. Units are counted unweighted.
    missing
        "error", or "code".
    decimals
        Published numbers are rounded to so many; -3 for thousands. The ledger takes rounding into account.
    """

    kind: ClassVar[str] = "average"

    value: str
    by: tuple[str, ...] = ()
    statistic: str = "mean"
    holding: str | None = None
    weight: str | None = None
    missing: str = "error"
    decimals: int | None = None

    def __post_init__(self) -> None:
        grouped.refuse_decimals(self.decimals)
        if self.statistic not in STATISTICS:
            fix = did_you_mean(self.statistic, STATISTICS)
            raise ParameterError(f"no average {self.statistic!r}", where="statistic", fix=fix)

    def collect(self, records: Records) -> Evidence:
        """Add up once."""
        groups = records.groups(self.by, self.missing)
        weights = records.weights(self.weight)
        values = records.numbers(self.value)
        amounts = values * weights
        total: Any = np.bincount(groups.codes, weights=amounts, minlength=len(groups))
        if self.statistic == "mean":
            with np.errstate(divide="ignore", invalid="ignore"):
                total = total / np.bincount(groups.codes, weights=weights, minlength=len(groups))
        return {
            **grouped.group_evidence(records, groups),
            **grouped.contribution_evidence(groups, records.contributors(self.holding), amounts),
            **grouped.holder_evidence(records, groups, values),
            "value": grouped.finite(total, f"{self.statistic} of {self.value}"),
        }

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold the groups that do not meet a rule."""
        return grouped.with_withheld(
            evidence,
            principles.few_units(evidence, policy),
            principles.dominated(evidence, policy),
            principles.told_apart(evidence, policy),
        )

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        return (
            principles.units(evidence, policy),
            principles.dominance(evidence, policy),
            *principles.two_values(evidence, policy),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return grouped.published_groups(evidence, f"{self.statistic}_{self.value}", self.decimals)
