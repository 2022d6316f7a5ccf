"""Concentration ratios: enough contributors, and nobody who dominates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

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
    refuse_decimals,
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
from hitoku.errors import DataError, ParameterError, did_you_mean
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, Floats


@dataclass(frozen=True)
class Concentration(GroupStatistic[AmountEvidence]):
    """How unevenly an amount is spread over contributors, overall or by group.

    Parameters
    ----------
    value
        Column of amounts, none below zero.
    statistic
        "gini", "hhi" (Herfindahl and Hirschman, from 0 to 1), or "cr4" and the like: the share of the four
        largest. "cr1" is the share of one contributor and is refused; so is "cr2": each of two knows the
        other.
    by
        Variables that make the groups.
    holding
        Column that names units who act as one.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    weight
        Column with the number of contributors each record stands for, who all have its amount. The rules
        count contributors unweighted; in the dominance rule an amount counts with its weight.
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "concentration"
    evidence: ClassVar[type[Evidence]] = AmountEvidence

    value: str
    statistic: str = "hhi"
    by: tuple[str, ...] = ()
    holding: str | None = None
    missing: str = COMPLETE
    weight: str | None = None
    decimals: int | None = None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if self.statistic not in ("gini", "hhi") and not re.fullmatch(r"cr[1-9]\d?", str(self.statistic)):
            fix = did_you_mean(self.statistic, ["gini", "hhi", "cr4"])
            raise ParameterError(
                "unknown_concentration",
                "no concentration ratio {statistic!r}",
                where="statistic",
                fix=fix,
                statistic=self.statistic,
            )

    @property
    def _n_largest(self) -> int | None:
        """Of how many of the largest it tells the share; None for other statistics."""
        return int(self.statistic[2:]) if self.statistic.startswith("cr") else None

    @property
    def publishes(self) -> frozenset[str]:
        """Something of the variable, and of its largest contributors where it says their share."""
        n = self._n_largest
        return super().publishes if n is None else super().publishes | {largest_of(n, self.value)}

    def collect(self, records: Records) -> AmountEvidence:
        """Add up per contributor once."""
        groups = records.groups(self.by, self.missing)
        values = records.numbers(self.value)
        if np.any(values < 0):
            raise DataError(
                "amounts_below_zero",
                "column {column!r} has {n} amount(s) below zero",
                where="concentration",
                fix="a share of a total has no meaning then; leave these records out",
                column=self.value,
                n=int((values < 0).sum()),
            )
        who, weights = records.contributors(self.holding), records.weights(self.weight)
        amount, weighted, once, total = (
            per_contributor(groups.codes, who, each, len(groups))[1]
            for each in (values, values * weights, np.ones(len(values)), weights)
        )
        held_by, _, n_contributors = per_contributor(groups.codes, who, values, len(groups))
        # The weight of a contributor with several records: the mean of theirs, weighted by their amounts.
        times = np.where(amount > 0, weighted / np.where(amount > 0, amount, 1.0), total / once)
        ends = np.cumsum(n_contributors)[:-1]
        parts = zip(np.split(amount, ends), np.split(times, ends), strict=True)
        found = np.array([self._of(*part) for part in parts])
        largest, size = rank_contributions(groups, who, values * weights)
        return AmountEvidence.of(
            records,
            groups,
            # Units of one holding are one contributor: the smaller number counts.
            n_units=np.minimum(count_units(records, groups), n_contributors),
            largest=largest,
            size=size,
            # Of the contributors: what they have altogether is what is compared.
            **count_values(held_by, np.arange(len(amount)), amount, len(groups))._asdict(),
            value=require_finite(found, f"{self.statistic} of {self.value}"),
        )

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
        largest = np.clip((self._n_largest or 0) - before, 0.0, n)
        return float(largest @ x / total)

    def _squares(self, evidence: AmountEvidence) -> Floats | None:
        """Return the share of the largest contributor in what is added up; None where that is ranks."""
        if self.statistic == "gini" or self.weight is not None:
            return None
        share = evidence.largest[:, 0] / np.where(evidence.size > 0, evidence.size, 1.0)
        power = 2 if self.statistic == "hhi" else 1
        return np.minimum(share**power / np.where(evidence.value > 0, evidence.value, 1.0), 1.0)

    def tests(self, evidence: AmountEvidence, policy: Policy) -> Iterator[Applied]:
        """Apply the principles; the share of one or two contributors is refused."""
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
            rule=Text("at least {fewest} contributors, or none, beside the {n} largest", fewest=FEWEST, n=n),
            numbers={"minimum": FEWEST, "largest": n},
            remedy="take another number of the largest",
        )

    def said(self, evidence: AmountEvidence) -> Iterator[Said]:
        """Say that the ratios leave."""
        return said_of(evidence, self.value, self.statistic)

    def publish(self, evidence: AmountEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        name = f"{self.statistic}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: AmountEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        if not self.statistic.startswith("cr"):
            yield from compare_range(evidence.value, 0.0, 1.0, self.statistic)
        yield from compare_ranks(evidence.largest)
        if self.weight is None:
            yield from compare_contributions(evidence.largest, evidence.size, evidence.n_records)
            yield from self._bounds(evidence)

    def _bounds(self, evidence: AmountEvidence) -> Iterator[str]:
        """Compare the ratio with the largest contributions, which bound it on both sides."""
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
            yield "a concentration that its largest contributions rule out"

    def membership(self, records: Records, evidence: AmountEvidence) -> Membership | None:
        """Tell in which published group each unit is, and who is among its largest contributors."""
        member = super().membership(records, evidence)
        if self._n_largest is None:
            return member
        groups, who = records.groups(self.by, self.missing), records.contributors(self.holding)
        values = records.numbers(self.value)
        return with_largest(records, member, groups, values, who, self._n_largest)

    def facts(self, evidence: AmountEvidence) -> Iterator[Fact]:
        """Say how many units and records the groups have, and what is contributed to them."""
        cells, records = evidence.cells, evidence.n_records.tolist()
        # With a holding, units of it are counted once.
        if self.holding is None:
            yield from unit_facts(cells)
        if self.weight is None:
            yield from contribution_facts(cells, self.value, self.holding, evidence.largest, evidence.size)
        yield from added_up(cells, {("records",): records}, records)
