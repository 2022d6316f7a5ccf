"""Concentration measures: Gini coefficient, Herfindahl-Hirschman index and concentration ratios."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from hitoku.checks.evidence import (
    AmountEvidence,
    Evidence,
    compare_contributions,
    compare_range,
    compare_ranks,
    count_units,
    count_values,
    rank_contributions,
    require_finite,
)
from hitoku.checks.ledger import FEWEST, largest_of
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    publish_groups,
    said_of,
)
from hitoku.checks.outputs.membership import Membership, with_largest
from hitoku.checks.outputs.output_type import Fact, added_up, contribution_facts, unit_facts
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    Applied,
    Principle,
    PrincipleTest,
    Said,
    few_values,
    many_digits,
    nearly_all_equal,
    square_tests,
)
from hitoku.checks.principles import group_principles as principles
from hitoku.checks.unit_records import COMPLETE, Records, per_contributor
from hitoku.errors import DataError
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, Floats
from hitoku.parameters import Decimals, one_of


@dataclass(frozen=True)
class Concentration(GroupStatistic[AmountEvidence]):
    """Concentration of an amount in few contributors, overall or by group."""

    kind: ClassVar[str] = "concentration"
    evidence: ClassVar[type[Evidence]] = AmountEvidence

    value: str  # Column of amounts, none below zero.
    # "gini", "hhi" (Herfindahl-Hirschman index, from 0 to 1), or a concentration ratio such as "cr4", the
    # share of the four largest. "cr1" and "cr2" fail: "cr1" is the share of one contributor, and from "cr2"
    # each of the two largest can compute the share of the other.
    statistic: Annotated[str, one_of(("gini", "hhi", "cr4"), r"cr[1-9]\d?")] = "hhi"
    by: tuple[str, ...] = ()  # Grouping variables.
    holding: str | None = None  # Column of holdings; units of one holding count as one contributor.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    # Column with the number of contributors that each record represents, each with its amount. Contributors
    # are counted unweighted; the dominance rule weights amounts.
    weight: str | None = None
    decimals: Decimals | None = None  # Number of decimals in published numbers. Default: not rounded.

    @property
    def _n_largest(self) -> int | None:
        """Number of largest contributors whose share is published; None for other statistics."""
        return int(self.statistic[2:]) if self.statistic.startswith("cr") else None

    @property
    def publishes(self) -> frozenset[str]:
        """Something of the variable, and of its largest contributors where it says their share."""
        n = self._n_largest
        return super().publishes if n is None else super().publishes | {largest_of(n, self.value)}

    def collect(self, records: Records) -> AmountEvidence:
        """Sum the amounts of each contributor, and compute the statistic."""
        groups = records.groups(self.by, self.missing)
        values = records.numbers(self.value)
        if np.any(values < 0):
            raise DataError(
                "amounts_below_zero",
                "column {column!r} has {n} amount(s) below zero",
                where="concentration",
                fix="leave these records out: shares of a total require amounts of at least 0",
                column=self.value,
                n=int((values < 0).sum()),
            )
        who, weights = records.contributors(self.holding), records.weights(self.weight)
        amount, weighted, once, total = (
            per_contributor(groups.codes, who, each, len(groups))[1]
            for each in (values, values * weights, np.ones(len(values)), weights)
        )
        held_by, _, n_contributors = per_contributor(groups.codes, who, values, len(groups))
        # The weight of a contributor is the mean weight of their records, weighted by amount.
        times = np.where(amount > 0, weighted / np.where(amount > 0, amount, 1.0), total / once)
        ends = np.cumsum(n_contributors)[:-1]
        parts = zip(np.split(amount, ends), np.split(times, ends), strict=True)
        found = np.array([self._of(*part) for part in parts])
        largest, size = rank_contributions(groups, who, values * weights)
        return AmountEvidence.of(
            records,
            groups,
            # Units of one holding are one contributor, so the smaller number counts.
            n_units=np.minimum(count_units(records, groups), n_contributors),
            largest=largest,
            size=size,
            # Different values of the contributors' totals, not of the records.
            **count_values(held_by, np.arange(len(amount)), amount, len(groups))._asdict(),
            value=require_finite(found, f"{self.statistic} of {self.value}"),
        )

    def _of(self, amounts: Floats, times: Floats) -> float:
        """Compute the statistic of amounts that occur ``times`` times each."""
        total = times @ amounts
        if total <= 0:
            return float("nan")
        if self.statistic == "hhi":
            return float(times @ amounts**2 / total**2)
        order = np.argsort(amounts, kind="stable")[:: 1 if self.statistic == "gini" else -1]
        x, n = amounts[order], times[order]
        before = np.cumsum(n) - n
        if self.statistic == "gini":
            # Sum of differences over all pairs, from the numbers of contributors before and after each.
            after = n.sum() - before - n
            return float((n * x) @ (before - after) / (n.sum() * total))
        largest = np.clip((self._n_largest or 0) - before, 0.0, n)
        return float(largest @ x / total)

    def _squares(self, evidence: AmountEvidence) -> Floats | None:
        """Return the largest contributor's share of the published sum; None for the Gini coefficient."""
        if self.statistic == "gini" or self.weight is not None:
            return None
        share = evidence.largest[:, 0] / np.where(evidence.size > 0, evidence.size, 1.0)
        power = 2 if self.statistic == "hhi" else 1
        return np.minimum(share**power / np.where(evidence.value > 0, evidence.value, 1.0), 1.0)

    def tests(self, evidence: AmountEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of all principles that apply; "cr1" and "cr2" fail."""
        yield principles.units(evidence, policy)
        yield principles.dominance(evidence, policy)
        exact = many_digits(self.decimals)
        yield from few_values(evidence, evidence.n_values, evidence.holders, policy, exact=exact)
        if evidence.n_values is not None:
            yield nearly_all_equal(evidence, policy)
        shares, n = self._squares(evidence), self._n_largest
        if shares is not None:
            what = "the squares of shares" if self.statistic == "hhi" else "the largest together"
            yield from square_tests(shares, policy, what)
        if n is None:
            return
        if n < FEWEST:
            text = (
                "the share of the largest contributor is a value of one unit"
                if n == 1
                else "of the two largest contributors each knows the other"
            )
            yield principles.individual(text, 'use "cr4", "hhi" or "gini"')
            return
        left = evidence.n_units - n
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="few_left",
            unsafe=np.asarray((left > 0) & (left < FEWEST)),
            rule=Text(
                "at least {fewest} contributors, or none, in addition to the {n} largest", fewest=FEWEST, n=n
            ),
            numbers={"minimum": FEWEST, "largest": n},
            remedy="take another number of the largest",
        )

    def said(self, evidence: AmountEvidence) -> Iterator[Said]:
        """Yield the published ratios."""
        return said_of(evidence, self.value, self.statistic)

    def publish(self, evidence: AmountEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        name = f"{self.statistic}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: AmountEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        if not self.statistic.startswith("cr"):
            yield from compare_range(evidence.value, 0.0, 1.0, self.statistic)
        yield from compare_ranks(evidence.largest)
        if self.weight is None:
            yield from compare_contributions(evidence.largest, evidence.size, evidence.n_records)
            yield from self._bounds(evidence)

    def _bounds(self, evidence: AmountEvidence) -> Iterator[str]:
        """Compare the statistic with its bounds given the largest contributions."""
        share = evidence.largest / np.where(evidence.size > 0, evidence.size, 1.0)[:, None]
        top, rest = share.shape[1], 1 - share.sum(axis=1)
        if self.statistic.startswith("cr"):
            n = int(self.statistic[2:])
            low = share[:, :n].sum(axis=1)
            high = np.minimum(1.0, low + max(0, n - top) * share[:, -1])
        elif self.statistic == "hhi":
            low = (share**2).sum(axis=1)
            high = low + rest * share[:, -1]
        else:
            return
        if np.any(evidence.value < low - ADDITIVITY) or np.any(evidence.value > high + ADDITIVITY):
            yield "the concentration is impossible with these largest contributions"

    def membership(self, records: Records, evidence: AmountEvidence) -> Membership | None:
        """Return the published group of each unit, and which units are among its largest contributors."""
        member = super().membership(records, evidence)
        if self._n_largest is None:
            return member
        groups, who = records.groups(self.by, self.missing), records.contributors(self.holding)
        values = records.numbers(self.value)
        return with_largest(records, member, groups, values, who, self._n_largest)

    def facts(self, evidence: AmountEvidence) -> Iterator[Fact]:
        """Yield the units, records and contributions of the groups."""
        cells, records = evidence.cells, evidence.n_records.tolist()
        # The units of a holding are counted once.
        if self.holding is None:
            yield from unit_facts(cells)
        if self.weight is None:
            yield from contribution_facts(cells, self.value, self.holding, evidence.largest, evidence.size)
        yield from added_up(cells, {("records",): records}, records)
