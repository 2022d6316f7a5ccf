from __future__ import annotations

import pytest
import sqlalchemy as sa

from hitoku.errors import DataError, OutputError
from hitoku.review.backup import back_up, restored
from hitoku.review.desk import Desk
from hitoku.review.storage import reading, writing
from hitoku.review.tables import metadata
from hitoku.review.verifying import verified


def content(desk):
    with reading(desk.engine) as connection:
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


def test_a_backup_is_everything_and_can_be_worked_with(worked, tmp_path):
    kept = back_up(worked.desk, tmp_path / "backup")
    assert kept.entries > 10
    restored(tmp_path / "backup", tmp_path / "again")
    again = Desk.open(tmp_path / "again")
    assert content(again) == content(worked.desk)
    assert verified(again)[1] == []
    assert (again.submitted(1) / "manifest.json").read_bytes() == (
        worked.desk.submitted(1) / "manifest.json"
    ).read_bytes()
    # Work goes on: new rows get new numbers, and the log its next entry.
    with writing(again.engine) as connection:
        connection.execute(sa.text("INSERT INTO attempt (login, address, at) VALUES ('x', 'y', 'z')"))


def test_a_backup_that_was_changed_is_refused(worked, tmp_path):
    back_up(worked.desk, tmp_path / "backup")
    (tmp_path / "backup" / "submissions" / "000001" / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(DataError, match="was changed"):
        restored(tmp_path / "backup", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_nothing_is_written_over(worked, tmp_path):
    back_up(worked.desk, tmp_path / "backup")
    with pytest.raises(OutputError):
        back_up(worked.desk, tmp_path / "backup")
    with pytest.raises(OutputError):
        restored(tmp_path / "backup", worked.desk.folder)
