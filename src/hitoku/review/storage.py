"""The database: SQLite in a file, or PostgreSQL; one way to read, one way to write."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import OperationalError

from hitoku.errors import DataError, OutputError

MIGRATIONS = Path(__file__).with_name("migrations")
# Any number, but the same one for all writers.
WRITE_LOCK = 724_151_020
# How long a writer waits for the one before it.
PATIENCE_MS = 20_000


def now() -> str:
    """Return this moment as text that sorts."""
    return moment(datetime.now(UTC))


def moment(at: datetime) -> str:
    """Write a moment down, to the second.

    Examples
    --------
    >>> moment(datetime(2026, 11, 16, 21, 5, 53, tzinfo=UTC))
    '2026-11-16T21:05:53Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_moment(text: str) -> datetime:
    """Read what :func:`moment` wrote."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def open_database(url: str) -> Engine:
    """Connect to a database; nothing is made in it.

    Parameters
    ----------
    url
        Such as ``sqlite:////srv/review/review.sqlite`` or ``postgresql+psycopg://user@host/name``.
    """
    if url.startswith("sqlite"):
        # Threads take connections in turn; SQLite itself is compiled for that.
        engine = sa.create_engine(
            url, connect_args={"check_same_thread": False, "timeout": PATIENCE_MS / 1000}
        )
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    # Connections that died while the database was away are noticed and replaced.
    engine = sa.create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=24)
    # A command that is over lets its engine go, and the server must not keep its connections.
    weakref.finalize(engine, engine.pool.dispose)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Python's driver begins transactions when it likes; here they are begun by hand.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={PATIENCE_MS}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees one state of the database throughout."""
    options = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield the connection of the only writer; what it did is kept when the block succeeds.

    The lock comes first: two writers that read before they write would both see the state before the other.
    """
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})"))
        yield connection


@contextmanager
def writable(engine: Engine) -> Iterator[None]:
    """Say so where the database cannot be written: what was begun is undone."""
    try:
        yield
    except OperationalError as error:
        raise OutputError(
            "cannot_write_database",
            "cannot write the database: {reason}",
            where=engine.url.render_as_string(hide_password=True),
            fix="nothing was written; make room on the disk, and check permissions",
            reason=error.orig,
        ) from None


def reachable(engine: Engine) -> bool:
    """Tell whether the database answers."""
    try:
        with reading(engine) as connection:
            connection.execute(sa.text("SELECT 1"))
    except OperationalError:
        return False
    return True


def migrate(engine: Engine, form: str = "head") -> str:
    """Bring a database from whatever form it has to the present one, or to an earlier; return its name."""
    script = ScriptDirectory(str(MIGRATIONS))
    steps = EnvironmentContext(Config(), script, fn=lambda found, _: script._upgrade_revs(form, found))  # noqa: SLF001 - as Alembic's own pages do it
    with writing(engine) as connection, steps:
        steps.configure(connection=connection)
        with steps.begin_transaction():
            steps.run_migrations()
    return newest() if form == "head" else form


def newest() -> str:
    """Return the name of the last step."""
    return str(ScriptDirectory(str(MIGRATIONS)).get_current_head())


def forms() -> list[str]:
    """Name every form that a database of ours ever had, the first one first."""
    return [each.revision for each in ScriptDirectory(str(MIGRATIONS)).walk_revisions()][::-1]


def require_current(engine: Engine) -> None:
    """Raise when the database is not in the present form."""
    try:
        with engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
    except OperationalError as error:
        raise DataError(
            "database_silent",
            "the database does not answer",
            where=engine.url.render_as_string(hide_password=True),
            fix="start it, or correct the setting database",
        ) from error
    where = engine.url.render_as_string(hide_password=True)
    if found is None:
        raise DataError(
            "database_empty", "the database is empty", where=where, fix="hitoku serve init FOLDER"
        )
    if found != newest():
        raise DataError(
            "database_form_old",
            "the database has form {found}, not {newest}",
            where=where,
            fix="hitoku serve migrate FOLDER",
            found=found,
            newest=newest(),
        )
