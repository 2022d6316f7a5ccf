"""Work that is not done in the server: asked for in a transaction, done by the worker, at least once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.review.storage import moment, now
from hitoku.review.tables import job

# A job whose worker was not heard of for so long has none any more.
SILENCE = timedelta(seconds=20)
# A job that takes its worker down is not tried for ever.
MOST_ATTEMPTS = 3
# How many at once; the machine serves pages, too.
AT_ONCE = 1


class Job(StrEnum):
    """What a worker can do; the subject is a submission, a request or a policy."""

    CHECK = "check"
    RELEASE = "release"
    DRY_RUN = "dry run"


class Stage(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


def ask(connection: Connection, kind: Job, subject: int, by: int | None) -> None:
    """Ask for a job; one that failed, or was done and may be done again, is begun afresh."""
    fresh = {
        "state": Stage.WAITING,
        "asked": now(),
        "asked_by": by,
        "beat": None,
        "attempts": 0,
        "done": 0,
        "total": 0,
        "said": "",
    }
    this = (job.c.kind == kind) & (job.c.subject == subject)
    found = connection.execute(sa.select(job.c.state).where(this)).first()
    if found is None:
        connection.execute(sa.insert(job).values(kind=kind, subject=subject, **fresh))
    elif found.state == Stage.FAILED or (kind is Job.DRY_RUN and found.state == Stage.DONE):
        connection.execute(sa.update(job).where(this).values(**fresh))


def take(connection: Connection) -> Row[tuple[object, ...]] | None:
    """Take the next job, or one whose worker died; None when there is nothing to do."""
    silent = moment(datetime.now(UTC) - SILENCE)
    stale = (job.c.state == Stage.RUNNING) & (job.c.beat < silent)
    worn = stale & (job.c.attempts >= MOST_ATTEMPTS)
    connection.execute(
        sa.update(job).where(worn).values(state=Stage.FAILED, said=f"the worker died {MOST_ATTEMPTS} times")
    )
    busy = (job.c.state == Stage.RUNNING) & (job.c.beat >= silent)
    if (connection.scalar(sa.select(sa.func.count()).select_from(job).where(busy)) or 0) >= AT_ONCE:
        return None
    found = connection.execute(
        sa.select(job).where((job.c.state == Stage.WAITING) | stale).order_by(job.c.id).limit(1)
    ).first()
    if found is not None:
        connection.execute(
            sa.update(job)
            .where(job.c.id == found.id)
            .values(state=Stage.RUNNING, beat=now(), attempts=found.attempts + 1, said="")
        )
    return found


def beat(connection: Connection, number: int, done: int, total: int, said: str) -> None:
    """Say that a job is still being done, and how far it is."""
    connection.execute(
        sa.update(job).where(job.c.id == number).values(beat=now(), done=done, total=total, said=said)
    )


def finish(connection: Connection, number: int, state: Stage, said: str = "") -> None:
    """Say that a job is over."""
    connection.execute(sa.update(job).where(job.c.id == number).values(state=state, beat=now(), said=said))


def of(connection: Connection, kind: Job, subject: int) -> Row[tuple[object, ...]] | None:
    """Return a job; None when nobody asked for it."""
    return connection.execute(sa.select(job).where(job.c.kind == kind, job.c.subject == subject)).first()
