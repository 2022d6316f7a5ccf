"""Survival curves and life tables: every published step is one of enough units.

Every step of a Kaplan-Meier curve tells how many had the event there, of those still at risk. So the curve is
published at few times only: between two of them at least as many units had the event as the policy asks for,
but not nearly all of those who were there when the step began, and as many are left after the last. Intervals
of a life table are merged with those that follow until every count that is published is one of enough units,
or of none who were last seen.
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
    refuse_decimals,
    whole_groups,
)
from hitoku.checks.outputs.histogram import read_edges
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import Fact, needed
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest
from hitoku.checks.unit_records import COMPLETE, Groups, Records
from hitoku.errors import DataError
from hitoku.messages import Text
from hitoku.model import ADDITIVITY, LIMIT, Floats, Integers

TIME = "hitoku time"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class TimedEvidence(GroupEvidence):
    """Every time, or interval, of each group; the last code of a label is its number. Units left in it.

    Parameters
    ----------
    events
        Units that had the event then; the others who left were last seen.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("events",)

    events: Counts

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a group, for texts."""
        return self.labels[place][:-1]


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SurvivalEvidence(TimedEvidence):
    """Every time at which a unit left.

    Parameters
    ----------
    time
        When.
    at_risk
        Units still there just before.
    value
        The estimate just after.
    """

    time: Numbers
    at_risk: Counts
    value: Numbers


S = TypeVar("S", bound=TimedEvidence)


class TimedEvents(GroupStatistic[S]):
    """What survival curves and life tables have in common: a time for every unit, and what happened then."""

    n_added: ClassVar[int] = 1

    event: str
    decimals: int | None

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        return needed(self.by, (self.value, self.event), self.missing)

    @property
    def publishes(self) -> frozenset[str]:
        """How many had the event by a time, once it is known how many there are."""
        return COUNTS

    def had_event(self, records: Records) -> Floats:
        """Return 1 for every record with the event, else 0; a unit has one record only."""
        if records.repeated:
            raise DataError(
                "several_records_per_unit_in_curve",
                "a unit has several records, and a curve needs one for each",
                where=self.kind,
                fix="keep the last record of every unit",
            )
        codes, place = records.coded(self.event, self.missing)
        truth = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}
        if not {code.lower() for code in codes} <= truth.keys():
            raise DataError(
                "event_not_binary",
                "column {column!r} has other values than 0 and 1",
                where="event",
                fix="1 for the event, else 0",
                column=self.event,
            )
        return np.array([truth[code.lower()] for code in codes])[place]

    def fits(self, evidence: S, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
        """Return what decides whether the places of a group from one to another may be a step."""
        raise NotImplementedError

    def protect(self, evidence: S, policy: Policy) -> S:
        """Keep the ends of steps that may leave; what lies behind the last step is not told apart."""
        kept = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            kept[own[choose_ends(len(own), self.fits(evidence, own, policy))]] = True
        return replace(evidence, withheld=~kept)

    def contradictions(self, evidence: S) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        if not np.array_equal(evidence.n_units, evidence.n_records):
            yield "a unit with several records has no one time"

    def facts(self, evidence: S) -> Iterator[Fact]:
        """Say how many units the groups have."""
        for codes, own in whole_groups(evidence):
            n = int(evidence.n_units[own].sum())
            yield from (Fact(codes, (what,), n) for what in ("units", "records"))


@dataclass(frozen=True)
class Survival(TimedEvents[SurvivalEvidence]):
    """A Kaplan-Meier curve, overall or by group.

    Parameters
    ----------
    value
        Column with the time until the event, or until a unit was last seen.
    event
        Column that says whether it had the event: 1 or true; 0 or false where it was only last seen.
    by
        Variables that make the groups.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    decimals
        Published estimates are rounded to so many.
    """

    kind: ClassVar[str] = "survival"
    evidence: ClassVar[type[Evidence]] = SurvivalEvidence

    value: str
    event: str
    by: tuple[str, ...] = ()
    missing: str = COMPLETE
    decimals: int | None = None

    @property
    def picture(self) -> str:
        """It is shown as steps."""
        return "step"

    def collect(self, records: Records) -> SurvivalEvidence:
        """Estimate once per group, at every time that occurs."""
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
        """Return whether enough units had the event in a step, not nearly all, and enough are left."""
        told = _told(evidence, own)

        def fits(first: int, last: int) -> bool:
            fewest, share = told(first, last)
            return fewest >= policy.least_units and share - policy.group.share <= LIMIT

        return fits

    def tests(self, evidence: SurvivalEvidence, policy: Policy) -> Iterator[Applied]:
        """Test every step of the published curve, and who is left after the last."""
        few, most = (np.zeros(evidence.n_parts, dtype=np.bool_) for _ in range(2))
        smallest, largest, n_steps = int(evidence.n_units.sum()), 0.0, int((~evidence.withheld).sum())
        for own in curves(evidence):
            told = _told(evidence, own)
            for first, last in published_steps(evidence.withheld[own]):
                fewest, share = told(first, last)
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
        """Return the curve at the times that are kept."""
        rows = []
        for at in np.flatnonzero(~evidence.withheld).tolist():
            value = float(evidence.value[at])
            number = value if self.decimals is None else round(value, self.decimals)
            rows.append((*evidence.labels[at][:-1], float(evidence.time[at]), number))
        return columns_of_rows((*evidence.by[:-1], self.value, "survival"), rows)

    def contradictions(self, evidence: SurvivalEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        for own in curves(evidence):
            left, at_risk = evidence.n_units[own], evidence.at_risk[own]
            later = left[::-1].cumsum()[::-1]
            if not np.array_equal(at_risk, later) or np.any(np.diff(evidence.time[own]) <= 0):
                yield "units at risk are not those who leave later"
                return
            value = np.cumprod(1 - evidence.events[own] / np.maximum(at_risk, 1))
            if np.any(np.abs(value - evidence.value[own]) > ADDITIVITY):
                yield "an estimate that does not follow from those at risk"
                return

    def membership(self, records: Records, evidence: SurvivalEvidence) -> Membership | None:
        """Divide the units by the steps in which they left, those who did after the last included."""
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


def _told(evidence: SurvivalEvidence, own: Integers) -> Callable[[int, int], tuple[int, float]]:
    """Return what a step tells.

    These are the units with the event in it, or left after it, whichever are fewer; and those with the event
    as a share of those at risk when it begins.
    """
    events = np.r_[0, np.cumsum(evidence.events[own])]
    at_risk = evidence.at_risk[own]
    remaining = at_risk - evidence.n_units[own]

    def told(first: int, last: int) -> tuple[int, float]:
        had = int(events[last + 1] - events[first])
        return min(had, int(remaining[last])), had / max(int(at_risk[first]), 1)

    return told


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class LifeEvidence(TimedEvidence):
    """Every interval, those in which no unit left among them."""

    def entered(self, own: Integers) -> Integers:
        """Return how many units of a group are still there when each interval begins."""
        left = self.n_units[own]
        return np.asarray(left[::-1].cumsum()[::-1])


@dataclass(frozen=True)
class LifeTable(TimedEvents[LifeEvidence]):
    """A life table, overall or by group.

    Parameters
    ----------
    value
        Column with the time until the event, or until a unit was last seen.
    event
        Column that says whether it had the event: 1 or true; 0 or false where it was only last seen.
    edges
        Where one interval ends and the next begins, in order, from the earliest time on; the last is open.
    by
        Variables that make the groups.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code": those without
        a code go under "missing".
    decimals
        Published estimates are rounded to so many.
    """

    kind: ClassVar[str] = "life_table"
    evidence: ClassVar[type[Evidence]] = LifeEvidence

    value: str
    event: str
    edges: tuple[float, ...]
    by: tuple[str, ...] = ()
    missing: str = COMPLETE
    decimals: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "edges", read_edges(self.edges, 2, self.kind))

    def collect(self, records: Records) -> LifeEvidence:
        """Count once who left in every interval."""
        placed, event = self._placed(records), self.had_event(records)
        events = np.bincount(placed.codes, weights=event, minlength=len(placed)).astype(np.int64)
        left = np.bincount(placed.codes, minlength=len(placed)).astype(np.int64)
        return LifeEvidence(
            by=placed.names, labels=placed.labels, n_units=left, n_records=left, events=events
        )

    def _placed(self, records: Records) -> Groups:
        """Divide records by group and interval; every group has all intervals."""
        groups, time = records.groups(self.by, self.missing), records.numbers(self.value)
        early = int((time < self.edges[0]).sum())
        if early:
            raise DataError(
                "times_before_first_edge",
                "column {column!r} has {n} time(s) before the first edge",
                where="edges",
                fix="begin with 0, or with a time that nobody comes before",
                column=self.value,
                n=early,
            )
        n = len(self.edges)
        names = (*groups.names, own_name(TIME, dict.fromkeys(groups.names)))
        labels = tuple((*label, f"{k:03}") for label in groups.labels for k in range(1, n + 1))
        place = np.searchsorted(np.array(self.edges), time, side="right") - 1
        return Groups(names, labels, groups.codes * n + place)

    def fits(self, evidence: LifeEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
        """Return whether intervals from one to another may be a step."""
        events, left = (np.r_[0, np.cumsum(each[own])] for each in (evidence.events, evidence.n_units))
        least, most = policy.least_units, policy.group.share

        def fits(first: int, last: int) -> bool:
            had = int(events[last + 1] - events[first])
            seen, remaining = int(left[last + 1] - left[first]) - had, int(left[-1] - left[last + 1])
            few = had < least or 0 < seen < least or remaining < least
            return not few and had <= most * int(left[-1] - left[first])

        return fits

    def tests(self, evidence: LifeEvidence, policy: Policy) -> Iterator[Applied]:
        """Test every published step, and who is left after the last."""
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
        """Return the steps: who entered, had the event, was last seen, and the estimate after it."""
        rows: list[tuple[Any, ...]] = []
        for own in curves(evidence):
            entered, left, value = evidence.entered(own), evidence.n_units[own], 1.0
            for first, last in published_steps(evidence.withheld[own]):
                events = int(evidence.events[own][first : last + 1].sum())
                seen = int(left[first : last + 1].sum()) - events
                # Those last seen count for half of the interval.
                exposed = int(entered[first]) - seen / 2
                value *= 1 - events / exposed if exposed else 1.0
                number = value if self.decimals is None else round(value, self.decimals)
                # Behind the last edge there is no end; that it is withheld would be another thing.
                ends = self.edges[first], self.edges[last + 1] if last + 1 < len(self.edges) else ""
                rows.append((*evidence.labels[own[0]][:-1], *ends, int(entered[first]), events, seen, number))
        words = ("from", "to", "entered", "events", "last_seen", "survival")
        return columns_of_rows((*evidence.by[:-1], *words), rows)

    def contradictions(self, evidence: LifeEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        numbers = [f"{k:03}" for k in range(1, len(self.edges) + 1)]
        if any([evidence.labels[at][-1] for at in own] != numbers for own in curves(evidence)):
            yield "intervals that are not between the edges"

    def membership(self, records: Records, evidence: LifeEvidence) -> Membership | None:
        """Divide the units by the step in which they left, and how; who did after the last is in one cell."""
        placed, event = self._placed(records), self.had_event(records)
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
        # Nobody may be in a cell, such as last seen in a step in which nobody was.
        used = np.unique(codes[codes > 0])
        order = np.zeros(len(names) + 1, dtype=np.int32)
        order[used] = np.arange(1, len(used) + 1)
        return Membership(codes=(order[codes],), cells=(tuple(names[at - 1] for at in used.tolist()),))
