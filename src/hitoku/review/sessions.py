"""Sessions are rows: they expire and can be revoked. The browser has a token, the database its hash."""

from __future__ import annotations

import hmac
import secrets
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.files import sha256
from hitoku.review.people import as_person
from hitoku.review.permissions import Person
from hitoku.review.settings import ReviewSettings
from hitoku.review.storage import moment, now, read_moment
from hitoku.review.tables import person, session

# The time of the last click is written when it is this much older than what is there: pages are read more
# often than clicked, and readers should not wait for writers.
FRESH = timedelta(minutes=1)


def begin(connection: Connection, who: int) -> str:
    """Begin a session; a new token every time, so that nobody can hand one to somebody in advance."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        sa.insert(session).values(token=_hashed(token), person=who, begun=now(), seen=now(), ended=None)
    )
    return token


def find(connection: Connection, token: str, settings: ReviewSettings) -> tuple[Person, bool] | None:
    """Return whose session it is, and whether its last click should be written; None when it is over."""
    row = connection.execute(
        sa.select(session.c.begun, session.c.seen, person)
        .join(person, person.c.id == session.c.person)
        .where(session.c.token == _hashed(token), session.c.ended.is_(None), person.c.active)
    ).first()
    if row is None:
        return None
    at = datetime.now(UTC)
    if at - read_moment(row.seen) > timedelta(minutes=settings.idle_minutes):
        return None
    if at - read_moment(row.begun) > timedelta(hours=settings.session_hours):
        return None
    return as_person(row), at - read_moment(row.seen) > FRESH


def touch(connection: Connection, token: str) -> None:
    """Write down that somebody was seen; sessions that ended long ago are forgotten."""
    connection.execute(
        sa.update(session)
        .where(session.c.token == _hashed(token), session.c.ended.is_(None))
        .values(seen=now())
    )
    connection.execute(
        sa.delete(session).where(session.c.seen < moment(datetime.now(UTC) - timedelta(days=30)))
    )


def end(connection: Connection, token: str) -> None:
    """End a session."""
    connection.execute(sa.update(session).where(session.c.token == _hashed(token)).values(ended=now()))


def form_token(token: str) -> str:
    """Return what every form of a session must send back, so that other pages cannot send them."""
    return sha256(f"form {token}".encode())


def same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def _hashed(token: str) -> str:
    return sha256(token.encode())
