"""Commands that change the database of the review application, killed and starved of disk at every statement.

Afterwards the change is there or it is not, the log is whole, and the next run works or says that it is done.
"""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.faults.kitchen import ELSEWHERE, points, remove, run, two_at_once

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("swept")]

WORD = "word.txt"
PROJECT = ["wages", "--data", "people.csv", "--unit", "id", "--ledger", "kept.ledger", "--member", "ren"]
# By name: the words of the command; the office is a copy of the centre in which ren works.
DATABASE = {
    "serve add-user": ["serve", "add-user", "office", "yui", "--role", "checker", "--password-file", WORD],
    "serve set-password": ["serve", "set-password", "office", "ren", "--password-file", WORD],
    "serve unlock": ["serve", "unlock", "office", "ren"],
    "serve add-project": ["serve", "add-project", "office", *PROJECT],
    "serve migrate": ["serve", "migrate", "office"],
}
# What is there already is not added once more.
ONCE = {"serve add-user", "serve add-project"}
# Doing these again is another line of the log.
LOGGED = {"serve set-password", "serve unlock"}


@pytest.fixture
def begin(kitchen) -> Callable[[str], dict[str, int]]:
    """Make the office anew, for a command; its state is returned."""
    (kitchen / WORD).write_text("a password of some length\n", "utf-8")
    (kitchen / "kept").mkdir()
    shutil.copytree(kitchen / "centre", kitchen / "kept" / "now")
    add = ["serve", "add-user", "kept/now", "ren", "--role", "researcher", "--password-file", WORD]
    assert run(kitchen, add).code == 0
    shutil.copytree(kitchen / "centre", kitchen / "kept" / "old")
    for path in (kitchen / "kept" / "old").glob("review.sqlite*"):
        path.unlink()
    sqlite3.connect(kitchen / "kept" / "old" / "review.sqlite").close()

    def make(name: str) -> dict[str, int]:
        remove(kitchen / "office")
        kind = "old" if name == "serve migrate" else "now"
        shutil.copytree(kitchen / "kept" / kind, kitchen / "office")
        return state(kitchen)

    return make


def state(kitchen: Path) -> dict[str, object]:
    """Count what is in every table of the office; the last step of its form, where it has one."""
    with closing(sqlite3.connect(kitchen / "office" / "review.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        counted = {
            name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - its own names
            for (name,) in tables
        }
        empty = "alembic_version" not in counted
        form = [] if empty else database.execute("SELECT version_num FROM alembic_version").fetchall()
        return counted | {"form": form}


@pytest.fixture
def whole(kitchen, begin) -> Callable[[str], tuple[dict[str, int], int]]:
    """By command: what it comes to when nothing goes wrong, and by how many changes."""

    def get(name: str) -> tuple[dict[str, int], int]:
        before = begin(name)
        done = run(kitchen, DATABASE[name], "count")
        assert done.code == 0, done.err
        n_changes = int((kitchen / "count").read_text("utf-8"))
        assert n_changes > 2, "the stage saw no statement"
        after = state(kitchen)
        assert after != before
        return after, n_changes

    return get


def again(kitchen: Path, name: str, after: dict[str, int]) -> None:
    """Run it once more; the change is there in the end, once, and the log is whole."""
    was_done = state(kitchen) == after
    done = run(kitchen, DATABASE[name])
    if was_done and name in ONCE:
        assert done.code == 2
        assert "already" in done.err
    else:
        assert done.code == 0, done.err
    if not was_done or name not in LOGGED:
        assert state(kitchen) == after
    verified = run(kitchen, ["serve", "verify-log", "office"])
    assert verified.code == 0, verified.out


@pytest.mark.parametrize("fault", ["kill", "full", "read-only", "denied"])
@pytest.mark.parametrize("name", DATABASE)
def test_killed_transaction_is_complete_or_absent(name, fault, kitchen, begin, whole):
    after, n_changes = whole(name)
    # What comes last is the moment at which the change counts.
    for point in {*points(n_changes), n_changes - 1}:
        before = begin(name)
        done = run(kitchen, DATABASE[name], f"{fault}:{point}")
        assert done.code == (-signal.SIGKILL if fault == "kill" else 2), (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert fault == "kill" or "cannot write the database" in done.err
        assert state(kitchen) in (before, after)
        assert fault == "kill" or state(kitchen) == before, "refused, and there nevertheless"
        again(kitchen, name, after)
    assert list((kitchen / "tmp").iterdir()) == []


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize("name", DATABASE)
def test_other_environment_gives_same_database(name, place, kitchen, begin, whole):
    after, _ = whole(name)
    begin(name)
    done = run(kitchen, DATABASE[name], **ELSEWHERE[place])
    assert done.code == 0, done.err
    assert state(kitchen) == after


@pytest.mark.parametrize("name", DATABASE)
def test_concurrent_changes_happen_once(name, kitchen, begin, whole):
    after, _ = whole(name)
    begin(name)
    done = two_at_once(kitchen, DATABASE[name])
    assert sorted(each.code for each in done) == [0, 2 if name in ONCE else 0], done
    assert all("Traceback" not in each.err for each in done)
    if name not in LOGGED:
        assert state(kitchen) == after
    assert run(kitchen, ["serve", "verify-log", "office"]).code == 0
