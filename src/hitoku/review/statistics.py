"""Numbers for the head of the team: how long things take, why they are refused, who has how much to do."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.review.states import RequestState
from hitoku.review.storage import read_moment
from hitoku.review.tables import decision, output, person, request, review, submission, vote
from hitoku.review.waiting import working_days

# Why something was refused that met every principle.
JUDGEMENT = "a person's judgement"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamNumbers:
    """What the page shows.

    Parameters
    ----------
    states
        Requests by state.
    closed, median_days, slow_days, in_time
        Requests that came to rest; their turnaround in working days: the median, what nine of ten stay
        below, and how many kept the promise.
    turns
        Requests by the number of turns they took.
    causes
        Principles that outputs did not meet: how many failed, how many a person looked at, and how many of
        them were refused or sent back for a change. Refusals of what met them all are a person's judgement.
    load
        By person: reviews submitted, reviews open, requests claimed.
    months
        Requests by month of submission.
    """

    states: dict[str, int]
    closed: int
    median_days: float
    slow_days: int
    in_time: int
    turns: dict[int, int]
    causes: dict[str, dict[str, int]]
    load: list[tuple[str, int, int, int]]
    months: dict[str, int]


def team_numbers(connection: Connection, turnaround_days: int) -> TeamNumbers:
    """Count."""
    requests = connection.execute(sa.select(request)).all()
    states = Counter(row.state for row in requests)
    days = sorted(
        working_days(read_moment(row.submitted), read_moment(row.closed))
        for row in requests
        if row.closed and row.state in {RequestState.RELEASED, RequestState.REJECTED}
    )
    causes: dict[str, Counter[str]] = {}
    refused = _refused(connection)
    for row in connection.execute(sa.select(output.c.id, output.c.principles)):
        unmet = {name: word for name, word in json.loads(row.principles).items() if word in {"fail", "look"}}
        for name, word in unmet.items():
            causes.setdefault(name, Counter())[word] += 1
        for name in (unmet or [JUDGEMENT]) if row.id in refused else ():
            causes.setdefault(name, Counter())["refused"] += 1
    half = len(days) // 2
    median = 0.0 if not days else days[half] if len(days) % 2 else (days[half - 1] + days[half]) / 2
    return TeamNumbers(
        states={str(state): states.get(str(state), 0) for state in RequestState},
        closed=len(days),
        median_days=median,
        slow_days=days[min(len(days) - 1, -(-9 * len(days) // 10) - 1)] if days else 0,
        in_time=sum(each <= turnaround_days for each in days),
        turns=dict(sorted(Counter(row.turn for row in requests).items())),
        causes={name: dict(found) for name, found in sorted(causes.items())},
        load=_load(connection, Counter(row.claimed_by for row in requests)),
        months=dict(sorted(Counter(row.submitted[:7] for row in requests).items())[-12:]),
    )


def _refused(connection: Connection) -> set[int]:
    """Return the outputs that phase 2 refused, or that a frozen review wants changed."""
    changes = (
        sa.select(vote.c.output)
        .join(review, review.c.id == vote.c.review)
        .where(vote.c.choice == "change", review.c.submitted.is_not(None))
    )
    refusals = sa.select(decision.c.output).where(decision.c.choice == "refuse")
    return {*connection.scalars(changes), *connection.scalars(refusals)}


def _load(connection: Connection, claims: Counter[int | None]) -> list[tuple[str, int, int, int]]:
    done = sa.func.sum(sa.case((review.c.submitted.is_not(None), 1), else_=0))
    rows = connection.execute(
        sa.select(person.c.id, person.c.name, done.label("done"), sa.func.count(review.c.id).label("begun"))
        .join(review, review.c.person == person.c.id)
        .join(submission, submission.c.id == review.c.submission)
        .group_by(person.c.id, person.c.name)
        .order_by(person.c.name)
    ).all()
    return [(row.name, int(row.done), int(row.begun - row.done), claims.get(row.id, 0)) for row in rows]
