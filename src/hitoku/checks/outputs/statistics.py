"""Several statistics of one variable, judged by the rules of their own types and together.

A group that one statistic suppresses is suppressed in all. "count" is judged as a frequency table, so that it
matches a frequency table of the same variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import PlainValidator
from pydantic import dataclasses as validated

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import (
    STRICT,
    WITHHELD,
    AmountEvidence,
    Evidence,
    GroupEvidence,
    PercentileEvidence,
    SummaryEvidence,
    TableEvidence,
)
from hitoku.checks.ledger import Measure
from hitoku.checks.outputs.frequency_table import FrequencyTable
from hitoku.checks.outputs.group_statistic import GroupStatistic, own_name
from hitoku.checks.outputs.moments import ONE
from hitoku.checks.outputs.output_type import Fact
from hitoku.checks.outputs.statistic import AVERAGES, Average, Percentile
from hitoku.checks.outputs.summary import Summary
from hitoku.checks.policies import Policy
from hitoku.checks.principles import (
    Applied,
    Determined,
    PrincipleVerdict,
    Said,
    determined_tests,
    problems,
    units,
    unsafe_parts,
)
from hitoku.checks.unit_records import COMPLETE, Records
from hitoku.errors import HitokuError, ParameterError, did_you_mean
from hitoku.model import Mask
from hitoku.parameters import Decimals

COUNT, MEDIAN = "count", "median"
DESCRIBED = (COUNT, "mean", "std", "p25", MEDIAN, "p75")
KNOWN = (COUNT, *AVERAGES, *ONE, MEDIAN, "p25")


def _percent(statistic: str) -> float | None:
    """Return the percentile that a name stands for; None for other statistics."""
    if statistic == MEDIAN:
        return 50.0
    found = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", statistic)
    return None if found is None else float(found[1])


def _read_parts(given: object) -> dict[str, Evidence]:
    """Read the evidence of each statistic; evidence objects are kept."""
    if not isinstance(given, Mapping):
        raise ValueError("not evidence by statistic")  # noqa: TRY004 - pydantic reports these
    parts: dict[str, Evidence] = {}
    for name, plain in given.items():
        kind = _evidence_of(name) if isinstance(name, str) else None
        if kind is None:
            raise ValueError("not a statistic")
        try:
            parts[name] = plain if isinstance(plain, kind) else kind.from_dict(plain, name)
        except HitokuError as error:
            raise ValueError(error.what) from None
    return parts


def _evidence_of(statistic: str) -> type[Evidence] | None:
    if statistic == COUNT:
        return TableEvidence
    if statistic in AVERAGES:
        return AmountEvidence
    if statistic in ONE:
        return SummaryEvidence
    return None if _percent(statistic) is None else PercentileEvidence


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class StatisticsEvidence(GroupEvidence):
    """Evidence of several statistics on the same groups."""

    not_by_group: ClassVar[tuple[str, ...]] = (*GroupEvidence.not_by_group, "parts")

    # Evidence by statistic. That of "count" is a table, and absent without grouping variables.
    parts: Annotated[Mapping[str, Evidence], PlainValidator(_read_parts)]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, part in self.parts.items():
            if isinstance(part, GroupEvidence):
                self.require(part.labels == self.labels, f"{name}: not about the same groups")
            else:
                self.require(self.places(part).min() >= 0, f"{name}: a group that the table does not have")

    def places(self, table: Evidence) -> Any:
        """Return the cell of each group in the table of counts; -1 for groups without a cell."""
        if not isinstance(table, TableEvidence) or table.by != self.by:
            return np.array([-1])
        at = {label: place for place, label in enumerate(table.cells.labels)}
        return np.array([at.get(label, -1) for label in self.labels])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, in the order of the file."""
        return {**super().to_dict(), "parts": {name: part.to_dict() for name, part in self.parts.items()}}


@dataclass(frozen=True)
class Statistics(GroupStatistic[StatisticsEvidence]):
    """Several statistics of a variable, overall or by group."""

    kind: ClassVar[str] = "statistics"
    evidence: ClassVar[type[Evidence]] = StatisticsEvidence

    value: str  # Column of numbers.
    by: tuple[str, ...] = ()  # Grouping variables.
    # Some of "count", "mean", "sum", "std", "variance", "cv", "skewness", "kurtosis", "median", and
    # percentiles such as "p25". "min" and "max" raise ParameterError: each is the value of one unit.
    statistics: tuple[str, ...] = DESCRIBED
    weight: str | None = None  # Column of weights. Counts are unweighted.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in published numbers. Default: not rounded.

    @property
    def picture(self) -> str:
        """A box chart, if quartiles and median are among the statistics."""
        return "box" if {"p25", "median", "p75"} <= set(self.statistics) else ""

    def __post_init__(self) -> None:
        if isinstance(self.statistics, str):
            object.__setattr__(self, "statistics", (self.statistics,))
        if not isinstance(self.statistics, list | tuple) or not all(
            isinstance(s, str) for s in self.statistics
        ):
            raise ParameterError(
                "statistics_not_words",
                "statistics must be names",
                where="statistics",
                fix='pass a list, such as ["count", "mean", "p90"]',
            )
        object.__setattr__(self, "statistics", tuple(self.statistics))
        super().__post_init__()
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise ParameterError(
                "statistics_repeated_or_none",
                "no statistic, or one named twice",
                where="statistics",
                fix="name each statistic once",
            )
        for each in self.statistics:
            if each in {"min", "max"}:
                raise ParameterError(
                    "statistic_of_one_unit",
                    "the {statistic} is the value of one unit",
                    where="statistics",
                    fix='use a percentile closer to the median, such as "p5" or "p95"',
                    statistic=each,
                )
            if _evidence_of(each) is None:
                raise ParameterError(
                    "unknown_statistic",
                    "no statistic {statistic!r}",
                    where="statistics",
                    fix=did_you_mean(each, KNOWN),
                    statistic=each,
                )

    @property
    def publishes(self) -> frozenset[str]:
        """Quantities of all statistics, and counts if "count" is among them."""
        counted = COUNTS if COUNT in self.statistics else frozenset[str]()
        return counted.union(*(asked.publishes for asked in self._types().values()))

    def _types(self) -> dict[str, Any]:
        """Return the output type of each statistic."""
        made: dict[str, Any] = {}
        for each in self.statistics:
            percent = _percent(each)
            if each == COUNT:
                made |= {COUNT: FrequencyTable(self.by, self.missing)} if self.by else {}
            elif each in AVERAGES:
                made[each] = Average(
                    self.value, self.by, each, None, self.weight, self.missing, self.decimals
                )
            elif percent is not None:
                made[each] = Percentile(
                    self.value, percent, self.by, self.weight, self.missing, self.decimals
                )
            else:
                made[each] = Summary(
                    each, self.value, None, self.by, False, self.missing, self.weight, self.decimals
                )
        return made

    def collect(self, records: Records) -> StatisticsEvidence:
        """Collect the evidence of each statistic."""
        parts = {name: asked.collect(records) for name, asked in self._types().items()}
        return StatisticsEvidence.of(records, records.groups(self.by, self.missing), parts=parts)

    def protect(self, evidence: StatisticsEvidence, policy: Policy) -> StatisticsEvidence:
        """Protect each statistic, and suppress in all what one suppresses."""
        types = self._types()
        parts = {name: types[name].protect(part, policy) for name, part in evidence.parts.items()}
        made = replace(evidence, parts=parts)
        gone = unsafe_parts(self.tests(evidence, policy), evidence.n_parts)
        for part in parts.values():
            gone |= _withheld(made, part)
        return replace(made, withheld=gone)

    def tests(self, evidence: StatisticsEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests that concern all statistics together."""
        yield units(evidence, policy)
        yield from determined_tests(self._together(evidence, policy), policy)

    def _together(self, evidence: StatisticsEvidence, policy: Policy) -> dict[Determined, Mask]:
        """Return the groups about which the statistics disclose something together."""
        found = {problem: np.zeros(evidence.n_parts, dtype=np.bool_) for problem in Determined}
        place = {label: at for at, label in enumerate(evidence.labels)}
        own: list[list[Said]] = [[] for _ in evidence.labels]
        for each in self._said(evidence, np.zeros(evidence.n_parts, dtype=np.bool_)):
            own[place[tuple(each.codes[name] for name in evidence.by)]].append(each)
        for at, said in enumerate(own):
            for problem in problems(said, policy):
                found[problem][at] = True
        return found

    def _said(self, evidence: StatisticsEvidence, withheld: Mask) -> Iterator[Said]:
        """Yield the published statistics of groups that are not suppressed."""
        for name, asked in self._types().items():
            if name != COUNT:
                yield from asked.said(replace(evidence.parts[name], withheld=withheld))

    def said(self, evidence: StatisticsEvidence) -> Iterator[Said]:
        """Yield the published statistics."""
        return self._said(evidence, evidence.withheld)

    def judge(self, evidence: StatisticsEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Return the verdicts on each statistic, and on all together."""
        first, *together = super().judge(evidence, policy)
        types, found = self._types(), [first]
        for name, part in evidence.parts.items():
            own = evidence.withheld if isinstance(part, GroupEvidence) else part.withheld
            found += types[name].judge(replace(part, withheld=own), policy)
        found += together
        return tuple(each for place, each in enumerate(found) if each not in found[:place])

    def publish(self, evidence: StatisticsEvidence) -> dict[str, list[Any]]:
        """Return one column per statistic, with None for suppressed groups."""
        columns: dict[str, list[Any]] = {
            variable: [label[place] for label in evidence.labels]
            for place, variable in enumerate(evidence.by)
        }
        types = self._types()
        for name in self.statistics:
            if name == COUNT:
                gone = evidence.withheld.tolist()
                shown = [None if out else n for n, out in zip(evidence.n_records.tolist(), gone, strict=True)]
            else:
                part = replace(evidence.parts[name], withheld=evidence.withheld)
                *_, shown = types[name].publish(part).values()
            columns[own_name(name, columns)] = shown
        return columns

    def contradictions(self, evidence: StatisticsEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        types = self._types()
        if set(evidence.parts) != set(types):
            yield "parts: not those of the statistics"
            return
        for name, part in evidence.parts.items():
            yield from (f"{name}: {text}" for text in types[name].contradictions(part))
            if np.any(_withheld(evidence, part) & ~evidence.withheld):
                yield f"{name}: it suppresses a published group"
            counts = part.n_units if isinstance(part, GroupEvidence) else _at(evidence, part, "n_units")
            if not np.array_equal(counts, evidence.n_units):
                yield f"{name}: it is about other units"

    def facts(self, evidence: StatisticsEvidence) -> Iterator[Fact]:
        """Yield the numbers that each statistic states about its groups."""
        yield from super().facts(evidence)
        for name, asked in self._types().items():
            yield from asked.facts(evidence.parts[name])

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts of all units behind means and sums."""
        found: dict[str, Measure] = {}
        for asked in self._types().values():
            found = {**found, **asked.measures(records)} if asked.kind == Average.kind else found
        return found


def _withheld(evidence: StatisticsEvidence, part: Evidence) -> Mask:
    """Return the groups that a statistic suppresses."""
    return part.withheld if isinstance(part, GroupEvidence) else _at(evidence, part, WITHHELD)


def _at(evidence: StatisticsEvidence, table: Evidence, name: str) -> Any:
    return getattr(table, name)[evidence.places(table)]
