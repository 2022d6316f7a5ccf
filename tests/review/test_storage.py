from __future__ import annotations

import shutil
import threading

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from hitoku.errors import DataError, ParameterError
from hitoku.review import (
    add_person,
    create_folder,
    log,
    metadata,
    migrate,
    newest,
    open_database,
    reading,
    require_current,
    versions,
    writing,
)


def test_migrations_create_the_declared_tables(context):
    with context.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migration_is_idempotent(context):
    assert migrate(context.engine) == newest()
    require_current(context.engine)


def test_empty_or_unreachable_database_raises_with_fix(tmp_path):
    with pytest.raises(DataError, match="empty") as empty:
        require_current(open_database(f"sqlite:///{tmp_path / 'none.sqlite'}"))
    assert "hitoku serve init" in empty.value.fix
    with pytest.raises(DataError, match="does not answer"):
        require_current(open_database(f"sqlite:///{tmp_path / 'no' / 'folder.sqlite'}"))


@pytest.mark.parametrize("verb", ["UPDATE log SET who = 'x'", "DELETE FROM log"])
def test_database_rejects_changes_to_the_log(context, verb):
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), writing(context.engine) as connection:
        connection.execute(sa.text(verb))


def test_postgresql_refuses_to_truncate_the_log(context):
    if context.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no TRUNCATE")
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), writing(context.engine) as connection:
        connection.execute(sa.text("TRUNCATE log"))


def test_writers_are_serialised(context):
    """Each reads the head and writes the next entry: without the lock first, two would be the same."""

    def write():
        for _ in range(5):
            with writing(context.engine) as connection:
                log.append(connection, "x", "tick")

    threads = [threading.Thread(target=write) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with reading(context.engine) as connection:
        found = list(log.entries(connection))
    assert sum(entry["event"] == "tick" for entry in found) == 30
    assert log.faults(found) == []


def test_failed_transaction_is_rolled_back(context):
    def fails():
        with writing(context.engine) as connection:
            log.append(connection, "x", "tick")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    with reading(context.engine) as connection:
        assert all(entry["event"] != "tick" for entry in log.entries(connection))


def test_setup_is_repeated_after_killed_run(tmp_path):
    """Its commit may outlive the folder; a database with people in it is somebody's."""
    elsewhere = {"database": f"sqlite:///{tmp_path / 'elsewhere.db'}"}
    first = create_folder(tmp_path / "killed", **elsewhere)
    with first.engine.connect() as connection:
        begun = [row.text for row in versions(connection)]
    first.engine.dispose()
    shutil.rmtree(tmp_path / "killed")
    context = create_folder(tmp_path / "again", **elsewhere)
    with context.engine.connect() as connection:
        assert [row.text for row in versions(connection)] == begun
    with writing(context.engine) as connection:
        add_person(connection, "yui", "Yui Tanaka", ["checker"], None, by="test")
    context.engine.dispose()
    with pytest.raises(ParameterError, match="in use by another application"):
        create_folder(tmp_path / "second", **elsewhere)
    assert not (tmp_path / "second").exists()
