"""Percentiles: enough units in the group, on each side of the value, and not nearly all alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.checks.evidence import (
    STRICT,
    Counts,
    Evidence,
    Numbers,
    ValuesEvidence,
    require_finite,
    slices,
    values_of,
)
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    publish_groups,
    refuse_decimals,
    said_of,
)
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest, Said, nearly_all_equal
from hitoku.checks.principles import groups as principles
from hitoku.checks.records import COMPLETE, Records
from hitoku.errors import ParameterError
from hitoku.model import Floats


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class PercentileEvidence(ValuesEvidence):
    """A percentile of each group.

    Parameters
    ----------
    value
        The percentile.
    low, high
        Units with a value of at most, and of at least, the percentile.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("low", "high")

    value: Numbers
    low: Counts
    high: Counts


@dataclass(frozen=True)
class Percentile(GroupStatistic[PercentileEvidence]):
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
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "percentile"
    evidence: ClassVar[type[Evidence]] = PercentileEvidence

    value: str
    percent: float
    by: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = COMPLETE
    decimals: int | None = None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if not isinstance(self.percent, Real) or not 0 <= self.percent <= 100:
            raise ParameterError(
                "percent_range",
                "percent must lie in [0, 100], got {percent!r}",
                where="percent",
                fix="50 is the median",
                percent=self.percent,
            )
        object.__setattr__(self, "percent", float(self.percent))

    @property
    def tells(self) -> frozenset[str]:
        """Nothing that adds up: it is held against the same percentile of other groups only."""
        return frozenset({f"p{self.percent:g} of {self.value}"})

    def collect(self, records: Records) -> PercentileEvidence:
        """Sort once; count the units on each side."""
        groups = records.groups(self.by, self.missing)
        values, weights = records.numbers(self.value), records.weights(self.weight)
        found, low, high = [], [], []
        for own in slices(groups):
            x, who = values[own], records.unit[own]
            at = self._of(x, weights[own])
            found.append(at)
            low.append(len(np.unique(who[x <= at])))
            high.append(len(np.unique(who[x >= at])))
        return PercentileEvidence.of(
            records,
            groups,
            value=require_finite(np.array(found), f"percentile of {self.value}"),
            low=low,
            high=high,
            **values_of(records, groups, values),
        )

    def _of(self, x: Floats, weights: Floats) -> float:
        if self.weight is None:
            return float(np.percentile(x, self.percent))
        order = np.argsort(x, kind="stable")
        reached = np.cumsum(weights[order])
        if reached[-1] <= 0:
            return float("nan")
        place = int(np.searchsorted(reached, self.percent / 100 * reached[-1] * (1 - 1e-12)))
        return float(x[order][min(place, len(x) - 1)])

    def tests(self, evidence: PercentileEvidence, policy: Policy) -> Iterator[Applied]:
        """Apply the principles; an extreme is refused."""
        yield principles.units(evidence, policy)
        if self.percent in {0, 100}:
            name = "minimum" if self.percent == 0 else "maximum"
            yield principles.individual(
                f"the {name} is the value of one unit", "take a percentile further inside, such as 5 or 95"
            )
            return
        side, fewest = policy.percentile.side, np.minimum(evidence.low, evidence.high)
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="too_near_the_end",
            unsafe=np.asarray(fewest < side),
            rule=f"at least {side} units on each side",
            numbers={"side": side, "smallest": int(fewest.min())},
            remedy="take a percentile nearer to the middle, or larger groups",
        )
        yield nearly_all_equal(evidence, policy)

    def said(self, evidence: PercentileEvidence) -> Iterator[Said]:
        """Say that the percentiles leave, with the units on either side."""
        kept = np.flatnonzero(~evidence.withheld).tolist()
        name = f"p{self.percent:g}" + ("" if self.weight is None else f" by {self.weight}")
        for place, each in zip(kept, said_of(evidence, self.value, name), strict=True):
            low, high = int(evidence.low[place]), int(evidence.high[place])
            yield replace(each, percent=self.percent, low=low, high=high)

    def publish(self, evidence: PercentileEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        name = f"p{self.percent:g}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: PercentileEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        if np.any(evidence.low + evidence.high < evidence.n_units):
            yield "low, high: some units lie on neither side"
        # Units with several records may stand on either side, and weights move the place.
        if self.weight is not None or not np.array_equal(evidence.n_units, evidence.n_records):
            return
        place = (evidence.n_units - 1) * self.percent / 100
        least_low = np.floor(place + 1e-9) + 1
        least_high = evidence.n_units - np.ceil(place - 1e-9)
        if np.any(evidence.low < least_low) or np.any(evidence.high < least_high):
            yield "fewer units on one side than a percentile has"
