"""Queues of requests for the team and for researchers, and statistics of the team."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.io import MAX_LISTED
from hitoku.review.context import ReviewSettings
from hitoku.review.states import Person, RequestState, Role
from hitoku.review.storage import read_moment
from hitoku.review.tables import decision, output, person, project, request, review, submission, vote

TABS: dict[str, tuple[RequestState, ...]] = {
    "phase-1": (RequestState.PHASE_1,),
    "phase-2": (RequestState.PHASE_2,),
    "researcher": (RequestState.RETURNED, RequestState.SUBMITTED),
    "release": (RequestState.APPROVED,),
    "closed": (RequestState.RELEASED, RequestState.REJECTED, RequestState.WITHDRAWN),
}
TAB_WORDS = {
    "phase-1": "Phase 1",
    "phase-2": "Phase 2",
    "researcher": "With researcher",
    "release": "Ready to release",
    "closed": "Closed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Request in the queue.

    Parameters
    ----------
    number, title, project, author, state, turn, submitted
        Facts of the request.
    passing, to_review, failing
        Number of outputs by verdict.
    claimed_by
        Name of the user who claimed it, and whether that is the current user.
    age_days, overdue
        Working days since submission, and whether the turnaround time is exceeded.
    mine, outputs
        Outputs on which the current user has voted, and all outputs.
    reviews
        Number of submitted reviews.
    """

    number: int
    title: str
    project: str
    author: str
    state: RequestState
    turn: int
    submitted: str
    passing: int
    to_review: int
    failing: int
    claimed_by: str
    claimed_by_me: bool
    age_days: int
    overdue: bool
    soon: bool
    mine: int
    reviews: int
    own: bool

    @property
    def outputs(self) -> int:
        return self.passing + self.to_review + self.failing


def working_days(since: datetime, until: datetime) -> int:
    """Return the number of working days (Monday to Friday) between two times.

    Examples
    --------
    >>> friday = datetime(2026, 11, 13, 15, tzinfo=UTC)
    >>> working_days(friday, datetime(2026, 11, 16, 9, tzinfo=UTC))
    1
    """
    days = (until.date() - since.date()).days
    whole, rest = divmod(max(0, days), 7)
    extra = sum((since + timedelta(days=step)).weekday() < 5 for step in range(1, rest + 1))
    return whole * 5 + extra


def counts(connection: Connection) -> dict[str, int]:
    """Return the number of requests in each tab."""
    rows = connection.execute(sa.select(request.c.state, sa.func.count()).group_by(request.c.state)).all()
    found = {row[0]: row[1] for row in rows}
    return {tab: sum(found.get(str(state), 0) for state in states) for tab, states in TABS.items()}


def lines(
    connection: Connection,
    who: Person,
    settings: ReviewSettings,
    *,
    tab: str = "phase-1",
    project_name: str = "",
    words: str = "",
    claimed: str = "",
    page: int = 1,
    own: bool = False,
) -> tuple[list[Line], int]:
    """Return a page of the queue, oldest first, and the total number of requests.

    Parameters
    ----------
    connection, who, settings
        Database, current user, and settings.
    tab
        A key of ``TABS``.
    project_name, words
        Filter by project, or by words in title or author.
    claimed
        Filter by claim: "mine", "free", or empty for all.
    page
        Page number, from 1.
    own
        Whether to return only the user's own requests in all states, newest first.
    """
    claimer, author = person.alias("claimer"), person.alias("author")
    where: list[sa.ColumnElement[bool]] = (
        [request.c.author == who.id] if own else [request.c.state.in_([str(each) for each in TABS[tab]])]
    )
    if project_name:
        where.append(project.c.name == project_name)
    if words:
        like = "%" + words.translate(str.maketrans("", "", "\\%_")) + "%"
        where.append(request.c.title.ilike(like) | author.c.name.ilike(like))
    if claimed == "mine":
        where.append(request.c.claimed_by == who.id)
    elif claimed == "free":
        where.append(request.c.claimed_by.is_(None))
    source = (
        request.join(project, project.c.id == request.c.project)
        .join(author, author.c.id == request.c.author)
        .outerjoin(claimer, claimer.c.id == request.c.claimed_by)
        .outerjoin(submission, (submission.c.request == request.c.id) & (submission.c.turn == request.c.turn))
    )
    total = connection.scalar(sa.select(sa.func.count()).select_from(source).where(*where)) or 0
    newest_first = own or tab == "closed"
    order = (request.c.id.desc(),) if newest_first else (request.c.submitted, request.c.id)
    rows = connection.execute(
        sa.select(
            request,
            project.c.name.label("project_name"),
            author.c.name.label("author_name"),
            claimer.c.name.label("claimer_name"),
            submission.c.id.label("turn_id"),
            submission.c.passing,
            submission.c.to_review,
            submission.c.failing,
        )
        .select_from(source)
        .where(*where)
        .order_by(*order)
        .limit(MAX_LISTED)
        .offset(MAX_LISTED * (max(1, page) - 1))
    ).all()
    turns = [row.turn_id for row in rows]
    mine, frozen = _votes(connection, who, turns), _reviews(connection, turns)
    at = datetime.now(UTC)
    found = []
    for row in rows:
        state = RequestState(row.state)
        end = read_moment(row.closed) if row.closed else at
        age = working_days(read_moment(row.submitted), end)
        waits = state in {
            RequestState.PHASE_1,
            RequestState.PHASE_2,
            RequestState.APPROVED,
            RequestState.SUBMITTED,
        }
        found.append(
            Line(
                number=row.id,
                title=row.title,
                project=row.project_name,
                author=row.author_name,
                state=state,
                turn=row.turn,
                submitted=row.submitted,
                passing=row.passing or 0,
                to_review=row.to_review or 0,
                failing=row.failing or 0,
                claimed_by=row.claimer_name or "",
                claimed_by_me=row.claimed_by == who.id,
                age_days=age,
                overdue=waits and age > settings.turnaround_days,
                soon=waits and age == settings.turnaround_days,
                mine=mine.get(row.turn_id, 0),
                reviews=frozen.get(row.turn_id, 0),
                own=row.author == who.id,
            )
        )
    return found, total


def projects(connection: Connection) -> Sequence[str]:
    """Return the names of all projects."""
    return connection.scalars(sa.select(project.c.name).order_by(project.c.name)).all()


def opening_tab(who: Person) -> str:
    """Return the default tab of a user."""
    return "phase-2" if Role.SENIOR in who.roles and Role.CHECKER not in who.roles else "phase-1"


def _votes(connection: Connection, who: Person, turns: list[int]) -> dict[int, int]:
    rows = connection.execute(
        sa.select(review.c.submission, sa.func.count())
        .join(vote, vote.c.review == review.c.id)
        .where(review.c.person == who.id, review.c.submission.in_(turns))
        .group_by(review.c.submission)
    ).all()
    return {row[0]: row[1] for row in rows}


def _reviews(connection: Connection, turns: list[int]) -> dict[int, int]:
    rows = connection.execute(
        sa.select(review.c.submission, sa.func.count())
        .where(review.c.submitted.is_not(None), review.c.submission.in_(turns))
        .group_by(review.c.submission)
    ).all()
    return {row[0]: row[1] for row in rows}


# Cause of rejected outputs that met every principle.
JUDGEMENT = "a person's judgement"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamNumbers:
    """Statistics of the team."""

    states: dict[str, int]  # Requests by state.
    # closed, median_days, slow_days, in_time: closed requests, and their turnaround in working days: median,
    # 90th percentile, and number within the limit.
    closed: int
    median_days: float
    slow_days: int
    in_time: int
    turns: dict[int, int]  # Number of requests by number of turns.
    # Principles that outputs did not meet: number of failures, reviews, and of these rejections or requested
    # changes. Rejected outputs that met all principles count as a person's judgement.
    causes: dict[str, dict[str, int]]
    load: list[tuple[str, int, int, int]]  # Reviews submitted, reviews open, and requests claimed, by user.
    months: dict[str, int]  # Number of requests by month of submission.


def team_numbers(connection: Connection, turnaround_days: int) -> TeamNumbers:
    """Compute the statistics."""
    requests = connection.execute(sa.select(request)).all()
    states = Counter(row.state for row in requests)
    days = sorted(
        working_days(read_moment(row.submitted), read_moment(row.closed))
        for row in requests
        if row.closed and row.state in {RequestState.RELEASED, RequestState.REJECTED}
    )
    causes: dict[str, Counter[str]] = {}
    refused = _rejected_outputs(connection)
    for row in connection.execute(sa.select(output.c.id, output.c.principles)):
        unmet = {
            name: word for name, word in json.loads(row.principles).items() if word in {"fail", "review"}
        }
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


def _rejected_outputs(connection: Connection) -> set[int]:
    """Return the outputs rejected in phase 2, or with a requested change in a submitted review."""
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
