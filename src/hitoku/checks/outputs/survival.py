"""Survival curves: the Kaplan-Meier estimate at times between which enough units had the event.

Every step of a curve tells how many had the event there, of those still at risk. So the curve is published at
few times only: between two of them at least as many units had the event as the policy asks for, but not
nearly all of those who were there when the step began, and as many are left after the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.attacks.differencing import COUNTS
from hitoku.checks.evidence import STRICT, CodedCells, Counts, Evidence, GroupEvidence, Numbers, slices
from hitoku.checks.outputs.group_statistic import (
    GroupStatistic,
    choose_ends,
    curves,
    own_name,
    published_steps,
    refuse_decimals,
)
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.output_type import Fact, needed
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest
from hitoku.checks.records import COMPLETE, Records
from hitoku.errors import DataError
from hitoku.model import ADDITIVITY, LIMIT, Floats, Integers

TIME = "hitoku time"


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class SurvivalEvidence(GroupEvidence):
    """Every time at which somebody left, by group; the last code of a label is the number of the time.

    Parameters
    ----------
    time
        When.
    at_risk, events
        Units still there just before, and those who had the event then; the others who left were censored.
    value
        The estimate just after.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("events",)

    time: Numbers
    at_risk: Counts
    events: Counts
    value: Numbers

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a group, for texts."""
        return self.labels[place][:-1]


S = TypeVar("S", bound=GroupEvidence)


class TimedEvents(GroupStatistic[S]):
    """What survival curves and life tables have in common: a time for every unit, and what happened then."""

    n_added: ClassVar[int] = 1

    event: str

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out."""
        return needed(self.by, (self.value, self.event), self.missing)

    @property
    def tells(self) -> frozenset[str]:
        """How many had the event by a time, once it is known how many there are."""
        return COUNTS

    def had_event(self, records: Records) -> Floats:
        """Return 1 for every record with the event, else 0."""
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

    def contradictions(self, evidence: S) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        if not np.array_equal(evidence.n_units, evidence.n_records):
            yield "a unit with several records has no one time"

    def facts(self, evidence: S) -> Iterator[Fact]:
        """Say how many units the groups have."""
        names = evidence.by[:-1]
        for own in curves(evidence):
            codes = dict(zip(names, evidence.labels[own[0]][:-1], strict=True))
            n = int(evidence.n_units[own].sum())
            yield Fact(codes, ("units",), n)
            yield Fact(codes, ("records",), n)

    def cells(self, evidence: S) -> CodedCells | None:  # noqa: ARG002 - for coded groups
        """Return nothing: times are no codes of a variable."""
        return None


def refuse_repeated(records: Records, what: str) -> None:
    """Raise where a unit has several records: it has one time only."""
    if records.repeated:
        raise DataError(
            "several_records_per_unit_in_curve",
            "a unit has several records, and a curve needs one for each",
            where=what,
            fix="keep the last record of every unit",
        )


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

    def __post_init__(self) -> None:
        refuse_decimals(self.decimals)

    @property
    def picture(self) -> str:
        """It is shown as steps."""
        return "step"

    def collect(self, records: Records) -> SurvivalEvidence:
        """Estimate once per group, at every time that occurs."""
        refuse_repeated(records, self.kind)
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
            for name, column in zip(
                columns, (when, at_risk, events, np.cumprod(1 - events / at_risk), left), strict=True
            ):
                columns[name] += column.tolist()
        gone = np.array(columns.pop("left"), dtype=np.int64)
        by = (*groups.names, own_name(TIME, dict.fromkeys(groups.names)))
        arrays: dict[str, Any] = {name: np.array(column) for name, column in columns.items()}
        return SurvivalEvidence(by=by, labels=tuple(labels), n_units=gone, n_records=gone, **arrays)

    def protect(self, evidence: SurvivalEvidence, policy: Policy) -> SurvivalEvidence:
        """Keep the times between which enough units had the event, not nearly all, and enough are left."""
        kept = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            kept[own[choose_ends(len(own), _fits(evidence, own, policy))]] = True
        return replace(evidence, withheld=~kept)

    def tests(self, evidence: SurvivalEvidence, policy: Policy) -> Iterator[Applied]:
        """Test every step of the published curve, and who is left after the last."""
        few, most = (np.zeros(evidence.n_parts, dtype=np.bool_) for _ in range(2))
        smallest, largest = int(evidence.n_units.sum()), 0.0
        for own in curves(evidence):
            fewest, share = _fewest(evidence, own), _share(evidence, own)
            for step in published_steps(evidence.withheld[own]):
                few[own[step[1]]] = fewest(*step) < policy.least_units
                most[own[step[1]]] = share(*step) - policy.group.share > LIMIT
                smallest, largest = min(smallest, fewest(*step)), max(largest, share(*step))
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=np.ones_like(few) if evidence.withheld.all() else few,
            rule=f"at least {policy.least_units} units with the event in every step, and left after the last",
            numbers={
                "minimum": policy.least_units,
                "smallest": smallest,
                "steps": int((~evidence.withheld).sum()),
            },
            remedy="take larger groups, or fewer of them",
        )
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="group_disclosure",
            unsafe=most,
            rule=f"no more than {policy.group.share:.0%} of those at risk with the event in one step",
            numbers={"share": policy.group.share, "largest_share": largest},
            remedy="take larger groups, or fewer of them",
        )

    def publish(self, evidence: SurvivalEvidence) -> dict[str, list[Any]]:
        """Return the curve at the times that are kept."""
        shown = np.flatnonzero(~evidence.withheld).tolist()
        columns: dict[str, list[Any]] = {
            name: [evidence.labels[at][place] for at in shown] for place, name in enumerate(evidence.by[:-1])
        }
        columns[own_name(self.value, columns)] = [float(evidence.time[at]) for at in shown]
        columns[own_name("survival", columns)] = [
            x if self.decimals is None else round(x, self.decimals)
            for x in (float(evidence.value[at]) for at in shown)
        ]
        return columns

    def contradictions(self, evidence: SurvivalEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        for own in curves(evidence):
            left, at_risk = evidence.n_units[own], evidence.at_risk[own]
            if not np.array_equal(at_risk, left[::-1].cumsum()[::-1]) or np.any(
                np.diff(evidence.time[own]) <= 0
            ):
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
        where: dict[tuple[str, ...], Integers] = {
            evidence.labels[own[0]][:-1]: own for own in curves(evidence)
        }
        for label, own in zip(groups.labels, slices(groups), strict=True):
            curve = where[label]
            ends = evidence.time[curve[~evidence.withheld[curve]]]
            if len(ends):
                number[own] = len(names) + 1 + np.searchsorted(ends, time[own], side="left")
                names += [(*label, str(step)) for step in range(len(ends) + 1)]
        codes = np.zeros(records.n_units, dtype=np.int32)
        codes[records.unit] = number
        return Membership(codes=(codes,), cells=(tuple(names),))


def _fits(evidence: SurvivalEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
    fewest, share = _fewest(evidence, own), _share(evidence, own)

    def fits(first: int, last: int) -> bool:
        return fewest(first, last) >= policy.least_units and share(first, last) - policy.group.share <= LIMIT

    return fits


def _share(evidence: SurvivalEvidence, own: Integers) -> Callable[[int, int], float]:
    """Return how many of those at risk when a step begins had the event in it, as a share."""
    events = np.concatenate([[0], np.cumsum(evidence.events[own])])
    at_risk = evidence.at_risk[own]

    def share(first: int, last: int) -> float:
        return float((events[last + 1] - events[first]) / max(int(at_risk[first]), 1))

    return share


def _fewest(evidence: SurvivalEvidence, own: Integers) -> Callable[[int, int], int]:
    """Count the units with the event in a step, or left after it, whichever are fewer."""
    events = np.concatenate([[0], np.cumsum(evidence.events[own])])
    remaining = evidence.at_risk[own] - evidence.n_units[own]

    def fewest(first: int, last: int) -> int:
        return int(min(events[last + 1] - events[first], remaining[last]))

    return fewest
