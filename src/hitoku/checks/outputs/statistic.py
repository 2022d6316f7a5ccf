"""Means, sums, percentiles and modes.

Means and sums are tested for dominance. A percentile requires enough units on each side. Tied modes are all
published. Percentiles and modes fail if nearly all units have the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import (
    AmountEvidence,
    Evidence,
    ModeEvidence,
    PercentileEvidence,
    compare_contributions,
    compare_ranks,
    compare_sums,
    rank_contributions,
    require_finite,
    slices,
    values_of,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    publish_groups,
    said_of,
    sum_measures,
)
from hitoku.checks.outputs.output_type import (
    Fact,
    Kind,
    added_up,
    contribution_facts,
    required_columns,
    unit_facts,
)
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    MEAN,
    Applied,
    Principle,
    PrincipleTest,
    Said,
    few_values,
    nearly_all_equal,
)
from hitoku.checks.principles import group_principles as principles
from hitoku.checks.unit_records import COMPLETE, Records
from hitoku.messages import Text
from hitoku.model import LIMIT, Floats
from hitoku.parameters import Decimals, one_of, real

AVERAGES = ("mean", "sum")


@dataclass(frozen=True)
class Average(GroupStatistic[AmountEvidence]):
    """A mean or a sum, overall or by group."""

    kind: ClassVar[str] = "average"
    evidence: ClassVar[type[Evidence]] = AmountEvidence

    value: str  # Column of numbers. The dominance rule uses absolute values.
    by: tuple[str, ...] = ()  # Grouping variables. Default: one number over all records.
    statistic: Annotated[str, one_of(AVERAGES)] = "mean"  # "mean" or "sum".
    holding: str | None = None  # Column of holdings; units of one holding count as one contributor.
    weight: str | None = None  # Column of weights. Units are counted unweighted.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    # Number of decimals in published numbers, -3 for thousands. The ledger takes rounding into account.
    decimals: Decimals | None = None

    @property
    def publishes(self) -> frozenset[str]:
        """The variable; for sums also counts, which follow with the means of the same groups."""
        return COUNTS | super().publishes if self.statistic == "sum" else super().publishes

    def collect(self, records: Records) -> AmountEvidence:
        """Compute the mean or sum of each group, and its largest contributions."""
        groups = records.groups(self.by, self.missing)
        weights = records.weights(self.weight)
        values = records.numbers(self.value)
        amounts = values * weights
        total: Any = np.bincount(groups.codes, weights=amounts, minlength=len(groups))
        if self.statistic == "mean":
            with np.errstate(divide="ignore", invalid="ignore"):
                total = total / np.bincount(groups.codes, weights=weights, minlength=len(groups))
        largest, size = rank_contributions(groups, records.contributors(self.holding), amounts)
        return AmountEvidence.of(
            records,
            groups,
            largest=largest,
            size=size,
            **values_of(records, groups, values),
            value=require_finite(total, f"{self.statistic} of {self.value}"),
        )

    def tests(self, evidence: AmountEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of all principles that apply."""
        yield principles.units(evidence, policy)
        yield principles.dominance(evidence, policy)
        yield from few_values(evidence, evidence.n_values, evidence.holders, policy)

    def publish(self, evidence: AmountEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        name = f"{self.statistic}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: AmountEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        yield from compare_ranks(evidence.largest)
        # Weighted sums differ from the sum of contributions.
        if self.weight is None:
            yield from compare_contributions(evidence.largest, evidence.size, evidence.n_records)
            yield from compare_sums(self._sums(evidence), evidence.size)

    def facts(self, evidence: AmountEvidence) -> Iterator[Fact]:
        """Yield the units, records, sums and contributions of the groups."""
        if self.weight is not None:
            yield from super().facts(evidence)
            return
        cells = evidence.cells
        yield from unit_facts(cells)
        yield from contribution_facts(cells, self.value, self.holding, evidence.largest, evidence.size)
        terms: dict[Kind, list[float]] = {
            ("records",): evidence.n_records.tolist(),
            ("sum", self.value): self._sums(evidence).tolist(),
        }
        yield from added_up(cells, terms, evidence.size.tolist())

    def _sums(self, evidence: AmountEvidence) -> Floats:
        """Return the unweighted sums."""
        return evidence.value * (evidence.n_records if self.statistic == "mean" else 1)

    def said(self, evidence: AmountEvidence) -> Iterator[Said]:
        """Yield the published means; sums give the same, with the number of units."""
        return said_of(
            evidence,
            self.value,
            MEAN if self.weight is None else Text("{mean} by {weight}", mean=MEAN, weight=self.weight),
        )

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts of all units, times their weights; none for weighted means."""
        kind: Literal["mean", "sum"] = "mean" if self.statistic == "mean" else "sum"
        return sum_measures(records, self.value, self.weight, self.decimals, kind)


@dataclass(frozen=True)
class Percentile(GroupStatistic[PercentileEvidence]):
    """A percentile, overall or by group."""

    kind: ClassVar[str] = "percentile"
    evidence: ClassVar[type[Evidence]] = PercentileEvidence

    value: str  # Column of numbers.
    # Percentile between 0 and 100; 50 is the median. 0 and 100, minimum and maximum, fail.
    percent: Annotated[float, real("[0, 100]", "pass a number such as 50, the median")]
    by: tuple[str, ...] = ()  # Grouping variables.
    # Column of weights. The weighted percentile is the smallest value with at least that percentage of the
    # weight up to it; without weights, values are interpolated as in pandas.
    weight: str | None = None
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in published numbers. Default: not rounded.

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "percent", float(self.percent))

    @property
    def publishes(self) -> frozenset[str]:
        """The percentile, which is only compared with the same percentile of other groups."""
        return frozenset({f"p{self.percent:g} of {self.value}"})

    def collect(self, records: Records) -> PercentileEvidence:
        """Compute the percentile of each group, and count the units on each side."""
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
        """Yield the tests of all principles that apply; minimum and maximum fail."""
        yield principles.units(evidence, policy)
        if self.percent in {0, 100}:
            name = "minimum" if self.percent == 0 else "maximum"
            yield principles.individual(
                Text("the {name} is the value of one unit", name=name),
                "take a percentile further inside, such as 5 or 95",
            )
            return
        side, fewest = policy.percentile.side, np.minimum(evidence.low, evidence.high)
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="too_near_the_end",
            unsafe=np.asarray(fewest < side),
            rule=Text("at least {side} units on each side", side=side),
            numbers={"side": side, "smallest": int(fewest.min())},
            remedy="take a percentile nearer to the middle, or larger groups",
        )
        yield nearly_all_equal(evidence, policy)

    def said(self, evidence: PercentileEvidence) -> Iterator[Said]:
        """Yield the published percentiles, with the units on either side."""
        kept = np.flatnonzero(~evidence.withheld).tolist()
        name = f"p{self.percent:g}" + ("" if self.weight is None else f" by {self.weight}")
        for place, each in zip(kept, said_of(evidence, self.value, name), strict=True):
            low, high = int(evidence.low[place]), int(evidence.high[place])
            yield replace(each, percent=self.percent, low=low, high=high)

    def publish(self, evidence: PercentileEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        name = f"p{self.percent:g}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: PercentileEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        if np.any(evidence.low + evidence.high < evidence.n_units):
            yield "low, high: units on neither side"
        # Units with several records can be on both sides, and weights move the percentile.
        if self.weight is not None or not np.array_equal(evidence.n_units, evidence.n_records):
            return
        place = (evidence.n_units - 1) * self.percent / 100
        least_low = np.floor(place + 1e-9) + 1
        least_high = evidence.n_units - np.ceil(place - 1e-9)
        if np.any(evidence.low < least_low) or np.any(evidence.high < least_high):
            yield "too few units on one side of the percentile"


# Maximum number of tied modes that are listed.
MAX_MODES = 9


@dataclass(frozen=True)
class Mode(GroupStatistic[ModeEvidence]):
    """The most frequent value, overall or by group.

    Tied values are listed together, as in "3 | 7", and each must be held by enough units.
    """

    kind: ClassVar[str] = "mode"
    evidence: ClassVar[type[Evidence]] = ModeEvidence

    value: str  # Column of codes or numbers.
    by: tuple[str, ...] = ()  # Grouping variables.
    weight: str | None = None  # Column of weights.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes, also of ``value``, under "missing".
    missing: str = COMPLETE

    @property
    def publishes(self) -> frozenset[str]:
        """The mode, which is only compared with modes of other groups."""
        return frozenset({f"mode of {self.value}"})

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that a record must have to be used; ``value`` counts as a code."""
        return required_columns((*self.by, self.value), (self.weight,), self.missing)

    def collect(self, records: Records) -> ModeEvidence:
        """Find the modes of each group, and count the units that hold them."""
        groups = records.groups(self.by, self.missing)
        values, weights = records.groups([self.value], self.missing), records.weights(self.weight)
        modes, holders, n_tied = [], [], []
        for own in slices(groups):
            weight = np.bincount(values.codes[own], weights=weights[own], minlength=len(values))
            tied = np.flatnonzero(weight >= weight.max() * (1 - LIMIT))
            who = [len(np.unique(records.unit[own][values.codes[own] == place])) for place in tied]
            rest = [f"and {len(tied) - MAX_MODES} more"] if len(tied) > MAX_MODES else []
            modes.append(" | ".join([*(values.labels[place][0] for place in tied[:MAX_MODES]), *rest]))
            holders.append([min(who), max(who)])
            n_tied.append(len(tied))
        return ModeEvidence.of(
            records,
            groups,
            value=modes,
            fewest_holders=[low for low, _ in holders],
            most_holders=[high for _, high in holders],
            n_tied=n_tied,
        )

    def tests(self, evidence: ModeEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of all principles that apply."""
        yield principles.units(evidence, policy)
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="mode_of_few",
            unsafe=evidence.fewest_holders < policy.units.minimum,
            rule=Text("each mode the value of at least {minimum} units", minimum=policy.units.minimum),
            numbers={
                "minimum": policy.units.minimum,
                "smallest": int(evidence.fewest_holders.min()),
                "most_tied": int(evidence.n_tied.max()),
            },
            remedy="group the values, so that a mode is that of many",
        )
        most, n_units = evidence.most_holders, evidence.n_units
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="nearly_all_equal",
            unsafe=most - policy.mode.share * n_units > LIMIT * n_units,
            rule=Text("the mode that of at most {share:.0%} of the units", share=policy.mode.share),
            numbers={"share": policy.mode.share},
            remedy="take larger groups, or group the values differently",
        )

    def publish(self, evidence: ModeEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        return publish_groups(evidence, evidence.value, f"mode_{self.value}")

    def contradictions(self, evidence: ModeEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        fewest, most, n_tied = evidence.fewest_holders, evidence.most_holders, evidence.n_tied
        if np.any(fewest > most) or np.any(fewest < 1) or np.any(n_tied < 1):
            yield "modes without units, or fewest above most"
        if np.any((n_tied == 1) & (fewest != most)):
            yield "one mode, but two numbers of units"
        listed = np.array([value.count(" | ") + 1 for value in evidence.value])
        if np.any(listed < np.minimum(n_tied, MAX_MODES)):
            yield "fewer modes listed than tie"
        if self.weight is None and np.array_equal(evidence.n_units, evidence.n_records):
            if np.any(fewest != most):
                yield "tied modes with unequal numbers of units"
            if np.any(n_tied * most > evidence.n_units):
                yield "modes of more units than the group has"
