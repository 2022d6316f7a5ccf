"""Averages and sums: enough units, and nobody who dominates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import (
    AmountEvidence,
    Evidence,
    compare_contributions,
    compare_ranks,
    compare_sums,
    rank_contributions,
    require_finite,
    values_of,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    publish_groups,
    refuse_decimals,
    said_of,
    sum_measures,
)
from hitoku.checks.outputs.output_type import Fact, Kind, added_up, contribution_facts, unit_facts
from hitoku.checks.policies import Policy
from hitoku.checks.principles import MEAN, Applied, Said, few_values
from hitoku.checks.principles import groups as principles
from hitoku.checks.records import COMPLETE, Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model import Floats

STATISTICS = ("mean", "sum")


@dataclass(frozen=True)
class Average(GroupStatistic[AmountEvidence]):
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
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    decimals
        Published numbers are rounded to so many; -3 for thousands. The ledger takes rounding into account.
    """

    kind: ClassVar[str] = "average"
    evidence: ClassVar[type[Evidence]] = AmountEvidence

    value: str
    by: tuple[str, ...] = ()
    statistic: str = "mean"
    holding: str | None = None
    weight: str | None = None
    missing: str = COMPLETE
    decimals: int | None = None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if self.statistic not in STATISTICS:
            fix = did_you_mean(self.statistic, STATISTICS)
            raise ParameterError(
                "unknown_average",
                "no average {statistic!r}",
                where="statistic",
                fix=fix,
                statistic=self.statistic,
            )

    @property
    def tells(self) -> frozenset[str]:
        """Amounts of the variable; sums give the counts, too, with the means of the same groups."""
        return COUNTS | super().tells if self.statistic == "sum" else super().tells

    def collect(self, records: Records) -> AmountEvidence:
        """Add up once."""
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
        """Apply the principles."""
        yield principles.units(evidence, policy)
        yield principles.dominance(evidence, policy)
        yield from few_values(evidence, evidence.n_values, evidence.holders, policy)

    def publish(self, evidence: AmountEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        name = f"{self.statistic}_{self.value}"
        return publish_groups(evidence, evidence.value.tolist(), name, self.decimals)

    def contradictions(self, evidence: AmountEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        yield from compare_ranks(evidence.largest)
        # Weights make a sum of more, or less, than its contributors.
        if self.weight is None:
            yield from compare_contributions(evidence.largest, evidence.size, evidence.n_records)
            yield from compare_sums(self._sums(evidence), evidence.size)

    def facts(self, evidence: AmountEvidence) -> Iterator[Fact]:
        """Say how many units and records the groups have, their sums, and what is contributed to them."""
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
        """Return the sums, unweighted."""
        return evidence.value * (evidence.n_records if self.statistic == "mean" else 1)

    def said(self, evidence: AmountEvidence) -> Iterator[Said]:
        """Say that the means leave; sums are means times the number of units. Weights nobody knows."""
        return said_of(evidence, self.value, MEAN if self.weight is None else f"{MEAN} by {self.weight}")

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts by unit; with weights, those times their weight, and of means nothing."""
        kind: Literal["mean", "sum"] = "mean" if self.statistic == "mean" else "sum"
        return sum_measures(records, self.value, self.weight, self.decimals, kind)
