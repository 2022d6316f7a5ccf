"""Survival curves and life tables, published in steps of enough units.

Each step of a Kaplan-Meier curve reveals how many of the units at risk had the event. The curve is therefore
published at few times only. Between two of them at least the minimum number of units had the event, but not
nearly all of those at risk when the step began, and at least the minimum is left after the last. Intervals of
a life table are merged with the following ones until every published count is of enough units; the number
last seen may also be zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import STRICT, Counts, Evidence, GroupEvidence, Numbers, slices
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    choose_ends,
    columns_of_rows,
    curves,
    own_name,
    published_steps,
    whole_groups,
)
from hitoku.checks.outputs.histogram import read_edges
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import Fact, required_columns
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest
from hitoku.checks.unit_records import COMPLETE, Groups, Records
from hitoku.errors import DataError
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, LIMIT, Floats, Integers
from hitoku.parameters import Decimals

TIME = "hitoku time"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class TimedEvidence(GroupEvidence):
    """Times or intervals of each group, with the units that left in each.

    The last code of a label numbers the times of a group.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("events",)

    events: Counts  # Units that left with the event; the others were last seen.

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a group, without the number of the time."""
        return self.labels[place][:-1]


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SurvivalEvidence(TimedEvidence):
    """Times at which a unit left."""

    time: Numbers
    at_risk: Counts  # Units at risk just before the time.
    value: Numbers  # Kaplan-Meier estimate just after the time.


S = TypeVar("S", bound=TimedEvidence)


class TimedEvents(GroupStatistic[S]):
    """Base class of survival curves and life tables: one time per unit, with or without the event."""

    n_added: ClassVar[int] = 1

    event: str
    decimals: Decimals | None

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        return required_columns(self.by, (self.value, self.event), self.missing)

    @property
    def publishes(self) -> frozenset[str]:
        """Counts: with the number of units, a curve gives the numbers of events."""
        return COUNTS

    def had_event(self, records: Records) -> Floats:
        """Return 1 for each record with the event, else 0."""
        if records.repeated:
            raise DataError(
                "several_records_per_unit_in_curve",
                "a unit has several records, and a curve needs one for each",
                where=self.kind,
                fix="keep the last record of each unit",
            )
        codes, place = records.coded(self.event, self.missing)
        truth = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}
        if not {code.lower() for code in codes} <= truth.keys():
            raise DataError(
                "event_not_binary",
                "column {column!r} has other values than 0 and 1",
                where="event",
                fix="code the event as 1, anything else as 0",
                column=self.event,
            )
        return np.array([truth[code.lower()] for code in codes])[place]

    def fits(self, evidence: S, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
        """Return a predicate for ranges of times of a group that may be published as one step."""
        raise NotImplementedError

    def protect(self, evidence: S, policy: Policy) -> S:
        """Publish the ends of steps that meet the policy; times after the last step are suppressed."""
        kept = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            kept[own[choose_ends(len(own), self.fits(evidence, own, policy))]] = True
        return replace(evidence, withheld=~kept)

    def contradictions(self, evidence: S) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        if not np.array_equal(evidence.n_units, evidence.n_records):
            yield "units with several records"

    def facts(self, evidence: S) -> Iterator[Fact]:
        """Yield the units and records of the groups."""
        for codes, own in whole_groups(evidence):
            n = int(evidence.n_units[own].sum())
            yield from (Fact(codes, (what,), n) for what in ("units", "records"))


@dataclass(frozen=True)
class Survival(TimedEvents[SurvivalEvidence]):
    """A Kaplan-Meier curve, overall or by group."""

    kind: ClassVar[str] = "survival"
    evidence: ClassVar[type[Evidence]] = SurvivalEvidence

    value: str  # Column with the time until the event, or until a unit was last seen.
    event: str  # Column of 1 or true for units with the event, 0 or false for units last seen without it.
    by: tuple[str, ...] = ()  # Grouping variables.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in published estimates. Default: not rounded.

    @property
    def picture(self) -> str:
        """A step chart."""
        return "step"

    def collect(self, records: Records) -> SurvivalEvidence:
        """Estimate the curve of each group at all times that occur."""
        groups = records.groups(self.by, self.missing)
        time, event = records.numbers(self.value), self.had_event(records)
        labels: list[tuple[str, ...]] = []
        columns: dict[str, list[Any]] = {name: [] for name in ("time", "at_risk", "events", "value", "left")}
        for label, own in zip(groups.labels, slices(groups), strict=True):
            when, place = np.unique(time[own], return_inverse=True)
            left: Any = np.bincount(place, minlength=len(when))
            events: Any = np.bincount(place, weights=event[own], minlength=len(when)).astype(np.int64)
            at_risk = len(own) - np.cumsum(left) + left
            labels += [(*label, f"{k:06}") for k in range(1, len(when) + 1)]
            found = (when, at_risk, events, np.cumprod(1 - events / at_risk), left)
            for name, column in zip(columns, found, strict=True):
                columns[name] += column.tolist()
        gone = np.array(columns.pop("left"), dtype=np.int64)
        by = (*groups.names, own_name(TIME, dict.fromkeys(groups.names)))
        arrays: dict[str, Any] = {name: np.array(column) for name, column in columns.items()}
        return SurvivalEvidence(by=by, labels=tuple(labels), n_units=gone, n_records=gone, **arrays)

    def fits(self, evidence: SurvivalEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
        """Return a predicate for ranges of times that may be published as one step."""
        disclosed = _step_disclosure(evidence, own)

        def fits(first: int, last: int) -> bool:
            fewest, share = disclosed(first, last)
            return fewest >= policy.least_units and share - policy.group.share <= LIMIT

        return fits

    def tests(self, evidence: SurvivalEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the tests of the published steps and of the units left after the last."""
        few, most = (np.zeros(evidence.n_parts, dtype=np.bool_) for _ in range(2))
        smallest, largest, n_steps = int(evidence.n_units.sum()), 0.0, int((~evidence.withheld).sum())
        for own in curves(evidence):
            disclosed = _step_disclosure(evidence, own)
            for first, last in published_steps(evidence.withheld[own]):
                fewest, share = disclosed(first, last)
                few[own[last]] = fewest < policy.least_units
                most[own[last]] = share - policy.group.share > LIMIT
                smallest, largest = min(smallest, fewest), max(largest, share)
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=np.ones_like(few) if evidence.withheld.all() else few,
            rule=Text(
                "at least {least_units} units with the event in every step, and left after the last",
                least_units=policy.least_units,
            ),
            numbers={"minimum": policy.least_units, "smallest": smallest, "steps": n_steps},
            remedy="take larger groups, or fewer of them",
        )
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="group_disclosure",
            unsafe=most,
            rule=Text(
                "no more than {share:.0%} of those at risk with the event in one step",
                share=policy.group.share,
            ),
            numbers={"share": policy.group.share, "largest_share": largest},
            remedy="take larger groups, or fewer of them",
        )

    def publish(self, evidence: SurvivalEvidence) -> dict[str, list[Any]]:
        """Return the curve at the published times."""
        rows = []
        for at in np.flatnonzero(~evidence.withheld).tolist():
            value = float(evidence.value[at])
            number = value if self.decimals is None else round(value, self.decimals)
            rows.append((*evidence.labels[at][:-1], float(evidence.time[at]), number))
        return columns_of_rows((*evidence.by[:-1], self.value, "survival"), rows)

    def contradictions(self, evidence: SurvivalEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        for own in curves(evidence):
            left, at_risk = evidence.n_units[own], evidence.at_risk[own]
            later = left[::-1].cumsum()[::-1]
            if not np.array_equal(at_risk, later) or np.any(np.diff(evidence.time[own]) <= 0):
                yield "units at risk are not those that leave later"
                return
            value = np.cumprod(1 - evidence.events[own] / np.maximum(at_risk, 1))
            if np.any(np.abs(value - evidence.value[own]) > ADDITIVITY):
                yield "an estimate does not follow from the units at risk"
                return

    def membership(self, records: Records, evidence: SurvivalEvidence) -> Membership | None:
        """Divide the units by the steps in which they left, including those after the last step."""
        groups = records.groups(self.by, self.missing)
        time, number = records.numbers(self.value), np.zeros(len(records), dtype=np.int32)
        names: list[tuple[str | None, ...]] = []
        where = {tuple(codes.values()): own for codes, own in whole_groups(evidence)}
        for label, own in zip(groups.labels, slices(groups), strict=True):
            curve = where[label]
            ends = evidence.time[curve[~evidence.withheld[curve]]]
            if len(ends):
                number[own] = len(names) + 1 + np.searchsorted(ends, time[own], side="left")
                names += [(*label, str(step)) for step in range(len(ends) + 1)]
        codes = np.zeros(records.n_units, dtype=np.int32)
        codes[records.unit] = number
        return Membership(codes=(codes,), cells=(tuple(names),))


def _step_disclosure(evidence: SurvivalEvidence, own: Integers) -> Callable[[int, int], tuple[int, float]]:
    """Return a function that computes what a step discloses.

    It returns the smaller of the units with the event in the step and the units left after it, and the units
    with the event as a share of those at risk when the step begins.
    """
    events = np.r_[0, np.cumsum(evidence.events[own])]
    at_risk = evidence.at_risk[own]
    remaining = at_risk - evidence.n_units[own]

    def disclosed(first: int, last: int) -> tuple[int, float]:
        had = int(events[last + 1] - events[first])
        return min(had, int(remaining[last])), had / max(int(at_risk[first]), 1)

    return disclosed


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class LifeEvidence(TimedEvidence):
    """Intervals of each group, including those in which no unit left."""

    def entered(self, own: Integers) -> Integers:
        """Return the number of units of a group at the start of each interval."""
        left = self.n_units[own]
        return np.asarray(left[::-1].cumsum()[::-1])


@dataclass(frozen=True)
class LifeTable(TimedEvents[LifeEvidence]):
    """A life table, overall or by group."""

    kind: ClassVar[str] = "life_table"
    evidence: ClassVar[type[Evidence]] = LifeEvidence

    value: str  # Column with the time until the event, or until a unit was last seen.
    event: str  # Column of 1 or true for units with the event, 0 or false for units last seen without it.
    # Limits of the intervals, in ascending order from the earliest time; the last interval is open.
    edges: tuple[float, ...]
    by: tuple[str, ...] = ()  # Grouping variables.
    # "complete" leaves out records with a missing value and counts them, "error" refuses them, "code" puts
    # missing codes under "missing".
    missing: str = COMPLETE
    decimals: Decimals | None = None  # Number of decimals in published estimates. Default: not rounded.

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", read_edges(self.edges, 2, self.kind))
        super().__post_init__()

    def collect(self, records: Records) -> LifeEvidence:
        """Count the units that left in each interval, with and without the event."""
        placed, event = self._place_records(records), self.had_event(records)
        events = np.bincount(placed.codes, weights=event, minlength=len(placed)).astype(np.int64)
        left = np.bincount(placed.codes, minlength=len(placed)).astype(np.int64)
        return LifeEvidence(
            by=placed.names, labels=placed.labels, n_units=left, n_records=left, events=events
        )

    def _place_records(self, records: Records) -> Groups:
        """Divide the records by group and interval; each group has all intervals."""
        groups, time = records.groups(self.by, self.missing), records.numbers(self.value)
        early = int((time < self.edges[0]).sum())
        if early:
            raise DataError(
                "times_before_first_edge",
                "column {column!r} has {n} time(s) before the first edge",
                where="edges",
                fix="begin with 0, or with the earliest time",
                column=self.value,
                n=early,
            )
        n = len(self.edges)
        names = (*groups.names, own_name(TIME, dict.fromkeys(groups.names)))
        labels = tuple((*label, f"{k:03}") for label in groups.labels for k in range(1, n + 1))
        place = np.searchsorted(np.array(self.edges), time, side="right") - 1
        return Groups(names, labels, groups.codes * n + place)

    def fits(self, evidence: LifeEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
        """Return a predicate for ranges of intervals that may be published as one step."""
        events, left = (np.r_[0, np.cumsum(each[own])] for each in (evidence.events, evidence.n_units))
        least, most = policy.least_units, policy.group.share

        def fits(first: int, last: int) -> bool:
            had = int(events[last + 1] - events[first])
            seen, remaining = int(left[last + 1] - left[first]) - had, int(left[-1] - left[last + 1])
            few = had < least or 0 < seen < least or remaining < least
            return not few and had <= most * int(left[-1] - left[first])

        return fits

    def tests(self, evidence: LifeEvidence, policy: Policy) -> Iterator[Applied]:
        """Yield the test of the published steps and of the units left after the last."""
        unfit, n_steps = np.zeros(evidence.n_parts, dtype=np.bool_), int((~evidence.withheld).sum())
        for own in curves(evidence):
            fits = self.fits(evidence, own, policy)
            for first, last in published_steps(evidence.withheld[own]):
                unfit[own[last]] = not fits(first, last)
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=np.ones_like(unfit) if evidence.withheld.all() else unfit,
            rule=Text(
                "at least {least_units} units with the event in every step, as many or none last seen in it, "
                "as many left after it, and no more than {share:.0%} with the event",
                least_units=policy.least_units,
                share=policy.group.share,
            ),
            numbers={"minimum": policy.least_units, "share": policy.group.share, "steps": n_steps},
            remedy="take longer intervals, larger groups, or fewer of them",
        )

    def publish(self, evidence: LifeEvidence) -> dict[str, list[Any]]:
        """Return the steps, each with units entered, events, units last seen, and the estimate after it."""
        rows: list[tuple[Any, ...]] = []
        for own in curves(evidence):
            entered, left, value = evidence.entered(own), evidence.n_units[own], 1.0
            for first, last in published_steps(evidence.withheld[own]):
                events = int(evidence.events[own][first : last + 1].sum())
                seen = int(left[first : last + 1].sum()) - events
                # Actuarial estimate: units last seen are exposed for half of the interval.
                exposed = int(entered[first]) - seen / 2
                value *= 1 - events / exposed if exposed else 1.0
                number = value if self.decimals is None else round(value, self.decimals)
                # The last interval has no end: empty, not None, which would mean suppressed.
                ends = self.edges[first], self.edges[last + 1] if last + 1 < len(self.edges) else ""
                rows.append((*evidence.labels[own[0]][:-1], *ends, int(entered[first]), events, seen, number))
        words = ("from", "to", "entered", "events", "last_seen", "survival")
        return columns_of_rows((*evidence.by[:-1], *words), rows)

    def contradictions(self, evidence: LifeEvidence) -> Iterator[str]:
        """Yield contradictions within the evidence."""
        yield from super().contradictions(evidence)
        numbers = [f"{k:03}" for k in range(1, len(self.edges) + 1)]
        if any([evidence.labels[at][-1] for at in own] != numbers for own in curves(evidence)):
            yield "intervals other than those between the edges"

    def membership(self, records: Records, evidence: LifeEvidence) -> Membership | None:
        """Divide the units by the step in which they left, and whether with the event.

        Units that left after the last step are one cell.
        """
        placed, event = self._place_records(records), self.had_event(records)
        number = np.zeros((evidence.n_parts, 2), dtype=np.int32)
        names: list[tuple[str | None, ...]] = []
        for own in curves(evidence):
            label, steps = evidence.labels[own[0]][:-1], published_steps(evidence.withheld[own])
            for step, (first, last) in enumerate(steps):
                for how, word in enumerate(("last seen", "event")):
                    if evidence.n_units[own][first : last + 1].sum():
                        names.append((*label, f"{step} {word}"))
                        number[own[first : last + 1], how] = len(names)
            if steps and steps[-1][1] < len(own) - 1:
                names.append((*label, "later"))
                number[own[steps[-1][1] + 1 :]] = len(names)
        codes = np.zeros(records.n_units, dtype=np.int32)
        codes[records.unit] = number[placed.codes, event.astype(np.int64)]
        # Number the cells without the empty ones.
        used = np.unique(codes[codes > 0])
        order = np.zeros(len(names) + 1, dtype=np.int32)
        order[used] = np.arange(1, len(used) + 1)
        return Membership(codes=(order[codes],), cells=(tuple(names[at - 1] for at in used.tolist()),))
