"""Background jobs, enqueued in a transaction and run by the worker at least once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.review.storage import moment, now
from hitoku.review.tables import job

# Without a heartbeat for this long, a job is abandoned.
SILENCE = timedelta(seconds=20)
# Attempts before a job that crashes its worker is given up.
MAX_ATTEMPTS = 3


class Job(StrEnum):
    """Type of job; its subject is a submission, a request or a policy."""

    CHECK = "check"
    RELEASE = "release"
    DRY_RUN = "dry run"


class Stage(StrEnum):
    """State of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


def ask(connection: Connection, kind: Job, subject: int, by: int | None) -> None:
    """Enqueue a job, or restart one that failed or is repeatable."""
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
    """Take the next job, or an abandoned one; None if there is none."""
    silent = moment(datetime.now(UTC) - SILENCE)
    stale = (job.c.state == Stage.RUNNING) & (job.c.beat < silent)
    worn = stale & (job.c.attempts >= MAX_ATTEMPTS)
    connection.execute(
        sa.update(job).where(worn).values(state=Stage.FAILED, said=f"the worker died {MAX_ATTEMPTS} times")
    )
    busy = (job.c.state == Stage.RUNNING) & (job.c.beat >= silent)
    # One job at a time: the machine also serves pages.
    if connection.scalar(sa.select(sa.func.count()).select_from(job).where(busy)):
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
    """Record a heartbeat and the progress of a job."""
    connection.execute(
        sa.update(job).where(job.c.id == number).values(beat=now(), done=done, total=total, said=said)
    )


def finish(connection: Connection, number: int, state: Stage, said: str = "") -> None:
    """Record the end of a job."""
    connection.execute(sa.update(job).where(job.c.id == number).values(state=state, beat=now(), said=said))


def of(connection: Connection, kind: Job, subject: int) -> Row[tuple[object, ...]] | None:
    """Return a job; None if it was not enqueued."""
    return connection.execute(sa.select(job).where(job.c.kind == kind, job.c.subject == subject)).first()
