"""Life tables: who entered an interval, had the event in it, or was last seen in it.

Intervals in which too few had the event, or were last seen, are merged with those that follow: every count
that is published is one of enough units, or of none who were last seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.checks.evidence import STRICT, Counts, Evidence, GroupEvidence
from hitoku.checks.outputs.group_statistic import (
    choose_ends,
    curves,
    own_name,
    published_steps,
    refuse_decimals,
)
from hitoku.checks.outputs.histogram import read_edges
from hitoku.checks.outputs.membership import Membership
from hitoku.checks.outputs.survival import TIME, TimedEvents, refuse_repeated
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest
from hitoku.checks.records import COMPLETE, Groups, Records
from hitoku.errors import DataError
from hitoku.model import Integers


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class LifeEvidence(GroupEvidence):
    """Every interval, by group; the last code of a label is its number. Units are those who left in it.

    Parameters
    ----------
    events
        Those who had the event; the others who left were last seen then.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("events",)

    events: Counts

    def label(self, place: int) -> Sequence[str]:
        """Return the codes of a group, for texts."""
        return self.labels[place][:-1]

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
        refuse_decimals(self.decimals)
        object.__setattr__(self, "edges", read_edges(self.edges, 2, self.kind))

    def collect(self, records: Records) -> LifeEvidence:
        """Count once who left in every interval."""
        refuse_repeated(records, self.kind)
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

    def protect(self, evidence: LifeEvidence, policy: Policy) -> LifeEvidence:
        """Merge intervals until every step may leave; what lies behind the last step is not told apart."""
        kept = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            kept[own[choose_ends(len(own), _fits(evidence, own, policy))]] = True
        return replace(evidence, withheld=~kept)

    def tests(self, evidence: LifeEvidence, policy: Policy) -> Iterator[Applied]:
        """Test every published step, and who is left after the last."""
        unfit = np.zeros(evidence.n_parts, dtype=np.bool_)
        for own in curves(evidence):
            fits = _fits(evidence, own, policy)
            for first, last in published_steps(evidence.withheld[own]):
                unfit[own[last]] = not fits(first, last)
        yield PrincipleTest(
            principle=Principle.UNITS,
            reason="too_few_units",
            unsafe=np.ones_like(unfit) if evidence.withheld.all() else unfit,
            rule=f"at least {policy.least_units} units with the event in every step, as many or none last "
            f"seen in it, as many left after it, and no more than {policy.group.share:.0%} with the event",
            numbers={
                "minimum": policy.least_units,
                "share": policy.group.share,
                "steps": int((~evidence.withheld).sum()),
            },
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
        columns: dict[str, list[Any]] = {}
        words = ("from", "to", "entered", "events", "last_seen", "survival")
        for place, name in enumerate((*evidence.by[:-1], *words)):
            columns[own_name(name, columns)] = [row[place] for row in rows]
        return columns

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


def _fits(evidence: LifeEvidence, own: Integers, policy: Policy) -> Callable[[int, int], bool]:
    """Tell of intervals from one to another whether they may be a step."""
    entered = evidence.entered(own)
    events, left = np.cumsum(evidence.events[own]), np.cumsum(evidence.n_units[own])
    least, most = policy.least_units, policy.group.share

    def fits(first: int, last: int) -> bool:
        before = (int(events[first - 1]), int(left[first - 1])) if first else (0, 0)
        had = int(events[last]) - before[0]
        seen = int(left[last]) - before[1] - had
        remaining = int(entered[0]) - int(left[last])
        few = had < least or 0 < seen < least or remaining < least
        return not few and had <= most * int(entered[first])

    return fits
