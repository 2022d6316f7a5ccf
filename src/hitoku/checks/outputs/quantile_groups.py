"""Quantile groups and Lorenz curves: means or shares of units ranked by an amount.

Units are ranked and divided into equal groups. Groups that are too small or dominated are merged with their
neighbours, so that every published step meets the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import (
    COUNTED,
    STRICT,
    TOP,
    AmountEvidence,
    Evidence,
    Numbers,
    compare_contributions,
    compare_ranks,
    compare_sums,
    rank_contributions,
    refuse_counts,
    slices,
    values_of,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    Step,
    choose_ends,
    close_ends,
    columns_of_rows,
    curves,
    own_name,
    published_steps,
    sum_measures,
    whole_groups,
)
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import Fact
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    MEAN,
    Applied,
    Determined,
    Principle,
    PrincipleTest,
    Said,
    determined_tests,
    held_by_few,
    problems,
    unknown,
)
from hitoku.checks.principles import group_principles as principles
from hitoku.checks.unit_records import COMPLETE, Groups, Records
from hitoku.errors import DataError
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, LIMIT, Floats, Integers, Mask
from hitoku.parameters import Decimals, one_of, whole

STATISTICS = ("mean", "share", "lorenz")
MAX_GROUPS = 100
GROUP = "hitoku quantile group"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class QuantileEvidence(AmountEvidence):
    """Sums of the non-empty quantile groups; the last code of a label is the number of the group."""

    weight: Numbers  # Sum of weights of the records; their number without weights.

    def joined(self, own: Integers, step: Step) -> QuantileEvidence:
        """Return the evidence of several neighbouring groups as one group."""
        places = own[step[0] : step[1] + 1]
        largest = np.sort(self.largest[places], axis=None)[::-1][:TOP]

        def added(column: Any) -> Any:
            return column[places].sum(keepdims=True)

        return QuantileEvidence(
            by=self.by,
            labels=(self.labels[places[-1]],),
            n_units=added(self.n_units),
            n_records=added(self.n_records),
            largest=largest[None, :],
            size=added(self.size),
            value=added(self.value),
            weight=added(self.weight),
            **self._values_of(places),
        )

    def _values_of(self, places: Integers) -> dict[str, Any]:
        """Return the counts of values of several groups as one; no value is in two groups."""
        if self.n_values is None or self.holders is None:
            return {}
        most = np.sort(self.holders[places], axis=None)[::-1][:COUNTED]
        return {"n_values": self.n_values[places].sum(keepdims=True), "holders": most[None, :]}


@dataclass(frozen=True)
class QuantileGroups(GroupStatistic[QuantileEvidence]):
    """Means or shares of quantile groups, or a Lorenz curve, overall or by group."""

    kind: ClassVar[str] = "quantile_groups"
    evidence: ClassVar[type[Evidence]] = QuantileEvidence
    n_added: ClassVar[int] = 1

    value: str  # Column of amounts by which units are ranked; for shares, none below zero.
    # Number of groups: 5 for quintiles, 10 for deciles. Units with equal amounts are in the same group.
    n_groups: Annotated[int, whole(2, MAX_GROUPS, "pass 5 for quintiles or 10 for deciles")] = 5
    by: tuple[str, ...] = ()  # Grouping variables within which units are ranked.
    # "mean" of each quantile group, its "share" of all, or "lorenz", the cumulated shares.
    statistic: Annotated[str, one_of(STATISTICS)] = "mean"
    # Column of weights: groups of equal weight, weighted means and shares. Units are counted unweighted.
    weight: str | None = None
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in published numbers. Default: not rounded.

    @property
    def publishes(self) -> frozenset[str]:
        """The variable, and counts: each group is a known share of all units."""
        return COUNTS | super().publishes

    def collect(self, records: Records) -> QuantileEvidence:
        """Rank the units of each group, and sum their amounts."""
        if records.repeated:
            raise DataError(
                "several_records_per_unit_ranked",
                "a unit has several records, and ranking needs one for each",
                where="quantile_groups",
                fix="keep one record per unit, such as its mean or its last",
            )
        values, weights = records.numbers(self.value), records.weights(self.weight)
        refuse_counts(values, self.value)
        if self.statistic != "mean" and np.any(values < 0):
            raise DataError(
                "amounts_below_zero",
                "column {column!r} has {n} amount(s) below zero",
                where="quantile_groups",
                fix='use statistic="mean": shares of a total require amounts of at least 0',
                column=self.value,
                n=int((values < 0).sum()),
            )
        placed = self._place_records(records, values, weights)
        amounts = values * weights
        largest, size = rank_contributions(placed, records.unit, amounts)
        total, weight = (
            np.bincount(placed.codes, weights=each, minlength=len(placed)) for each in (amounts, weights)
        )
        if self.statistic != "mean" and not size.sum() > 0:
            raise DataError(
                "column_sums_to_zero",
                "column {column!r} sums to zero",
                where="quantile_groups",
                fix="use another column: shares of zero are undefined",
                column=self.value,
            )
        known = values_of(records, placed, values)
        return QuantileEvidence.of(
            records, placed, largest=largest, size=size, value=total, weight=weight, **known
        )

    def _place_records(self, records: Records, values: Floats, weights: Floats) -> Groups:
        """Divide the records of each group by quantiles of their amounts."""
        groups = records.groups(self.by, self.missing)
        labels: list[tuple[str, ...]] = []
        codes = np.zeros(len(records), dtype=np.int64)
        width = len(str(self.n_groups))
        for label, own in zip(groups.labels, slices(groups), strict=True):
            x, w = values[own], weights[own]
            order = np.argsort(x, kind="stable")
            reached = np.cumsum(w[order])
            # Cut at the smallest amount with at least the required weight up to it; ties stay together.
            parts = reached[-1] * np.arange(1, self.n_groups) / self.n_groups * (1 - 1e-12)
            cuts = x[order][np.searchsorted(reached, parts)]
            number = np.searchsorted(cuts, x, side="left")
            present, place = np.unique(number, return_inverse=True)
            codes[own] = len(labels) + place
            labels += [(*label, f"{k + 1:0{width}}") for k in present.tolist()]
        names = (*groups.names, own_name(GROUP, dict.fromkeys(groups.names)))
        return Groups(names, tuple(labels), codes)

    def protect(self, evidence: QuantileEvidence, policy: Policy) -> QuantileEvidence:
        """Merge neighbouring groups until every step meets the policy; suppress curves without such steps."""
        kept = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            kept[own[_ends(evidence, own, policy)]] = True
            if _alike(evidence, own, policy) or self._together(evidence, own, ~kept, policy):
                kept[own] = False
        return replace(evidence, withheld=~kept)

    def _together(
        self, evidence: QuantileEvidence, own: Integers, withheld: Mask, policy: Policy
    ) -> set[Determined]:
        """Return what the steps of a curve disclose together; for a suppressed curve, its potential steps."""
        if withheld[own].all():
            withheld = withheld.copy()
            withheld[own[_ends(evidence, own, policy)]] = False
        return problems(self._said_of(evidence, own, withheld), policy)

    def tests(self, evidence: QuantileEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of the published steps and of the remainder, which follows by subtraction."""
        few, dominated, alike, two = (np.zeros(evidence.n_parts, dtype=np.bool_) for _ in range(4))
        fewest, share = int(evidence.n_units.sum()), 0.0
        for own in curves(evidence):
            alike[own] = _alike(evidence, own, policy)
            for step in _steps_that_follow(evidence, own):
                joined, end = evidence.joined(own, step), own[step[1]]
                few[end] = bool(principles.few_units(joined, policy)[0])
                dominated[end] = bool(principles.dominated_groups(joined, policy)[0])
                two[end] = _two_values(joined, policy)
                fewest = min(fewest, int(joined.n_units[0]))
                share = max(share, float(joined.largest[0, 0] / joined.size[0]) if joined.size[0] else 0.0)
        # The remainder follows although its end is suppressed, so it can fail, too.
        rest, n_steps = self._rest(evidence), int((~evidence.withheld).sum())
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=few,
            rule=Text("at least {least_units} units in every step", least_units=policy.least_units),
            numbers={"minimum": policy.least_units, "smallest": fewest, "steps": n_steps},
            remedy="take fewer quantile groups, or larger groups",
            follows=rest,
        )
        yield PrincipleTest(
            principle=Principle.DOMINANCE,
            reason="dominated",
            unsafe=dominated,
            rule=Text("({n}, {k:g}) dominance in every step", n=policy.dominance.n, k=policy.dominance.k),
            numbers={"n": policy.dominance.n, "k": policy.dominance.k, "largest_share": share},
            remedy="take fewer quantile groups, or larger groups",
            follows=rest,
        )
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="nearly_all_equal",
            unsafe=alike,
            rule=Text("no value that of more than {share:.0%} of the units", share=policy.group.share),
            numbers={"share": policy.group.share},
            remedy="take larger groups, or leave these groups out",
        )
        if evidence.n_values is None:
            yield unknown()
        elif two.any():
            yield PrincipleTest(
                principle=Principle.GROUP,
                reason="two_values",
                unsafe=two,
                rule=Text(
                    "two values in a step, so a count: each that of at least {least_units} units",
                    least_units=policy.least_units,
                ),
                numbers={"minimum": policy.least_units},
                remedy="use fewer quantile groups, or request a frequency table",
                follows=rest,
            )
        yield from determined_tests(self._mark_determined(evidence, policy), policy)

    def _mark_determined(self, evidence: QuantileEvidence, policy: Policy) -> dict[Determined, Mask]:
        """Mark the last published end of each curve whose steps disclose something together."""
        found = {problem: np.zeros(evidence.n_parts, dtype=np.bool_) for problem in Determined}
        for own in curves(evidence):
            shown = own[~evidence.withheld[own]]
            for problem in self._together(evidence, own, evidence.withheld, policy):
                found[problem][shown[-1] if shown.size else own[-1]] = True
        return found

    def _rest(self, evidence: QuantileEvidence) -> Mask:
        """Return the ends of remainders: suppressed, but disclosed as the group minus the published steps."""
        rest = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            rest[own[-1]] = bool(evidence.withheld[own[-1]]) and not evidence.withheld[own].all()
        return rest

    def publish(self, evidence: QuantileEvidence) -> dict[str, list[Any]]:
        """Return the steps, each with the percentages of units at its ends and its statistic."""
        rows: list[tuple[Any, ...]] = []
        for own in curves(evidence):
            reached = np.cumsum(evidence.weight[own]) / evidence.weight[own].sum() * 100
            percent = [0.0, *np.round(reached, 4).tolist()]
            before, whole = 0.0, float(evidence.value[own].sum())
            for first, last in published_steps(evidence.withheld[own]):
                joined = evidence.joined(own, (first, last))
                total = float(joined.value[0])
                shares = total / whole if whole else 0.0
                before += shares
                found = {"mean": total / float(joined.weight[0]), "share": shares, "lorenz": before}
                number = found[self.statistic]
                number = number if self.decimals is None else round(number, self.decimals)
                rows.append((*evidence.labels[own[0]][:-1], percent[first], percent[last + 1], number))
        names = (*evidence.by[:-1], "from_percent", "to_percent", f"{self.statistic}_{self.value}")
        return columns_of_rows(names, rows)

    def contradictions(self, evidence: QuantileEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        yield from compare_ranks(evidence.largest)
        if not np.array_equal(evidence.n_units, evidence.n_records):
            yield "units with several records"
        if any(int(label[-1]) > self.n_groups for label in evidence.labels if label[-1].isdecimal()):
            yield "more quantile groups than in the definition"
        if np.any(evidence.weight <= 0):
            yield "weight: groups without weight"
            return
        for own in curves(evidence):
            means = evidence.value[own] / evidence.weight[own]
            if np.any(np.diff(means) < -ADDITIVITY * np.maximum(1.0, np.abs(means[1:]))):
                yield "a quantile group has a lower mean than the one below it"
                break
        if self.weight is None:
            if not np.array_equal(evidence.weight, evidence.n_records):
                yield "weight: not the number of records"
            yield from compare_contributions(evidence.largest, evidence.size, evidence.n_records)
            yield from compare_sums(evidence.value, evidence.size)

    def facts(self, evidence: QuantileEvidence) -> Iterator[Fact]:
        """Yield the units, records and sums of the groups."""
        for codes, own in whole_groups(evidence):
            n, size = int(evidence.n_units[own].sum()), float(evidence.size[own].sum())
            yield from (Fact(codes, (what,), n) for what in ("units", "records"))
            if self.weight is None:
                yield Fact(codes, ("sum", self.value), float(evidence.value[own].sum()), size)
                yield Fact(codes, ("contributions", self.value, None), size, size)

    def said(self, evidence: QuantileEvidence) -> Iterator[Said]:
        """Yield the equations about all units of a group that the steps of its curve give."""
        for own in curves(evidence):
            yield from self._said_of(evidence, own, evidence.withheld)

    def _said_of(self, evidence: QuantileEvidence, own: Integers, withheld: Mask) -> Iterator[Said]:
        """Yield two equations per published end but the last: the shares of units and amounts up to it.

        Means of all steps give the overall mean in addition.
        """
        steps = published_steps(withheld[own])
        whole, last = evidence.joined(own, (0, len(own) - 1)), len(own) - 1
        by = "" if self.weight is None else f" by {self.weight}"
        statistics = [
            f"{what} up to {float(evidence.weight[own[: end + 1]].sum()):g}{by}"
            for _, end in steps
            if end < last
            for what in ("units", "amounts")
        ]
        if self.statistic == "mean" and steps and steps[-1][1] == last:
            statistics.append(f"{MEAN}{by}")
        values, holders = whole.n_values, whole.holders
        for each in statistics:
            yield Said(
                codes=dict(zip(evidence.by[:-1], evidence.labels[own[0]][:-1], strict=True)),
                variable=self.value,
                statistic=each,
                n_units=int(whole.n_units[0]),
                n_values=0 if values is None else int(values[0]),
                holders=() if holders is None else tuple(holders[0].tolist()),
            )

    def membership(self, records: Records, evidence: QuantileEvidence) -> Membership | None:
        """Partition the units by published step."""
        placed = self._place_records(records, records.numbers(self.value), records.weights(self.weight))
        step = np.zeros(evidence.n_parts, dtype=np.int32)
        names: list[tuple[str | None, ...]] = []
        for own in curves(evidence):
            for first, last in published_steps(evidence.withheld[own]):
                names.append(evidence.labels[own[last]])
                step[own[first : last + 1]] = len(names)
        codes = np.zeros(records.n_units, dtype=np.int32)
        codes[records.unit] = step[placed.codes]
        return Membership(codes=(codes,), cells=(tuple(names),))

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts of all units; shares count as sums, because one known sum gives the others."""
        if self.statistic == "mean":
            return sum_measures(records, self.value, self.weight, self.decimals, "mean")
        return sum_measures(records, self.value, self.weight, None, "sum")


def _steps_that_follow(evidence: QuantileEvidence, own: Integers) -> list[Step]:
    """Return the published steps of a curve, and the remainder: the group minus what is published."""
    steps, last = published_steps(evidence.withheld[own]), len(own) - 1
    if not steps:
        return [(0, last)]
    return steps if steps[-1][1] == last else [*steps, (steps[-1][1] + 1, last)]


def _alike(evidence: QuantileEvidence, own: Integers, policy: Policy) -> bool:
    """Return whether nearly all units have the same amount; ties are never divided, so they are one group."""
    n_units = evidence.n_units[own]
    whole, most = int(n_units.sum()), int(n_units.max())
    return len(own) > 1 and most - policy.group.share * whole > LIMIT * whole


def _two_values(joined: QuantileEvidence, policy: Policy) -> bool:
    """Return whether a step has two values, one of them held by too few units, which its mean discloses."""
    if joined.n_values is None or joined.holders is None or joined.n_values[0] != 2:
        return False
    return bool(held_by_few(joined.n_units, joined.holders, policy)[0])


def _ends(evidence: QuantileEvidence, own: Integers, policy: Policy) -> list[int]:
    """Return the ends of steps of a curve that each meet the policy."""
    fits = _fits(evidence, own, policy)
    return close_ends(len(own), choose_ends(len(own), fits), fits)


def _fits(evidence: QuantileEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
    def fits(first: int, last: int) -> bool:
        joined = evidence.joined(own, (first, last))
        return not (
            principles.few_units(joined, policy)[0]
            or principles.dominated_groups(joined, policy)[0]
            or _two_values(joined, policy)
        )

    return fits
