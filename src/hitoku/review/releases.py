"""Release of approved outputs: receipt, files and ledger by the library, then log and state.

Two stores are involved, so a release has three repeatable steps: a transaction enqueues it; the worker calls
the library, which is idempotent; a second transaction logs the receipt and changes the state.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import DataError
from hitoku.review import jobs, log
from hitoku.review.context import Context, latest, move
from hitoku.review.deciding import docket
from hitoku.review.jobs import Job
from hitoku.review.policies import as_file
from hitoku.review.reviewing import outputs_of
from hitoku.review.states import Event, Person, StateError
from hitoku.review.storage import now
from hitoku.review.tables import comment, person, project, release, request, review

RECEIPT, LOG_HEAD = "receipt.json", "log.json"


def ask_release(connection: Connection, number: int, who: Person) -> None:
    """Enqueue the release of approved outputs. Idempotent."""
    row = _project(connection, number)
    if not row.data or not row.ledger:
        raise StateError(
            "project_without_ledger",
            "project {project} has no data or no ledger: releases could not be recorded",
            fix="ask the administrator: hitoku serve add-project",
            project=row.name,
        )
    if jobs.of(connection, Job.RELEASE, number) is None:
        log.append(connection, who.login, "release asked", request=number)
    jobs.ask(connection, Job.RELEASE, number, who.id)


def release_task(connection: Connection, context: Context, number: int) -> dict[str, Any]:
    """Build the worker's arguments for the release."""
    row, turn = _project(connection, number), latest(connection, number)
    asked = jobs.of(connection, Job.RELEASE, number)
    if turn is None or asked is None:
        raise DataError("nothing_to_release", "nothing to release", where="request {number}", number=number)
    return {
        "kind": "release",
        "submission": str(context.submitted(turn.id)),
        "out": str(context.released(number)),
        "ledger": row.ledger,
        "data": row.data,
        "unit": row.unit,
        "policy": as_file(connection, context, row.policy),
        "signatures": min(2, context.settings.reviews),
        "decisions": decisions_of(connection, number),
        "checkers": checkers_of(connection, number),
        "now": asked.asked,
    }


def decisions_of(connection: Connection, number: int) -> list[dict[str, Any]]:
    """Return the decisions of phase 2 for the library: one for each principle that is not met."""
    made = docket(connection, number).decisions
    names = {row.id: row.name for row in connection.execute(sa.select(person.c.id, person.c.name))}
    found: list[dict[str, Any]] = []
    for each in outputs_of(connection, number):
        own = made[each.id]
        words: dict[str, Any] = {"who": names[own.person], "when": own.decided[:10], "output": each.name}
        if own.choice == "refuse":
            found.append({**words, "decision": "refuse", "reason": own.reason})
            continue
        principles, cells = json.loads(each.principles), json.loads(own.cells)
        words |= {"decision": "release", "reason": own.reason, "facts": json.loads(own.facts)}
        if own.expires:
            words["expires"] = own.expires
        if cells:
            # Opened cells are excused from every principle, but only these cells.
            found.append({**words, "cells": cells})
        found += [
            {**words, "principle": principle}
            for principle, status in principles.items()
            if status in {"fail", "review"}
        ]
    return found


def checkers_of(connection: Connection, number: int) -> list[str]:
    """Return the names of all people responsible for the release: reviewers, deciders and the releaser."""
    turn = latest(connection, number)
    reviewers = connection.scalars(
        sa.select(review.c.person)
        .where(review.c.submission == (turn.id if turn else 0))
        .order_by(review.c.id)
    ).all()
    deciders = [each.person for each in docket(connection, number).decisions.values()]
    asked = jobs.of(connection, Job.RELEASE, number)
    everybody = dict.fromkeys([*reviewers, *deciders, *([asked.asked_by] if asked is not None else [])])
    names = {row.id: row.name for row in connection.execute(sa.select(person.c.id, person.c.name))}
    return [names[each] for each in everybody if each is not None]


def finish_release(connection: Connection, taken: Row[tuple[object, ...]], result: dict[str, Any]) -> None:
    """Record a release, with the head of the log on the receipt."""
    number = taken.subject
    known = connection.execute(sa.select(release.c.request).where(release.c.request == number)).first()
    turn = latest(connection, number)
    if known is not None or turn is None:
        return
    who = connection.scalar(sa.select(person.c.login).where(person.c.id == taken.asked_by)) or log.SYSTEM
    move(connection, number, Event.RELEASE, who, receipt=result["digest"], outputs=result["outputs"])
    head = log.head(connection)
    connection.execute(
        sa.insert(release).values(
            request=number,
            submission=turn.id,
            person=taken.asked_by,
            at=now(),
            digest=result["digest"],
            head=head.digest,
            entries=head.entries,
        )
    )


def zip_release(connection: Connection, context: Context, number: int) -> bytes:
    """Return the released files as a reproducible zip archive."""
    row = connection.execute(sa.select(release).where(release.c.request == number)).first()
    folder = context.released(number)
    if row is None or not folder.is_dir():
        raise DataError(
            "nothing_released",
            "nothing was released",
            where="request {number}",
            fix="release it first",
            number=number,
        )
    content = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    content[LOG_HEAD] = json.dumps({"entries": row.entries, "digest": row.head}, indent=1).encode() + b"\n"
    content["letter.txt"] = letter(connection, context, number).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def letter(connection: Connection, context: Context, number: int) -> str:
    """Return the letter to the researcher: released and rejected outputs with reasons."""
    row = connection.execute(
        sa.select(request, person.c.name.label("author_name"))
        .join(person, person.c.id == request.c.author)
        .where(request.c.id == number)
    ).one()
    made = docket(connection, number).decisions
    left, stayed = [], []
    for each in outputs_of(connection, number):
        own = made.get(each.id)
        if own is not None and own.choice == "approve":
            left.append(f"  - {each.name}" + (f": {own.reason}" if own.reason else ""))
        elif own is not None:
            stayed.append(f"  - {each.name}: {own.reason}")
    said = connection.scalars(
        sa.select(comment.c.text).where(comment.c.request == number, comment.c.public).order_by(comment.c.id)
    ).all()
    out = connection.execute(sa.select(release).where(release.c.request == number)).first()
    lines = [f"Dear {row.author_name},", "", f'about your request {number}, "{row.title}":', ""]
    lines += ["These outputs leave:", *left, ""] if left else ["None of its outputs leaves.", ""]
    lines += ["These do not:", *stayed, ""] if stayed else []
    lines += ["Comments:", *(f"  - {text}" for text in said), ""] if said else []
    if out is not None:
        lines += [
            f"Released {out.at}. Receipt {out.digest}.",
            f"Log of the application: {out.entries} entries, head {out.head}.",
            "",
        ]
    lines += [context.settings.team, ""]
    return "\n".join(lines)


def _project(connection: Connection, number: int) -> Row[tuple[object, ...]]:
    return connection.execute(
        sa.select(project).join(request, request.c.project == project.c.id).where(request.c.id == number)
    ).one()
