from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from hitoku.errors import DataError, OutputError
from hitoku.files import sha256
from hitoku.review import Context, back_up, metadata, reading, restore, verify_log, writing

MOMENT = "2026-11-16T10:00:00Z"


def content(context):
    with reading(context.engine) as connection:
        return {
            table.name: sorted(map(str, connection.execute(sa.select(table)).all()))
            for table in metadata.sorted_tables
            if table.name not in {"session", "attempt"}
        }


@pytest.fixture
def worked(centre):
    number = centre.submit()
    centre.vote(number, "yui", ["approve"] * 3)
    return centre


def test_restored_backup_is_complete_and_usable(worked, tmp_path):
    kept = back_up(worked.context, tmp_path / "backup")
    assert kept.entries > 10
    restore(tmp_path / "backup", tmp_path / "again")
    again = Context.open(tmp_path / "again")
    assert content(again) == content(worked.context)
    assert verify_log(again.engine)[1] == []
    assert (again.submitted(1) / "manifest.json").read_bytes() == (
        worked.context.submitted(1) / "manifest.json"
    ).read_bytes()
    # Work goes on: new rows get new numbers, and the log its next entry.
    with writing(again.engine) as connection:
        connection.execute(sa.text("INSERT INTO attempt (login, address, at) VALUES ('x', 'y', 'z')"))


def test_modified_backup_raises(worked, tmp_path):
    back_up(worked.context, tmp_path / "backup")
    (tmp_path / "backup" / "submissions" / "000001" / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(DataError, match="was changed"):
        restore(tmp_path / "backup", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_backup_does_not_overwrite_files(worked, tmp_path):
    back_up(worked.context, tmp_path / "backup")
    with pytest.raises(OutputError):
        back_up(worked.context, tmp_path / "backup")
    with pytest.raises(OutputError):
        restore(tmp_path / "backup", worked.context.folder)


def changed_backup(worked, folder, change):
    """Back up, change what is in the tables, and write the hash of the result."""
    back_up(worked.context, folder)
    tables, hashes = folder / "tables.json", folder / "sha256.json"
    tables.write_text(json.dumps(change(json.loads(tables.read_text("utf-8")))), "utf-8")
    hashes.write_text(json.dumps({**json.loads(hashes.read_text("utf-8")), "tables.json": sha256(tables)}))
    return folder


def test_backup_with_unlogged_decision_raises(worked, tmp_path):
    row = {"output": 1, "person": 6, "choice": "approve", "reason": "r", "facts": "{}", "decided": MOMENT}

    def change(whole):
        whole["tables"]["decision"].append({**row, "cells": "[]", "expires": None})
        return whole

    with pytest.raises(DataError, match="decisions are not those of the log"):
        restore(changed_backup(worked, tmp_path / "backup", change), tmp_path / "again")
    assert not (tmp_path / "again").exists(), "half of an application"


def test_backup_of_unknown_format_raises(worked, tmp_path):
    backup = changed_backup(worked, tmp_path / "backup", lambda whole: {**whole, "form": "9999"})
    with pytest.raises(DataError, match="form 9999"):
        restore(backup, tmp_path / "again")
    assert not (tmp_path / "again").exists()
