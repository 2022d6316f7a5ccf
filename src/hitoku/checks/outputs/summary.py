"""Summary statistics of one or two variables, and hypothesis tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence, SummaryEvidence, compare_range, count_units, slices, values_of
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    publish_groups,
    said_of,
)
from hitoku.checks.outputs.moments import (
    COUNTS_OF_FEW,
    EQUATIONS,
    EXTREMES,
    FITTED,
    GROUPED,
    OF_TWO,
    ONE,
    POWERS,
    RANGES,
    STATISTICS,
    TESTS,
    TWO,
    Entering,
    Tested,
    about,
    compare_categories,
    compare_cells,
    compare_groups,
    compare_p_value,
    count_cells,
    count_entering,
    subtract_mean,
)
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    MEAN,
    SPREAD,
    Applied,
    Clearance,
    ComparedGroups,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
    Said,
    entering_tests,
    few_values,
    groups_with_determined_counts,
    largest_share,
    many_digits,
    perfect_fit,
    square_tests,
)
from hitoku.checks.principles import group_principles as principles
from hitoku.checks.unit_records import COMPLETE, Groups, Records
from hitoku.errors import ParameterError
from hitoku.messages import Text
from hitoku.model import Floats, Integers
from hitoku.parameters import Decimals, one_of


@dataclass(frozen=True)
class Summary(GroupStatistic[SummaryEvidence]):
    """A summary or test statistic, overall or by group."""

    kind: ClassVar[str] = "summary"
    evidence: ClassVar[type[Evidence]] = SummaryEvidence

    # One variable: "variance", "std", "cv", "skewness", "kurtosis", "min" or "max". Two variables:
    # "correlation", "covariance", "ratio" or "index" (100 times a ratio). Tests of ``value`` between
    # categories of ``other``: "t" (Welch) or "mannwhitney" (ranks) for two categories, "f" (analysis of
    # variance) or "kruskal" (ranks) for two or more. "chi2" for two categorical variables.
    statistic: Annotated[str, one_of(STATISTICS)]
    value: str  # Column of numbers; of codes for "chi2".
    other: str | None = None  # Second variable, or grouping variable of a test.
    by: tuple[str, ...] = ()  # Grouping variables.
    # Whether a minimum or maximum follows from the definition of the variable, such as a share that ends at
    # 1. It passes if enough units hold the value, and requires review otherwise.
    structural: bool = False
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    # Column of weights, not for "min", "max" and tests. Degrees of freedom count units.
    weight: str | None = None
    decimals: Decimals | None = None  # Number of decimals in published numbers. Default: not rounded.

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.other is None) == (self.statistic not in ONE):
            raise ParameterError(
                "number_of_variables",
                "{statistic} needs a second variable"
                if self.other is None
                else "{statistic} takes one variable",
                where="other",
                fix="see the statistics of Summary",
                statistic=self.statistic,
            )
        if self.structural and self.statistic not in EXTREMES:
            raise ParameterError(
                "structural_not_min_or_max",
                "only min and max can be structural",
                where="structural",
                fix="leave it out",
            )
        if self.weight is not None and self.statistic in {*EXTREMES, *TESTS}:
            raise ParameterError(
                "statistic_without_weights",
                "{statistic} takes no weights",
                where="weight",
                fix="leave weight out",
                statistic=self.statistic,
            )

    def collect(self, records: Records) -> SummaryEvidence:
        """Compute the statistic of each group."""
        groups, numbers = records.groups(self.by, self.missing), self._numbers(records)
        found, alike, shares = [], [], []
        for own in slices(groups):
            part = {name: column[own] for name, column in numbers.items()}
            computed, n_alike = self._one(records, own, part)
            found.append(computed)
            alike.append(n_alike)
            shares.append(self._share(records, own, part))
        return SummaryEvidence.of(
            records,
            groups,
            **self._value_fields(records, groups, numbers),
            **self._entering_fields(records, groups),
            fit=np.nan_to_num([each.fit for each in found]) if self.statistic in FITTED else None,
            value=tuple(tuple(x if np.isfinite(x) else None for x in each.values) for each in found),
            freedom=count_units(records, groups) - np.array([each.parameters for each in found]),
            alike=alike,
            squares=np.array(shares) if self.statistic in POWERS else None,
        )

    def _numbers(self, records: Records) -> dict[str, Floats]:
        """Return the columns of numbers: x, the second variable y, and weights w, as far as they are used."""
        numbers = {} if self.statistic == "chi2" else {"x": records.numbers(self.value)}
        if self.statistic in TWO:
            numbers["y"] = records.numbers(str(self.other))
        if self.statistic not in TESTS:
            numbers["w"] = records.weights(self.weight)
        return numbers

    def _share(self, records: Records, own: Any, part: Mapping[str, Floats]) -> float:
        """Return the largest share of one unit in the sums behind the statistic."""
        if self.statistic not in POWERS:
            return 0.0
        who = records.unit[own]
        sums: list[Floats] = []
        if self.statistic in GROUPED:
            groups = records.groups([str(self.other)], self.missing).codes[own]
            for place in np.unique(groups):
                mine = groups == place
                squares = np.zeros(len(own))
                squares[mine] = subtract_mean(part["x"][mine], np.ones(int(mine.sum()))) ** 2
                sums.append(squares)
        else:
            order, w = POWERS[self.statistic], part["w"]
            sums = [w * np.abs(about(part[name], w, order)) ** order for name in ("x", "y") if name in part]
            if self.statistic in {"covariance", "correlation"}:
                sums.append(w * np.abs(subtract_mean(part["x"], w) * subtract_mean(part["y"], w)))
        return max(largest_share(each, who, repeated=records.repeated) for each in sums)

    def _value_fields(
        self, records: Records, groups: Groups, numbers: Mapping[str, Floats]
    ) -> dict[str, Integers]:
        """Return the evidence fields that count the different values of each variable."""
        fields = values_of(records, groups, numbers["x"]) if self.statistic in COUNTS_OF_FEW else {}
        if "y" in numbers:
            other = values_of(records, groups, numbers["y"])
            fields |= {"other_values": other["n_values"], "other_holders": other["holders"]}
        return fields

    def _entering_fields(self, records: Records, groups: Groups) -> dict[str, Any]:
        """Return the evidence fields about the groups that enter a test; none for other statistics."""
        if self.statistic not in TESTS:
            return {}
        count = self._entering(records)
        entering = [count(own) for own in slices(groups)]
        return {
            "categories": self._categories(records),
            "entering": np.array([each.groups for each in entering]),
            "parts": np.array([each.parts for each in entering]),
            "wholes": np.array([each.wholes for each in entering]),
        }

    def _categories(self, records: Records) -> tuple[str, ...]:
        """Return the codes of the groups that enter a test; for chi square, of both variables."""
        names = (self.value, str(self.other)) if self.statistic == "chi2" else (str(self.other),)
        return tuple(label for name in names for (label,) in records.groups([name], self.missing).labels)

    def _entering(self, records: Records) -> Callable[[Any], Entering]:
        """Return a function that counts the groups of a test among given records."""
        groups, who = records.groups([str(self.other)], self.missing), records.unit
        if self.statistic == "chi2":
            values = records.groups([self.value], self.missing)
            shape = (len(values), len(groups))
            return lambda own: count_cells(values.codes[own], groups.codes[own], shape, who[own])
        x = records.numbers(self.value)
        return lambda own: count_entering(groups.codes[own], len(groups), who[own], x[own])

    def _one(self, records: Records, own: Any, part: Mapping[str, Floats]) -> tuple[Tested, int]:
        """Return the statistic, and the number of units that hold an extreme or are all equal."""
        who = records.unit[own]
        if self.statistic in TESTS:
            return self._test(records, own, part), 0
        with np.errstate(all="ignore"):
            if self.statistic in TWO:
                compute, parameters = TWO[self.statistic]
                value = compute(part["x"], part["y"], part["w"]) if len(own) > 1 else np.nan
                # A ratio to a constant is a mean, which Average judges.
                same = np.full(len(own), np.ptp(part["x"]) == 0 or np.ptp(part["y"]) == 0)
            else:
                single, parameters = ONE[self.statistic]
                value = single(part["x"], part["w"]) if len(own) > 1 or self.statistic in EXTREMES else np.nan
                same = (
                    part["x"] == value
                    if self.statistic in EXTREMES
                    else np.full(len(own), np.ptp(part["x"]) == 0)
                )
        fit = min(float(value) ** 2, 1.0) if self.statistic == "correlation" else 0.0
        return Tested((float(value),), parameters, fit), len(np.unique(who[same]))

    def _test(self, records: Records, own: Any, part: Mapping[str, Floats]) -> Tested:
        groups = records.groups([str(self.other)], self.missing).codes[own]
        if self.statistic == "chi2":
            return compare_categories(records.groups([self.value], self.missing).codes[own], groups)
        return compare_groups(self.statistic, part["x"], groups, str(self.other))

    def _squares(self, evidence: SummaryEvidence) -> Floats | None:
        """Return the largest share of one unit in the sums; zero for two values, judged as counts instead."""
        if evidence.squares is None or evidence.n_values is None:
            return evidence.squares
        return np.where(groups_with_determined_counts(evidence.n_values, 1), 0.0, evidence.squares)

    def _tested_groups(self, evidence: SummaryEvidence) -> ComparedGroups | None:
        """Return the groups that enter a test; None for other statistics, or if they were not counted."""
        if evidence.entering is None or evidence.parts is None or evidence.wholes is None:
            return None
        cells, exact = self.statistic == "chi2", many_digits(self.decimals)
        return ComparedGroups(evidence.entering, evidence.parts, evidence.wholes, cells, exact)

    def tests(self, evidence: SummaryEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of all principles that apply; extremes that are not structural fail."""
        yield principles.units(evidence, policy)
        if self.statistic in EXTREMES:
            yield self._extreme(evidence, policy)
            return
        yield principles.degrees_of_freedom(evidence.freedom, policy)
        # Undefined statistics disclose that all units have the same value.
        undefined = np.array([None in row for row in evidence.value], dtype=np.bool_)
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="all_equal",
            unsafe=undefined | (evidence.alike > 0),
            rule="units that differ, and a statistic that is defined",
            remedy="take larger groups",
        )
        if self.statistic in COUNTS_OF_FEW:
            exact = self.statistic in ONE and many_digits(self.decimals)
            yield from few_values(evidence, evidence.n_values, evidence.holders, policy, exact=exact)
        if self.statistic in TWO and evidence.n_values is not None:
            values, holders = evidence.other_values, evidence.other_holders
            yield from few_values(evidence, values, holders, policy, "a second variable")
        if self.statistic in TESTS:
            yield from entering_tests(evidence, self._tested_groups(evidence), policy)
        if self.statistic in FITTED:
            yield perfect_fit(evidence.fit)
        if self.statistic in POWERS:
            power = "the sum" if POWERS[self.statistic] == 1 else "the sum of squares"
            yield from square_tests(self._squares(evidence), policy, power)

    def _extreme(self, evidence: SummaryEvidence, policy: Policy) -> PrincipleVerdict:
        if not self.structural:
            return principles.individual(
                Text("the {name} is the value of one unit", name=self.statistic),
                "give a percentile further inside, or structural=True where it follows from the definition",
            )
        leaving = ~evidence.withheld
        fewest = int(evidence.alike[leaving].min(initial=evidence.alike.max()))
        enough = fewest >= policy.units.minimum
        return PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.PASS if enough else Clearance.REVIEW,
            reason="structural",
            text=Text(
                "said to be structural; it is the value of {fewest} unit(s) where they are fewest",
                fewest=fewest,
            ),
            numbers={"smallest": fewest, "minimum": policy.units.minimum},
            remedy="" if enough else "the checker decides whether the bound follows from the definition",
        )

    def said(self, evidence: SummaryEvidence) -> Iterator[Said]:
        """Yield the published moments; a test of means discloses those of its groups."""
        if self.statistic in EQUATIONS:
            yield from said_of(evidence, self.value, EQUATIONS[self.statistic])
        elif self.statistic in TWO:
            sort = "product" if self.statistic in {"covariance", "correlation"} else "ratio"
            yield from said_of(evidence, self.value, f"{sort} with {self.other}")
            others = replace(evidence, n_values=evidence.other_values, holders=evidence.other_holders)
            yield from said_of(others, str(self.other), f"{sort} with {self.value}")
        elif self.statistic in GROUPED and evidence.entering is not None and evidence.categories is not None:
            for place in np.flatnonzero(~evidence.withheld).tolist():
                codes = dict(zip(evidence.by, evidence.labels[place], strict=True))
                for category, n in enumerate(evidence.entering[place].tolist()):
                    named = {**codes, str(self.other): evidence.categories[category]}
                    for each in (MEAN, SPREAD) if n else ():
                        yield Said(codes=named, variable=self.value, statistic=each, n_units=n)

    def publish(self, evidence: SummaryEvidence) -> dict[str, list[Any]]:
        """Return the published columns, with None for suppressed numbers."""
        names = [self.statistic, "p_value"] if self.statistic in TESTS else [f"{self.statistic}_{self.value}"]
        columns: dict[str, list[Any]] = {}
        for place, name in enumerate(names):
            column = [row[place] for row in evidence.value]
            columns |= publish_groups(evidence, column, name, self.decimals)
        return columns

    def contradictions(self, evidence: SummaryEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        yield from self._contradicting_counts(evidence)
        width = 2 if self.statistic in TESTS else 1
        if any(len(row) != width for row in evidence.value):
            yield "value: wrong number of values for the statistic"
            return
        yield from self._contradicting_values(evidence)
        if self.statistic == "chi2" and np.array_equal(evidence.n_units, evidence.n_records):
            yield from self._cells_of(evidence)

    def _contradicting_counts(self, evidence: SummaryEvidence) -> Iterator[str]:
        """Compare degrees of freedom, and units that have the same value, with the number of units."""
        n_units, freedom, alike = evidence.n_units, evidence.freedom, evidence.alike
        known: dict[str, int] = {
            name: lost for name, (_, lost) in [*ONE.items(), *TWO.items()]
        } | dict.fromkeys(OF_TWO, 2)
        lost = known.get(self.statistic)
        if lost is not None and np.any(freedom != n_units - lost):
            yield f"degrees of freedom are not the units minus {lost}"
        if self.statistic in EXTREMES:
            if np.any(alike < 1):
                yield "an extreme without units"
        elif np.any((alike != 0) & (alike != n_units)):
            yield "alike: neither no unit nor all units"

    def _contradicting_values(self, evidence: SummaryEvidence) -> Iterator[str]:
        """Compare the statistic with its range, its p value, and the square of a correlation."""
        rows = [row for row in evidence.value if None not in row]
        low, high = RANGES.get(self.statistic, (-np.inf, np.inf))
        yield from compare_range(
            np.array([row[0] for row in rows], dtype=np.float64), low, high, self.statistic
        )
        if self.statistic in TESTS and rows:
            counted = [int(each[0]) for each in (evidence.n_units, evidence.n_records, evidence.freedom)]
            yield from compare_p_value(self.statistic, rows[0], *counted)
        if self.statistic == "correlation" and evidence.fit is not None:
            squares = [min(row[0] ** 2, 1.0) for row in evidence.value if row[0] is not None]
            there = np.array([row[0] is not None for row in evidence.value])
            if not np.allclose(evidence.fit[there], squares, rtol=1e-9):
                yield "fit: not the square of the correlation"

    def _cells_of(self, evidence: SummaryEvidence) -> Iterator[str]:
        """Compare each chi square with its cells."""
        entering, parts, wholes, fit = evidence.entering, evidence.parts, evidence.wholes, evidence.fit
        if entering is None or parts is None or wholes is None or fit is None:
            return
        for place, row in enumerate(evidence.value):
            if None not in row:
                freedom = int(evidence.freedom[place])
                yield from compare_cells(
                    row, float(fit[place]), freedom, entering[place], parts[place], wholes[place]
                )
