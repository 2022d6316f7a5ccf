"""Database access for SQLite and PostgreSQL: one way to read, one way to write."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
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
# Arbitrary lock id, shared by all writers.
WRITE_LOCK = 724_151_020
# Time that a writer waits for the lock, in milliseconds.
PATIENCE = timedelta(seconds=20)


def now() -> str:
    """Return the current time as sortable text."""
    return moment(datetime.now(UTC))


def moment(at: datetime) -> str:
    """Return a time as text, in seconds.

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
    """Connect to a database without creating anything in it.

    Parameters
    ----------
    url
        Address, such as ``sqlite:////srv/review/review.sqlite`` or ``postgresql+psycopg://user@host/name``.
    """
    if url.startswith("sqlite"):
        # Connections are shared between threads; SQLite is compiled for that.
        engine = sa.create_engine(
            url, connect_args={"check_same_thread": False, "timeout": PATIENCE.total_seconds()}
        )
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    # Replace connections that died while the database was unavailable.
    engine = sa.create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=24)
    # Close connections when an engine is discarded, so that they do not accumulate.
    weakref.finalize(engine, engine.pool.dispose)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Python's driver starts transactions implicitly; here they are started explicitly.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={PATIENCE // timedelta(milliseconds=1)}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection with a consistent snapshot of the database."""
    options = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**options) as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Yield the single writer connection; commit if the block succeeds.

    The lock is taken first: two writers that read before locking would both see the old state.
    """
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({WRITE_LOCK})"))
        yield connection


@contextmanager
def writable(engine: Engine) -> Iterator[None]:
    """Raise OutputError if the database cannot be written."""
    try:
        yield
    except OperationalError as error:
        raise OutputError(
            "cannot_write_database",
            "cannot write the database: {reason}",
            where=engine.url.render_as_string(hide_password=True),
            fix="nothing was written; free disk space, and check permissions",
            reason=error.orig,
        ) from None


def reachable(engine: Engine) -> bool:
    """Return whether the database responds."""
    try:
        with reading(engine) as connection:
            connection.execute(sa.text("SELECT 1"))
    except OperationalError:
        return False
    return True


def migrate(engine: Engine, form: str = "head") -> str:
    """Migrate a database to the newest or a given schema version; return the version."""
    script = ScriptDirectory(str(MIGRATIONS))
    steps = EnvironmentContext(Config(), script, fn=lambda found, _: script._upgrade_revs(form, found))  # noqa: SLF001 - as Alembic's own pages do it
    with writing(engine) as connection, steps:
        steps.configure(connection=connection)
        with steps.begin_transaction():
            steps.run_migrations()
    return newest() if form == "head" else form


def newest() -> str:
    """Return the newest schema version."""
    return str(ScriptDirectory(str(MIGRATIONS)).get_current_head())


def forms() -> list[str]:
    """Return all schema versions, oldest first."""
    return [each.revision for each in ScriptDirectory(str(MIGRATIONS)).walk_revisions()][::-1]


def require_current(engine: Engine) -> None:
    """Raise an error if the database does not have the newest schema version."""
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
