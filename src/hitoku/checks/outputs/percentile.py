"""Percentiles: enough units in the group, and on each side of the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence import groups as grouped
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import groups as principles
from hitoku.checks.principles.verdict import Principle, Verdict
from hitoku.checks.records import Records
from hitoku.errors import ParameterError
from hitoku.model.arrays import Floats, Mask


@dataclass(frozen=True)
class Percentile:
    """A percentile, overall or by group.

    Parameters
    ----------
    value
        Column of numbers.
    percent
        Which, from 0 to 100; 50 is the median. 0 and 100 are the minimum and the maximum, which are refused.
    by
        Variables that make the groups.
    weight
        Column with weights: the smallest value with at least that percentage of the weight up to it. Without
        weights it lies between two values where need be, as in pandas.
    missing
        "error", or "code".
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "percentile"

    value: str
    percent: float
    by: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "error"
    decimals: int | None = None

    def __post_init__(self) -> None:
        grouped.refuse_decimals(self.decimals)
        if not isinstance(self.percent, Real) or not 0 <= self.percent <= 100:
            raise ParameterError(
                f"percent must lie in [0, 100], got {self.percent!r}", where="percent", fix="50 is the median"
            )
        object.__setattr__(self, "percent", float(self.percent))

    def collect(self, records: Records) -> Evidence:
        """Sort once; count the units on each side."""
        groups = records.groups(self.by, self.missing)
        values, weights = records.numbers(self.value), records.weights(self.weight)
        found, low, high = [], [], []
        for own in grouped.slices(groups):
            x, who = values[own], records.unit[own]
            at = self._of(x, weights[own])
            found.append(at)
            low.append(len(np.unique(who[x <= at])))
            high.append(len(np.unique(who[x >= at])))
        return {
            **grouped.group_evidence(records, groups),
            "value": grouped.finite(np.array(found), f"percentile of {self.value}"),
            "low": low,
            "high": high,
        }

    def _of(self, x: Floats, weights: Floats) -> float:
        if self.weight is None:
            return float(np.percentile(x, self.percent))
        order = np.argsort(x, kind="stable")
        reached = np.cumsum(weights[order])
        if reached[-1] <= 0:
            return float("nan")
        place = int(np.searchsorted(reached, self.percent / 100 * reached[-1] * (1 - 1e-12)))
        return float(x[order][min(place, len(x) - 1)])

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold the groups that do not meet a rule; all of them for an extreme."""
        extreme = np.full(len(evidence["n_units"]), self.percent in {0, 100})
        short = _one_sided(evidence, policy)
        return grouped.with_withheld(evidence, principles.few_units(evidence, policy), short, extreme)

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        if self.percent in {0, 100}:
            name = "minimum" if self.percent == 0 else "maximum"
            refused = principles.individual(
                f"the {name} is the value of one unit", "take a percentile further inside, such as 5 or 95"
            )
            return principles.units(evidence, policy), refused
        side = policy.percentile.side
        least = int(np.minimum(evidence["low"], evidence["high"]).min())
        return (
            principles.units(evidence, policy),
            principles.judged(
                Principle.INDIVIDUAL_VALUE,
                "too_near_the_end",
                _one_sided(evidence, policy),
                principles.withheld_of(evidence),
                evidence["labels"].__getitem__,
                f"at least {side} units on each side",
                {"side": side, "smallest": least},
                "take a percentile nearer to the middle, or larger groups",
            ),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return grouped.published_groups(evidence, f"p{self.percent:g}_{self.value}", self.decimals)


def _one_sided(evidence: Mapping[str, Any], policy: Policy) -> Mask:
    return np.asarray(np.minimum(evidence["low"], evidence["high"]) < policy.percentile.side)
