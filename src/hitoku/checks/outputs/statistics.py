"""Several statistics of one variable side by side: held to the rules of their own types, and all together.

What one of them withholds in a group, all withhold. With "count" among them, the counts are those of a
frequency table, so that they fit such a table of the same variables.
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
from hitoku.checks.outputs.group_statistic import GroupStatistic, own_name, refuse_decimals
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

COUNT, MEDIAN = "count", "median"
DESCRIBED = (COUNT, "mean", "std", "p25", MEDIAN, "p75")
KNOWN = (COUNT, *AVERAGES, *ONE, MEDIAN, "p25")


def _percent(statistic: str) -> float | None:
    """Return which percentile is meant, None for something else."""
    if statistic == MEDIAN:
        return 50.0
    found = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", statistic)
    return None if found is None else float(found[1])


def _read_parts(given: object) -> dict[str, Evidence]:
    """Read the evidence of every statistic; what is made already stays."""
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
    """The evidence of several statistics about the same groups.

    Parameters
    ----------
    parts
        By statistic; that of the counts is a table, and absent where there are no groups.
    """

    not_by_group: ClassVar[tuple[str, ...]] = (*GroupEvidence.not_by_group, "parts")

    parts: Annotated[Mapping[str, Evidence], PlainValidator(_read_parts)]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, part in self.parts.items():
            if isinstance(part, GroupEvidence):
                self.require(part.labels == self.labels, f"{name}: not about the same groups")
            else:
                self.require(self.places(part).min() >= 0, f"{name}: a group that the table does not have")

    def places(self, table: Evidence) -> Any:
        """Return the cell of each group in the table of counts, -1 for none."""
        if not isinstance(table, TableEvidence) or table.by != self.by:
            return np.array([-1])
        at = {label: place for place, label in enumerate(table.cells.labels)}
        return np.array([at.get(label, -1) for label in self.labels])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, in the order of the file."""
        return {**super().to_dict(), "parts": {name: part.to_dict() for name, part in self.parts.items()}}


@dataclass(frozen=True)
class Statistics(GroupStatistic[StatisticsEvidence]):
    """Several statistics of a variable, overall or by group.

    Parameters
    ----------
    value
        Column of numbers.
    by
        Variables that make the groups.
    statistics
        Some of "count", "mean", "sum", "std", "variance", "cv", "skewness", "kurtosis", "median", and
        percentiles such as "p25". Minima and maxima are refused: they are values of one unit.
    weight
        Column with weights; counts are unweighted.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    decimals
        Published numbers are rounded to so many.
    """

    kind: ClassVar[str] = "statistics"
    evidence: ClassVar[type[Evidence]] = StatisticsEvidence

    value: str
    by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = DESCRIBED
    weight: str | None = None
    missing: str = COMPLETE
    decimals: int | None = None

    @property
    def picture(self) -> str:
        """Boxes, where there is what a box shows."""
        return "box" if {"p25", "median", "p75"} <= set(self.statistics) else ""

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)
        if isinstance(self.statistics, str):
            object.__setattr__(self, "statistics", (self.statistics,))
        if not isinstance(self.statistics, list | tuple) or not all(
            isinstance(s, str) for s in self.statistics
        ):
            raise ParameterError(
                "statistics_not_words",
                "statistics are named by words",
                where="statistics",
                fix='such as ["count", "mean", "p90"]',
            )
        object.__setattr__(self, "statistics", tuple(self.statistics))
        if not self.statistics or len(set(self.statistics)) < len(self.statistics):
            raise ParameterError(
                "statistics_repeated_or_none",
                "statistics named twice, or none",
                where="statistics",
                fix="name each once",
            )
        for each in self.statistics:
            if each in {"min", "max"}:
                raise ParameterError(
                    "statistic_of_one_unit",
                    "the {statistic} is the value of one unit",
                    where="statistics",
                    fix='take a percentile further inside, such as "p5" or "p95"',
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
        """What each of them tells; counts where they are printed."""
        counted = COUNTS if COUNT in self.statistics else frozenset[str]()
        return counted.union(*(asked.publishes for asked in self._types().values()))

    def _types(self) -> dict[str, Any]:
        """Return the type of each statistic, with the parameters of this one."""
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
        """Collect the evidence of each."""
        parts = {name: asked.collect(records) for name, asked in self._types().items()}
        return StatisticsEvidence.of(records, records.groups(self.by, self.missing), parts=parts)

    def protect(self, evidence: StatisticsEvidence, policy: Policy) -> StatisticsEvidence:
        """Protect each, and withhold of all what one withholds."""
        types = self._types()
        parts = {name: types[name].protect(part, policy) for name, part in evidence.parts.items()}
        made = replace(evidence, parts=parts)
        gone = unsafe_parts(self.tests(evidence, policy), evidence.n_parts)
        for part in parts.values():
            gone |= _withheld(made, part)
        return replace(made, withheld=gone)

    def tests(self, evidence: StatisticsEvidence, policy: Policy) -> Iterator[Applied]:
        """Apply the principles that are about all statistics together."""
        yield units(evidence, policy)
        yield from determined_tests(self._together(evidence, policy), policy)

    def _together(self, evidence: StatisticsEvidence, policy: Policy) -> dict[Determined, Mask]:
        """Find the groups of which the statistics give something away together."""
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
        """Say what each statistic says, of groups that are not withheld."""
        for name, asked in self._types().items():
            if name != COUNT:
                yield from asked.said(replace(evidence.parts[name], withheld=withheld))

    def said(self, evidence: StatisticsEvidence) -> Iterator[Said]:
        """Say what each statistic says."""
        return self._said(evidence, evidence.withheld)

    def judge(self, evidence: StatisticsEvidence, policy: Policy) -> tuple[PrincipleVerdict, ...]:
        """Apply the principles of each to what leaves, and those about all together."""
        first, *together = super().judge(evidence, policy)
        types, found = self._types(), [first]
        for name, part in evidence.parts.items():
            own = evidence.withheld if isinstance(part, GroupEvidence) else part.withheld
            found += types[name].judge(replace(part, withheld=own), policy)
        found += together
        return tuple(each for place, each in enumerate(found) if each not in found[:place])

    def publish(self, evidence: StatisticsEvidence) -> dict[str, list[Any]]:
        """Return what leaves: one column for each statistic."""
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
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        types = self._types()
        if set(evidence.parts) != set(types):
            yield "parts: not those of its statistics"
            return
        for name, part in evidence.parts.items():
            yield from (f"{name}: {text}" for text in types[name].contradictions(part))
            if np.any(_withheld(evidence, part) & ~evidence.withheld):
                yield f"{name}: it withholds what leaves"
            counts = part.n_units if isinstance(part, GroupEvidence) else _at(evidence, part, "n_units")
            if not np.array_equal(counts, evidence.n_units):
                yield f"{name}: it is about other units"

    def facts(self, evidence: StatisticsEvidence) -> Iterator[Fact]:
        """Say what each statistic says."""
        yield from super().facts(evidence)
        for name, asked in self._types().items():
            yield from asked.facts(evidence.parts[name])

    def measures(self, records: Records) -> dict[str, Measure]:
        """Return the amounts by unit, as sums where they are printed."""
        found: dict[str, Measure] = {}
        for asked in self._types().values():
            found = {**found, **asked.measures(records)} if asked.kind == Average.kind else found
        return found


def _withheld(evidence: StatisticsEvidence, part: Evidence) -> Mask:
    """Return what a statistic withholds, by group."""
    return part.withheld if isinstance(part, GroupEvidence) else _at(evidence, part, WITHHELD)


def _at(evidence: StatisticsEvidence, table: Evidence, name: str) -> Any:
    return getattr(table, name)[evidence.places(table)]
