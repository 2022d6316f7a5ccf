"""Summary and test statistics: degrees of freedom; a minimum or maximum is somebody's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from pydantic import dataclasses as validated

from hitoku.checks.evidence.consistency import compare_range
from hitoku.checks.evidence.evidence import STRICT, CountPairs, Counts, Evidence, Numbers, Wholes
from hitoku.checks.evidence.groups import (
    GroupEvidence,
    compare_holders,
    count_holders,
    count_units,
    require_pairs,
    slices,
)
from hitoku.checks.outputs.group_statistic import GroupStatistic, publish_groups, refuse_decimals, withhold
from hitoku.checks.outputs.hypothesis_tests import (
    OF_TWO,
    TESTS,
    Tested,
    compare_categories,
    compare_groups,
    compare_p_value,
)
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import groups as principles
from hitoku.checks.principles.squares import largest_share, square_verdicts, withheld_for_squares
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
from hitoku.checks.records import COMPLETE, Records
from hitoku.errors import ParameterError, did_you_mean
from hitoku.model.arrays import Floats, Mask

# A statistic, or None where it is not defined; of tests the p value is beside it.
Statistic = Annotated[float, Field(strict=True, allow_inf_nan=False)] | None


def _centred(x: Floats, w: Floats) -> Floats:
    """Subtract the mean; values that are all alike differ from it by nothing, not by rounding."""
    return np.zeros(len(x)) if np.ptp(x) == 0 else x - w @ x / w.sum()


def _about(x: Floats, w: Floats, order: int) -> Floats:
    """Return deviations from the mean, or the amounts themselves of what is only added up."""
    return x if order == 1 else _centred(x, w)


def _moment(x: Floats, w: Floats, order: int) -> Any:
    return w @ _centred(x, w) ** order / w.sum()


def _covariance(x: Floats, y: Floats, w: Floats) -> Any:
    # Records over records minus one, whatever the weights add up to: those of equal weight give the usual.
    return w @ (_centred(x, w) * _centred(y, w)) / w.sum() * len(x) / (len(x) - 1)


def _deviation(x: Floats, w: Floats) -> Any:
    return np.sqrt(_covariance(x, x, w))


EXTREMES = ("min", "max")
# Statistic of one variable and its weights, and how many parameters are estimated on the way.
ONE: dict[str, tuple[Callable[[Floats, Floats], Any], int]] = {
    "variance": (lambda x, w: _covariance(x, x, w), 1),
    "std": (_deviation, 1),
    "skewness": (lambda x, w: _moment(x, w, 3) / _moment(x, w, 2) ** 1.5, 2),
    "kurtosis": (lambda x, w: _moment(x, w, 4) / _moment(x, w, 2) ** 2 - 3, 2),
    "cv": (lambda x, w: _deviation(x, w) / (w @ x / w.sum()), 1),
    "min": (lambda x, _: x.min(), 0),
    "max": (lambda x, _: x.max(), 0),
}
# Of two variables.
TWO: dict[str, tuple[Callable[[Floats, Floats, Floats], Any], int]] = {
    "correlation": (lambda x, y, w: _covariance(x, y, w) / (_deviation(x, w) * _deviation(y, w)), 2),
    "covariance": (_covariance, 2),
    "ratio": (lambda x, y, w: w @ x / (w @ y), 1),
    "index": (lambda x, y, w: 100 * (w @ x) / (w @ y), 1),
}
STATISTICS = (*ONE, *TWO, *TESTS)
# Of a variable with two values these say how many units have which.
COUNTS_OF_TWO = {*ONE, "ratio", "index"} - {*EXTREMES}


# To which power a statistic adds up deviations; ratios add up the amounts themselves.
POWERS: Mapping[str, int] = {
    "variance": 2,
    "std": 2,
    "cv": 2,
    "skewness": 3,
    "kurtosis": 4,
    "correlation": 2,
    "covariance": 2,
    "ratio": 1,
    "index": 1,
    "t": 2,
    "f": 2,
}
# Within each category of the second variable.
GROUPED = ("t", "f")

# Values of a statistic that there are, whatever the data.
RANGES: Mapping[str, tuple[float, float]] = {
    "correlation": (-1.0, 1.0),
    "std": (0.0, np.inf),
    "variance": (0.0, np.inf),
    "kurtosis": (-2.0, np.inf),
}


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SummaryEvidence(GroupEvidence):
    """A summary or test statistic of each group.

    Parameters
    ----------
    holders
        Of a variable with two values: how many units of each group have which.
    value
        The statistic, None where it is not defined; of a test the p value as well.
    freedom
        Units minus the parameters estimated on the way.
    alike
        Of an extreme the units that have it; else all units where they are all alike, and 0.
    squares
        The largest share that one unit has of what the statistic adds up: squares for a deviation, higher
        powers for skewness and kurtosis. None where nothing is added up.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("alike", "freedom")

    holders: CountPairs | None = None
    value: tuple[tuple[Statistic, ...], ...]
    freedom: Wholes
    alike: Counts
    squares: Numbers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_pairs(self, self.holders)
        widths = {len(row) for row in self.value}
        self.require(widths <= {1} or widths == {2}, "value: not a statistic for each group")

    def contradictions(self) -> Iterator[str]:
        """Name what cannot be true together in the counts of groups."""
        yield from super().contradictions()
        yield from compare_holders(self, self.holders)
        if self.squares is not None and np.any((self.squares < 0) | (self.squares > 1)):
            yield "squares: not a share"


@dataclass(frozen=True)
class Summary(GroupStatistic[SummaryEvidence]):
    """A statistic with degrees of freedom, overall or by group.

    Parameters
    ----------
    statistic
        Of one variable: "variance", "std", "cv", "skewness", "kurtosis", "min", "max". Of two: "correlation",
        "covariance", "ratio", "index" (100 times a ratio). Tests of ``value`` between the categories of
        ``other``: "t" (Welch) and "mannwhitney" (ranks) for two, "f" (analysis of variance) and "kruskal"
        (ranks) for two and more; "chi2" for two categorical variables.
    value
        The variable.
    other
        The second variable.
    by
        Variables that make the groups.
    structural
        A minimum or maximum that follows from the definition of the variable (a share that ends at 1, an age
        that starts at 15). It passes when it is the value of enough units, and needs a look otherwise.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    weight
        Column with weights; not for minima, maxima and tests. Degrees of freedom are those of the units.
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "summary"
    evidence: ClassVar[type[Evidence]] = SummaryEvidence

    statistic: str
    value: str
    other: str | None = None
    by: tuple[str, ...] = ()
    structural: bool = False
    missing: str = COMPLETE
    weight: str | None = None
    decimals: int | None = None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if self.statistic not in STATISTICS:
            fix = did_you_mean(self.statistic, STATISTICS, otherwise=f"use one of: {', '.join(STATISTICS)}")
            raise ParameterError(f"no statistic {self.statistic!r}", where="statistic", fix=fix)
        if (self.other is None) == (self.statistic not in ONE):
            more = "needs a second variable" if self.other is None else "takes one variable"
            raise ParameterError(f"{self.statistic} {more}", where="other", fix="see the list of statistics")
        if self.structural and self.statistic not in EXTREMES:
            raise ParameterError("only min and max are structural", where="structural", fix="leave it out")
        if self.weight is not None and self.statistic in {*EXTREMES, *TESTS}:
            raise ParameterError(
                f"{self.statistic} takes no weights", where="weight", fix="leave it out: it is about records"
            )

    def collect(self, records: Records) -> SummaryEvidence:
        """Compute once per group."""
        groups = records.groups(self.by, self.missing)
        numbers = {} if self.statistic == "chi2" else {"x": records.numbers(self.value)}
        if self.statistic in TWO:
            numbers["y"] = records.numbers(str(self.other))
        if self.statistic not in TESTS:
            numbers["w"] = records.weights(self.weight)
        holders = count_holders(records, groups, numbers["x"]) if self.statistic in COUNTS_OF_TWO else None
        rows, lost, spread, shares = [], [], [], []
        for own in slices(groups):
            part = {name: column[own] for name, column in numbers.items()}
            value, parameters, at = self._one(records, own, part)
            rows.append(value)
            lost.append(parameters)
            spread.append(at)
            shares.append(self._share(records, own, part))
        return SummaryEvidence.of(
            records,
            groups,
            holders=holders,
            value=tuple(tuple(x if np.isfinite(x) else None for x in row) for row in rows),
            freedom=count_units(records, groups) - np.array(lost),
            alike=spread,
            squares=np.array(shares) if self.statistic in POWERS else None,
        )

    def _share(self, records: Records, own: Any, part: Mapping[str, Floats]) -> float:
        """Return the largest share of one unit in what the statistic adds up."""
        if self.statistic not in POWERS:
            return 0.0
        who = records.unit[own]
        sums: list[Floats] = []
        if self.statistic in GROUPED:
            groups = records.groups([str(self.other)], self.missing).codes[own]
            for place in np.unique(groups):
                mine = groups == place
                squares = np.zeros(len(own))
                squares[mine] = _centred(part["x"][mine], np.ones(int(mine.sum()))) ** 2
                sums.append(squares)
        else:
            order, w = POWERS[self.statistic], part["w"]
            sums = [w * np.abs(_about(part[name], w, order)) ** order for name in ("x", "y") if name in part]
            if self.statistic in {"covariance", "correlation"}:
                sums.append(w * np.abs(_centred(part["x"], w) * _centred(part["y"], w)))
        return max(largest_share(each, who, repeated=records.repeated) for each in sums)

    def _one(
        self, records: Records, own: Any, part: Mapping[str, Floats]
    ) -> tuple[tuple[float, ...], int, int]:
        """Return the statistic, the parameters it takes, and how many units have its value or all values."""
        who = records.unit[own]
        if self.statistic in TESTS:
            return (*self._test(records, own, part), 0)
        with np.errstate(all="ignore"):
            if self.statistic in TWO:
                compute, parameters = TWO[self.statistic]
                value = compute(part["x"], part["y"], part["w"]) if len(own) > 1 else np.nan
                # Over a constant, a ratio is an average, which other rules are for.
                same = np.full(len(own), np.ptp(part["x"]) == 0 or np.ptp(part["y"]) == 0)
            else:
                single, parameters = ONE[self.statistic]
                value = single(part["x"], part["w"]) if len(own) > 1 or self.statistic in EXTREMES else np.nan
                same = (
                    part["x"] == value
                    if self.statistic in EXTREMES
                    else np.full(len(own), np.ptp(part["x"]) == 0)
                )
        return (float(value),), parameters, len(np.unique(who[same]))

    def _test(self, records: Records, own: Any, part: Mapping[str, Floats]) -> Tested:
        groups = records.groups([str(self.other)], self.missing).codes[own]
        if self.statistic == "chi2":
            return compare_categories(records.groups([self.value], self.missing).codes[own], groups)
        return compare_groups(self.statistic, part["x"], groups, str(self.other))

    def protect(self, evidence: SummaryEvidence, policy: Policy) -> SummaryEvidence:
        """Withhold the groups that do not meet a rule; all of them for an extreme that is not structural."""
        few = principles.few_units(evidence, policy)
        if self.statistic in EXTREMES:
            return withhold(evidence, few, np.full(len(few), not self.structural))
        return withhold(
            evidence,
            few,
            principles.too_little_freedom(evidence.freedom, policy),
            self._constant(evidence),
            principles.told_apart(evidence.n_units, evidence.holders, policy),
            withheld_for_squares(len(few), evidence.squares if evidence.holders is None else None, policy),
        )

    def _constant(self, evidence: SummaryEvidence) -> Mask:
        """Tell where all units have the same value, or the statistic is not defined for the like of it."""
        undefined = np.array([None in row for row in evidence.value], dtype=np.bool_)
        return undefined | ((evidence.alike > 0) & (self.statistic not in EXTREMES))

    def judge(self, evidence: SummaryEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Apply the principles to what leaves."""
        units = principles.units(evidence, policy)
        if self.statistic in EXTREMES:
            return units, self._extreme(evidence, policy)
        alike = principles.judge_mask(
            Principle.GROUP,
            "all_equal",
            self._constant(evidence),
            evidence.withheld,
            evidence.labels.__getitem__,
            "units that differ, and a statistic that is defined",
            {},
            "take larger groups",
        )
        freedom = principles.degrees_of_freedom(evidence, evidence.freedom, policy)
        asked = self.statistic in POWERS and evidence.holders is None
        power = "the sum" if POWERS.get(self.statistic) == 1 else "the sum of squares"
        squares = square_verdicts(evidence, evidence.squares, policy, power) if asked else ()
        return units, freedom, alike, *principles.two_values(evidence, evidence.holders, policy), *squares

    def _extreme(self, evidence: SummaryEvidence, policy: Policy) -> PrincipleVerdict:
        if not self.structural:
            return principles.individual(
                f"the {self.statistic} is the value of one unit",
                "give a percentile further inside, or structural=True where it follows from the definition",
            )
        leaving = ~evidence.withheld
        fewest = int(evidence.alike[leaving].min(initial=evidence.alike.max()))
        enough = fewest >= policy.units.minimum
        return PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.PASS if enough else Clearance.LOOK,
            reason="structural",
            text=f"said to be structural; it is the value of {fewest} unit(s) where they are fewest",
            numbers={"smallest": fewest, "minimum": policy.units.minimum},
            remedy="" if enough else "the checker decides whether the bound follows from the definition",
        )

    def publish(self, evidence: SummaryEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        names = [self.statistic, "p_value"] if self.statistic in TESTS else [f"{self.statistic}_{self.value}"]
        columns: dict[str, list[Any]] = {}
        for place, name in enumerate(names):
            column = [row[place] for row in evidence.value]
            columns |= publish_groups(evidence, column, name, self.decimals)
        return columns

    def contradictions(self, evidence: SummaryEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        n_units, freedom, alike = evidence.n_units, evidence.freedom, evidence.alike
        known: dict[str, int] = {
            name: lost for name, (_, lost) in [*ONE.items(), *TWO.items()]
        } | dict.fromkeys(OF_TWO, 2)
        lost = known.get(self.statistic)
        if lost is not None and np.any(freedom != n_units - lost):
            yield f"degrees of freedom are not the units minus {lost}"
        if self.statistic in EXTREMES:
            if np.any(alike < 1):
                yield "an extreme that nobody has"
        elif np.any((alike != 0) & (alike != n_units)):
            yield "alike: neither nobody nor all units"
        width = 2 if self.statistic in TESTS else 1
        if any(len(row) != width for row in evidence.value):
            yield "value: not the numbers of such a statistic"
            return
        rows = [row for row in evidence.value if None not in row]
        low, high = RANGES.get(self.statistic, (-np.inf, np.inf))
        yield from compare_range(
            np.array([row[0] for row in rows], dtype=np.float64), low, high, self.statistic
        )
        if self.statistic in TESTS and rows:
            counted = [int(each[0]) for each in (n_units, evidence.n_records, freedom)]
            yield from compare_p_value(self.statistic, rows[0], *counted)
