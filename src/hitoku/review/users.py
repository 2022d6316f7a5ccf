"""Users: roles and passwords, sessions, known devices, and limits on guessing.

Sessions are rows, which expire and can be revoked; the browser has a token, the database its hash. A device
from which a person signed in is known by a signed cookie; wrong passwords sent from elsewhere do not count
there. The cookie is signed with the hash of the password, so a new password makes all cookies invalid.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError, did_you_mean
from hitoku.files import sha256
from hitoku.review import log
from hitoku.review.context import ReviewSettings
from hitoku.review.states import Person, Role
from hitoku.review.storage import moment, now, read_moment
from hitoku.review.tables import attempt, person, session

# argon2id, with the parameters of RFC 9106 for machines with less memory.
HASHER = PasswordHasher()
SHORTEST = 10
# Failed sign-ins within the window after which further ones are rejected: for a login from one address or
# known device, for a login from unknown devices, and for an address. The second limit bounds distributed
# guessing and never affects a known device.
MAX_PER_PAIR, MAX_PER_LOGIN, MAX_PER_ADDRESS, WINDOW = 5, 20, 100, timedelta(minutes=15)
# Prefix of known devices, which are counted instead of addresses.
DEVICE = "device "


def add_person(
    connection: Connection, login: str, name: str, roles: Iterable[str], password: str | None, *, by: str
) -> int:
    """Add a user. Without a password, users sign in through a proxy or an identity provider."""
    wanted = sorted(set(roles))
    for each in wanted:
        if each not in set(Role):
            raise ParameterError(
                "unknown_role", "no role {role!r}", where="role", fix=did_you_mean(each, Role), role=each
            )
    if not wanted:
        raise ParameterError(
            "person_without_role",
            "{login} has no role",
            where="role",
            fix="give one of: {Role}",
            login=login,
            Role=", ".join(Role),
        )
    if not login.strip() or login != login.strip() or len(login) > 100:
        raise ParameterError(
            "login_invalid", "a login is 1 to 100 characters without spaces around", where="login"
        )
    if connection.execute(sa.select(person.c.id).where(person.c.login == login)).first():
        raise ParameterError(
            "person_exists",
            "user {login!r} exists already",
            where="login",
            fix="choose another login",
            login=login,
        )
    hashed = None if password is None else hash_password(password)
    made = connection.execute(
        sa.insert(person).values(
            login=login, name=name or login, roles=" ".join(wanted), password=hashed, active=True
        )
    )
    log.append(connection, by, "person added", login=login, roles=wanted)
    assert made.inserted_primary_key is not None  # noqa: S101 - for the type checker
    return int(made.inserted_primary_key[0])


def hash_password(password: str) -> str:
    """Hash a password; raise ParameterError if it is too short."""
    if len(password) < SHORTEST:
        raise ParameterError(
            "password_too_short",
            "the password has fewer than {least} characters",
            where="password",
            fix="choose a longer one",
            least=SHORTEST,
        )
    return HASHER.hash(password)


def set_password(connection: Connection, login: str, password: str, *, by: str) -> None:
    """Set a user's password, end their sessions, and reset failed sign-ins."""
    found = _row(connection, login)
    connection.execute(
        sa.update(person).where(person.c.id == found.id).values(password=hash_password(password))
    )
    end_sessions(connection, found.id)
    connection.execute(sa.delete(attempt).where(attempt.c.login == login))
    log.append(connection, by, "password set", login=login)


def set_active(connection: Connection, login: str, *, active: bool, by: str) -> None:
    """Enable or disable a user; their earlier actions are kept."""
    found = _row(connection, login)
    connection.execute(sa.update(person).where(person.c.id == found.id).values(active=active))
    if not active:
        end_sessions(connection, found.id)
    log.append(connection, by, "person let in" if active else "person shut out", login=login)


def end_sessions(connection: Connection, who: int) -> None:
    """End all sessions of a user."""
    open_ones = (session.c.person == who) & session.c.ended.is_(None)
    connection.execute(sa.update(session).where(open_ones).values(ended=now()))


def user_by_login(connection: Connection, login: str) -> Person | None:
    """Return an active user by login; None if there is none."""
    found = connection.execute(sa.select(person).where(person.c.login == login, person.c.active)).first()
    return None if found is None else as_person(found)


def as_person(row: Row[tuple[object, ...]]) -> Person:
    """Return the user of a row."""
    return Person(
        id=row.id, login=row.login, name=row.name, roles=frozenset(Role(each) for each in row.roles.split())
    )


def origin_of(connection: Connection, login: str, address: str, cookie: str) -> str:
    """Return the origin by which failed sign-ins are counted: a known device of the user, or the address."""
    hashed = connection.scalar(sa.select(person.c.password).where(person.c.login == login, person.c.active))
    device = known_device(cookie, login, hashed) if cookie and hashed else None
    return address if device is None else f"{DEVICE}{device}"


def device_cookie(connection: Connection, who: Person) -> str:
    """Return the cookie that makes a device known after a sign-in with a password."""
    hashed = connection.scalar(sa.select(person.c.password).where(person.c.id == who.id))
    return new_cookie(who.login, str(hashed))


def is_throttled(connection: Connection, login: str, origin: str) -> bool:
    """Return whether a login or origin has too many recent failed sign-ins.

    Parameters
    ----------
    connection
        Database connection.
    login
        Login to be checked.
    origin
        Origin as returned by :func:`origin_of`.
    """
    recent = attempt.c.at > moment(datetime.now(UTC) - WINDOW)
    of_login, of_origin = attempt.c.login == login[:100], attempt.c.address == origin

    def reached(most: int, *which: sa.ColumnElement[bool]) -> bool:
        found = sa.select(sa.func.count()).select_from(attempt).where(recent, *which)
        return (connection.scalar(found) or 0) >= most

    if reached(MAX_PER_PAIR, of_login, of_origin):
        return True
    if origin.startswith(DEVICE):
        return False
    unknown = ~attempt.c.address.startswith(DEVICE)
    return reached(MAX_PER_LOGIN, of_login, unknown) or reached(MAX_PER_ADDRESS, of_origin)


def note_failure(connection: Connection, login: str, origin: str, address: str) -> None:
    """Record a failed sign-in; delete those older than the window."""
    connection.execute(sa.delete(attempt).where(attempt.c.at <= moment(datetime.now(UTC) - WINDOW)))
    connection.execute(sa.insert(attempt).values(login=login[:100], address=origin, at=now()))
    log.append(connection, log.SYSTEM, "sign-in refused", address=address)


def unlock(connection: Connection, login: str | None, *, by: str) -> int:
    """Reset the failed sign-ins of a login, or of all; return their number."""
    which = sa.true() if login is None else attempt.c.login == _row(connection, login).login
    forgotten = connection.execute(sa.delete(attempt).where(which)).rowcount
    log.append(connection, by, "sign-in unlocked", login=login)
    return int(forgotten)


def password_matches(connection: Connection, login: str, password: str) -> Person | None:
    """Return the user if the password matches. Takes equally long for unknown logins."""
    found = connection.execute(sa.select(person).where(person.c.login == login, person.c.active)).first()
    hashed = found.password if found is not None and found.password else _nobody()
    try:
        HASHER.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return None
    return as_person(found) if found is not None and found.password else None


_hash_of_nobody: list[str] = []


def _nobody() -> str:
    if not _hash_of_nobody:
        _hash_of_nobody.append(HASHER.hash("nobody has this password"))
    return _hash_of_nobody[0]


def _row(connection: Connection, login: str) -> Row[tuple[object, ...]]:
    found = connection.execute(sa.select(person).where(person.c.login == login)).first()
    if found is None:
        logins = connection.scalars(sa.select(person.c.login)).all()
        raise ParameterError(
            "unknown_person",
            "no person {login!r}",
            where="login",
            fix=did_you_mean(login, logins),
            login=login,
        )
    return found


# Age at which the time of the last activity is updated. More frequent updates would make readers wait for the
# writer.
FRESH = timedelta(minutes=1)


def begin_session(connection: Connection, who: int) -> str:
    """Create a session with a new token, which cannot be planted beforehand."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        sa.insert(session).values(token=_hash_token(token), person=who, begun=now(), seen=now(), ended=None)
    )
    return token


def find_session(connection: Connection, token: str, settings: ReviewSettings) -> tuple[Person, bool] | None:
    """Return the user of a session, and whether its activity should be recorded; None if it has ended."""
    row = connection.execute(
        sa.select(session.c.begun, session.c.seen, person)
        .join(person, person.c.id == session.c.person)
        .where(session.c.token == _hash_token(token), session.c.ended.is_(None), person.c.active)
    ).first()
    if row is None:
        return None
    at = datetime.now(UTC)
    if at - read_moment(row.seen) > timedelta(minutes=settings.idle_minutes):
        return None
    if at - read_moment(row.begun) > timedelta(hours=settings.session_hours):
        return None
    return as_person(row), at - read_moment(row.seen) > FRESH


def touch_session(connection: Connection, token: str) -> None:
    """Record activity; delete sessions that ended long ago."""
    connection.execute(
        sa.update(session)
        .where(session.c.token == _hash_token(token), session.c.ended.is_(None))
        .values(seen=now())
    )
    connection.execute(
        sa.delete(session).where(session.c.seen < moment(datetime.now(UTC) - timedelta(days=30)))
    )


def end_session(connection: Connection, token: str) -> None:
    """End a session."""
    connection.execute(sa.update(session).where(session.c.token == _hash_token(token)).values(ended=now()))


def form_token(token: str) -> str:
    """Return the CSRF token that every form of a session must contain."""
    return sha256(f"form {token}".encode())


def same_secret(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


def _hash_token(token: str) -> str:
    return sha256(token.encode())


DEVICE_LASTS = timedelta(days=180)


def cookie_name(login: str) -> str:
    """Return the device-cookie name of a login: several users may share a browser."""
    return f"hitoku_device_{sha256(login.encode())[:16]}"


def new_cookie(login: str, hashed: str) -> str:
    """Return a cookie for a device after a sign-in.

    Parameters
    ----------
    login
        Login of the user.
    hashed
        Hash of the user's password, the key of the signature.
    """
    content = f"{secrets.token_urlsafe(12)}.{int(time.time())}"
    return f"{content}.{_signature(login, content, hashed)}"


def known_device(cookie: str, login: str, hashed: str) -> str | None:
    """Return the device id of a cookie; None if it is invalid or expired."""
    content, _, signature = cookie.rpartition(".")
    # compare_digest accepts ASCII only, and valid cookies are ASCII.
    if not cookie.isascii() or not hmac.compare_digest(signature, _signature(login, content, hashed)):
        return None
    device, _, issued = content.partition(".")
    return device if time.time() - int(issued) < DEVICE_LASTS.total_seconds() else None


def _signature(login: str, content: str, hashed: str) -> str:
    return hmac.new(hashed.encode(), f"device {login} {content}".encode(), "sha256").hexdigest()
