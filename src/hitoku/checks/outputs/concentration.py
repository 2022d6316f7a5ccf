"""Concentration ratios: enough contributors, and nobody who dominates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence import groups as grouped
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import groups as principles
from hitoku.checks.principles.verdict import Verdict
from hitoku.checks.records import Records, per_contributor
from hitoku.errors import DataError, ParameterError, did_you_mean
from hitoku.model.arrays import Floats


@dataclass(frozen=True)
class Concentration:
    """How unevenly an amount is spread over contributors, overall or by group.

    Parameters
    ----------
    value
        Column of amounts, none below zero.
    statistic
        "gini", "hhi" (Herfindahl and Hirschman, from 0 to 1), or "cr4" and the like: the share of the four
        largest. "cr1" is the share of one contributor and is refused.
    by
        Variables that make the groups.
    holding
        Column that names units who act as one.
    missing
        "error", or "code".
    weight
        Column with the number of contributors each record stands for, who all have its amount. The rules
        count contributors unweighted; in the dominance rule an amount counts with its weight.
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "concentration"

    value: str
    statistic: str = "hhi"
    by: tuple[str, ...] = ()
    holding: str | None = None
    missing: str = "error"
    weight: str | None = None
    decimals: int | None = None

    def __post_init__(self) -> None:
        grouped.refuse_decimals(self.decimals)
        if self.statistic not in {"gini", "hhi"} and not re.fullmatch(r"cr[1-9]\d?", self.statistic):
            fix = did_you_mean(self.statistic, ["gini", "hhi", "cr4"])
            raise ParameterError(f"no concentration ratio {self.statistic!r}", where="statistic", fix=fix)

    def collect(self, records: Records) -> Evidence:
        """Add up per contributor once."""
        groups = records.groups(self.by, self.missing)
        values = records.numbers(self.value)
        if np.any(values < 0):
            raise DataError(
                f"column {self.value!r} has {int((values < 0).sum())} amount(s) below zero",
                where="concentration",
                fix="a share of a total has no meaning then; leave these records out",
            )
        who, weights = records.contributors(self.holding), records.weights(self.weight)
        amount, weighted, once, total = (
            per_contributor(groups.codes, who, each, len(groups))[1]
            for each in (values, values * weights, np.ones(len(values)), weights)
        )
        *_, n_contributors = per_contributor(groups.codes, who, values, len(groups))
        # Who has several records stands for as many as they do on average, by amount.
        times = np.where(amount > 0, weighted / np.where(amount > 0, amount, 1.0), total / once)
        ends = np.cumsum(n_contributors)[:-1]
        parts = zip(np.split(amount, ends), np.split(times, ends), strict=True)
        found = np.array([self._of(*part) for part in parts])
        evidence = grouped.group_evidence(records, groups)
        # Units of one holding are one contributor: the smaller number counts.
        evidence["n_units"] = np.minimum(evidence["n_units"], n_contributors).tolist()
        return {
            **evidence,
            **grouped.contribution_evidence(groups, who, values * weights),
            **grouped.holder_evidence(records, groups, values),
            "value": grouped.finite(found, f"{self.statistic} of {self.value}"),
        }

    def _of(self, amounts: Floats, times: Floats) -> float:
        """Compute the statistic of amounts, each of which so many contributors have."""
        total = times @ amounts
        if total <= 0:
            return float("nan")
        if self.statistic == "hhi":
            return float(times @ amounts**2 / total**2)
        order = np.argsort(amounts, kind="stable")[:: 1 if self.statistic == "gini" else -1]
        x, n = amounts[order], times[order]
        before = np.cumsum(n) - n
        if self.statistic == "gini":
            # Twice the sum over all pairs of their difference, each with those before and after it.
            after = n.sum() - before - n
            return float((n * x) @ (before - after) / (n.sum() * total))
        largest = np.clip(int(self.statistic[2:]) - before, 0.0, n)
        return float(largest @ x / total)

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold the groups that do not meet a rule; all of them for the share of one contributor."""
        one = np.full(len(evidence["n_units"]), self.statistic == "cr1")
        few, dominated = principles.few_units(evidence, policy), principles.dominated(evidence, policy)
        return grouped.with_withheld(evidence, few, dominated, one, principles.told_apart(evidence, policy))

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        found = (
            principles.units(evidence, policy),
            principles.dominance(evidence, policy),
            *principles.two_values(evidence, policy),
        )
        if self.statistic == "cr1":
            text = "the share of the largest contributor is a value of one unit"
            return (*found, principles.individual(text, 'use "cr4", "hhi" or "gini"'))
        return found

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return grouped.published_groups(evidence, f"{self.statistic}_{self.value}", self.decimals)
