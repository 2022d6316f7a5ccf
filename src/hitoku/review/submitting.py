"""Create a request or a new turn from a submission, and enqueue its check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError
from hitoku.files import sha256
from hitoku.review import jobs, log
from hitoku.review.context import Context, latest, move
from hitoku.review.jobs import Job
from hitoku.review.reviewing import LONGEST_TEXT, say
from hitoku.review.states import Event, Person, RequestState
from hitoku.review.storage import now
from hitoku.review.tables import member, output, project, request, review, submission, vote


def new_request(
    connection: Connection,
    review_context: Context,
    who: Person,
    *,
    project_id: int,
    title: str,
    context: str,
    controls: str,
    folder: Path,
    digest: str,
    nonce: str,
) -> int:
    """Create a request from a folder in quarantine; return its number.

    Idempotent for the same nonce.
    """
    known = connection.scalar(sa.select(request.c.id).where(request.c.nonce == nonce))
    if known is not None:
        return int(known)
    _require_member(connection, who, project_id)
    for word, text, longest in (
        ("title", title, 200),
        ("context", context, LONGEST_TEXT),
        ("controls", controls, LONGEST_TEXT),
    ):
        if not 0 < len(text.strip()) <= longest:
            raise ParameterError(
                "text_length",
                "the {what} must have 1 to {most:_} characters",
                where=word,
                fix="fill it in",
                what=word,
                most=longest,
            )
    made = connection.execute(
        sa.insert(request).values(
            project=project_id,
            author=who.id,
            title=title.strip(),
            context=context.strip(),
            controls=controls.strip(),
            state=str(RequestState.SUBMITTED),
            turn=1,
            submitted=now(),
            nonce=nonce,
        )
    )
    number = _key(made)
    turn = _take_in(connection, review_context, number, 1, folder, digest, nonce)
    log.append(
        connection,
        who.login,
        str(Event.SUBMIT),
        request=number,
        state=str(RequestState.SUBMITTED),
        project=project_id,
        submission=turn,
        digest=digest,
        texts=sha256(f"{title}\0{context}\0{controls}".encode()),
    )
    jobs.ask(connection, Job.CHECK, turn, who.id)
    return number


def new_turn(
    connection: Connection,
    context: Context,
    who: Person,
    number: int,
    *,
    folder: Path,
    digest: str,
    nonce: str,
) -> None:
    """Add a turn with new files to a returned request."""
    if connection.scalar(sa.select(submission.c.id).where(submission.c.nonce == nonce)) is not None:
        return
    turn = connection.scalar(sa.select(request.c.turn).where(request.c.id == number)) or 0
    made = _take_in(connection, context, number, turn + 1, folder, digest, nonce)
    move(connection, number, Event.RESUBMIT, who.login, submission=made, digest=digest)
    jobs.ask(connection, Job.CHECK, made, who.id)


def _take_in(
    connection: Connection, context: Context, number: int, turn: int, folder: Path, digest: str, nonce: str
) -> int:
    made = connection.execute(
        sa.insert(submission).values(
            request=number,
            turn=turn,
            digest=digest,
            received=now(),
            nonce=nonce,
            passing=0,
            to_review=0,
            failing=0,
            report="",
        )
    )
    key = _key(made)
    place = context.submitted(key)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():  # left by a transaction that was rolled back
        place.rename(context.quarantine / f"undone-{nonce}")
    folder.rename(place)
    return key


def _require_member(connection: Connection, who: Person, project_id: int) -> None:
    if project_id not in {row.id for row in projects_of(connection, who)}:
        raise ParameterError(
            "project_not_yours",
            "you are not a member of this project",
            where="project",
            fix="choose one of your projects",
        )


def projects_of(connection: Connection, who: Person) -> Sequence[Row[tuple[object, ...]]]:
    """Return the projects of a researcher."""
    return connection.execute(
        sa.select(project)
        .join(member, member.c.project == project.c.id)
        .where(member.c.person == who.id)
        .order_by(project.c.name)
    ).all()


def check_done(connection: Connection, number: int, found: Mapping[str, Any]) -> None:
    """Store the result of a check, and pass the request to the checkers.

    Parameters
    ----------
    connection
        Write connection to the database.
    number
        Id of the submission.
    found
        Summary of the check: ``outputs`` with name, kind, status, digest, principles and number of cells, and
        ``report`` about the submission.
    """
    row = connection.execute(sa.select(submission).where(submission.c.id == number)).one()
    if row.report or _gone(connection, row):
        return
    statuses = [each["status"] for each in found["outputs"]]
    connection.execute(
        sa.update(submission)
        .where(submission.c.id == number)
        .values(
            passing=sum(status in {"pass", "exception granted"} for status in statuses),
            to_review=statuses.count("review"),
            failing=statuses.count("fail"),
            report=json.dumps(found["report"]),
        )
    )
    listed = []
    for place, each in enumerate(found["outputs"]):
        made = connection.execute(
            sa.insert(output).values(
                submission=number,
                place=place,
                name=each["name"][:200],
                kind=each["kind"],
                status=each["status"],
                digest=each["digest"],
                principles=json.dumps(each["principles"]),
                cells=each["cells"],
            )
        )
        listed.append({"output": _key(made), "status": each["status"], "digest": each["digest"]})
    move(connection, row.request, Event.CHECKED, log.SYSTEM, submission=number, outputs=listed)
    _carry_votes(connection, row)


def check_refused(connection: Connection, number: int, what: str, fix: str) -> None:
    """Return a submission that could not be read."""
    row = connection.execute(sa.select(submission).where(submission.c.id == number)).one()
    if _gone(connection, row):
        return
    author = connection.scalar(sa.select(request.c.author).where(request.c.id == row.request)) or 0
    text = f"The submission could not be checked: {what}." + (f" What to do: {fix}." if fix else "")
    say(connection, row.request, author, text, public=True, who=log.SYSTEM)
    move(connection, row.request, Event.UNREADABLE, log.SYSTEM, submission=number)


def _gone(connection: Connection, row: Row[tuple[object, ...]]) -> bool:
    """Return whether the check is obsolete: the request was withdrawn, or checked already."""
    asked = sa.select(request.c.state, request.c.turn).where(request.c.id == row.request)
    found = connection.execute(asked).one()
    return bool(found.state != RequestState.SUBMITTED or found.turn != row.turn)


def _carry_votes(connection: Connection, row: Row[tuple[object, ...]]) -> None:
    """Copy approvals of outputs that did not change since the previous turn."""
    earlier = connection.execute(
        sa.select(submission.c.id).where(
            submission.c.request == row.request, submission.c.turn == row.turn - 1
        )
    ).first()
    if earlier is None:
        return
    before, here = (
        {
            (each.name, each.digest, each.status, each.principles): each.id
            for each in connection.execute(sa.select(output).where(output.c.submission == place))
        }
        for place in (earlier.id, row.id)
    )
    for old in connection.execute(sa.select(review).where(review.c.submission == earlier.id)).all():
        if old.submitted is None:
            continue
        made = _key(connection.execute(sa.insert(review).values(submission=row.id, person=old.person)))
        log.append(
            connection, log.SYSTEM, "review begun", request=row.request, submission=row.id, person=old.person
        )
        approved = set(
            connection.scalars(
                sa.select(vote.c.output).where(vote.c.review == old.id, vote.c.choice == "approve")
            )
        )
        for key, place in here.items():
            if before.get(key) in approved:
                connection.execute(sa.insert(vote).values(review=made, output=place, choice="approve"))
                log.append(
                    connection,
                    log.SYSTEM,
                    "vote",
                    request=row.request,
                    submission=row.id,
                    person=old.person,
                    output=place,
                    choice="approve",
                )


def previous(connection: Connection, number: int) -> Row[tuple[object, ...]] | None:
    """Return the submission of the previous turn."""
    now_ = latest(connection, number)
    if now_ is None or now_.turn == 1:
        return None
    return connection.execute(
        sa.select(submission).where(submission.c.request == number, submission.c.turn == now_.turn - 1)
    ).first()


def _key(made: Any) -> int:
    return int(made.inserted_primary_key[0])
