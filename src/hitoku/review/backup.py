"""Backup of a running application, and its restoration.

The database is read in one transaction, table by table, so that a backup can be restored to SQLite or
PostgreSQL. Files are written once, before the database refers to them, and never changed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from hitoku.errors import DataError
from hitoku.files import new_folder, refuse_occupied, sha256, write_file
from hitoku.review.context import FILE, Context
from hitoku.review.intake import files_in
from hitoku.review.log import verify_log
from hitoku.review.storage import forms, migrate, newest, reading, writable, writing
from hitoku.review.tables import metadata

FOLDERS = ("submissions", "checks", "released", "ledgers", "policies", "dry-runs")
# Sessions and failed sign-ins are temporary.
LEFT_OUT = {"session", "attempt"}
TABLES, HASHES = "tables.json", "sha256.json"


class Kept(NamedTuple):
    """Number of log entries and files in a backup."""

    entries: int
    files: int


def back_up(context: Context, out: Path) -> Kept:
    """Write a backup atomically."""
    with new_folder(out) as draft:
        with reading(context.engine) as connection:
            content = {
                table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
                for table in metadata.sorted_tables
                if table.name not in LEFT_OUT
            }
        (draft / TABLES).write_text(json.dumps({"form": newest(), "tables": content}), "utf-8")
        shutil.copy2(context.folder / FILE, draft / FILE)
        for name in FOLDERS:
            if (context.folder / name).is_dir():
                shutil.copytree(context.folder / name, draft / name, symlinks=True)
        hashes = {str(path.relative_to(draft)): sha256(path) for path in files_in(draft)}
        (draft / HASHES).write_text(json.dumps(hashes, indent=1), "utf-8")
    return Kept(len(content["log"]), len(hashes))


def restore(source: Path, folder: Path, database: str = "") -> Kept:
    """Restore an application from a backup.

    Raises DataError if the backup was modified or its log is not intact.
    """
    refuse_occupied(folder)
    hashes = json.loads((source / HASHES).read_text("utf-8"))
    for name, digest in hashes.items():
        if not (source / name).is_file() or sha256(source / name) != digest:
            raise DataError(
                "backup_changed",
                "the backup was changed: {file}",
                where=str(source),
                fix="use another backup",
                file=name,
            )
    whole = json.loads((source / TABLES).read_text("utf-8"))
    if whole["form"] not in forms():
        raise DataError(
            "backup_form_unknown",
            "the backup has form {form}, this version knows forms up to {newest}",
            where=str(source),
            fix="restore it with the version that wrote it",
            form=whole["form"],
            newest=newest(),
        )
    with new_folder(folder) as draft:
        entries = _fill_folder(draft, source, whole, database)
    return Kept(entries, len(hashes))


def _fill_folder(folder: Path, source: Path, whole: dict[str, Any], database: str) -> int:
    """Fill the folder of a restored application; return the number of log entries."""
    for name in FOLDERS:
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name, symlinks=True)
    for name in ("quarantine", "inbox"):
        (folder / name).mkdir()
    _settings(source, folder, database)
    context = Context.open(folder)
    with writable(context.engine):
        _fill_tables(context, whole)
    entries, wrong = verify_log(context.engine)
    context.engine.dispose()  # close the file before the folder is renamed
    if wrong:
        raise DataError(
            "log_not_whole",
            "the restored log is not whole: {problem}",
            where=str(source),
            fix="use another backup",
            problem=wrong[0],
        )
    return entries


def _fill_tables(context: Context, whole: dict[str, Any]) -> None:
    """Insert rows into tables of the backup's schema version; migrations follow."""
    migrate(context.engine, whole["form"])
    then = sa.MetaData()
    then.reflect(context.engine)
    with writing(context.engine) as connection:
        for table in then.sorted_tables:
            rows = whole["tables"].get(table.name, [])
            if rows:
                connection.execute(sa.insert(table), rows)
                _continue_numbers(connection, table)
    migrate(context.engine)


def _settings(source: Path, folder: Path, database: str) -> None:
    lines = (source / FILE).read_text("utf-8").splitlines()
    own = [line for line in lines if not line.startswith("database")]
    first = [f'database = "{database}"'] if database else []
    write_file(folder / FILE, "\n".join([*first, *own, ""]).encode(), private=True)


def _continue_numbers(connection: sa.Connection, table: sa.Table) -> None:
    """Set PostgreSQL sequences to the last row; SQLite needs no such step."""
    if connection.dialect.name != "postgresql" or "id" not in table.c:
        return
    last = connection.scalar(sa.select(sa.func.max(table.c.id)))
    connection.execute(sa.select(sa.func.setval(sa.func.pg_get_serial_sequence(table.name, "id"), last)))
