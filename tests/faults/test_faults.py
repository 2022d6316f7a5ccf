"""Every command that writes, killed and starved of disk at its own changes to the disk, and two at a time.

Afterwards its target is whole or absent, what was there before is untouched, nothing confidential lies in
temporary places, and the next run works, removes what the killed ones left, and gives the same bytes.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.faults.kitchen import (
    ELSEWHERE,
    KITCHEN,
    LEDGER,
    PROTECT,
    RELEASE,
    SRC,
    bytes_of,
    names,
    points,
    remove,
    run,
    two_at_once,
)

from hitoku.checks.ledger import receipts, verify_store
from hitoku.checks.submission import release

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("swept")]

# By name: the words of the command, and what it writes.
COMMANDS = {
    "protect": ([*PROTECT, "--out", "new"], "new"),
    "init": (["init", "firms.csv", "--out", "new.toml"], "new.toml"),
    "convert": (["convert", "release", "--to", "xlsx", "--out", "new.xlsx"], "new.xlsx"),
    "argus export": (["argus", "export", "release", "--out", "new"], "new"),
    "demo": (["demo", "--records", "800", "--by", "region", "--by", "size", "--out", "new"], "new"),
    "check": (["check", "submission", "--out", "new"], "new"),
    "audit": (["audit", "release", "--certificate", "new.json"], "new.json"),
    "risk": (["risk", "release", "--data", "firms.csv", "--out", "new.csv"], "new.csv"),
    "argus run": (["argus", "run", "argus/release.arb"], "argus/release.csv"),
    "ledger receipt": (["ledger", "receipt", "kept.ledger", "1", "--out", "new"], "new"),
    "serve init": (["serve", "init", "new", "--http"], "new"),
    "serve backup": (["serve", "backup", "centre", "new"], "new"),
    "serve restore": (["serve", "restore", "copy", "new"], "new"),
}
# Of these the moment is in every file: the names are the same, the bytes are not.
DATED = {"serve init", "serve backup", "serve restore"}
# What this one writes is for the owner's group, once it is whole.
SHARED = {"ledger receipt"}
# Of these everything is printed and nothing written.
READING = {
    "attack": ["attack", "release"],
    "audit": ["audit", "release"],
    "verify": ["verify", "release"],
    "ledger show": ["ledger", "show", "kept.ledger"],
    "ledger verify": ["ledger", "verify", "kept.ledger"],
    "serve verify-log": ["serve", "verify-log", "centre"],
}


def written(name: str, kitchen: Path) -> object:
    """Give what a command wrote, as far as it is the same every time."""
    found = bytes_of(kitchen / COMMANDS[name][1])
    return set(found) if found is not None and name in DATED else found


@pytest.fixture(scope="module")
def clean(kitchen):
    """By command: what it writes when nothing goes wrong, and how many changes that takes."""
    known: dict[str, tuple[object, int]] = {}

    def get(name: str) -> tuple[object, int]:
        if name not in known:
            words, target = COMMANDS[name]
            done = run(kitchen, words, "count")
            assert done.code in (0, 1), done.err
            whole = written(name, kitchen)
            assert whole
            n_changes = int((kitchen / "count").read_text("utf-8"))
            assert n_changes > 1, "the stage saw no change to the disk"
            remove(kitchen / target)
            known[name] = whole, n_changes
        return known[name]

    return get


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_command_leaves_all_or_nothing(name, kitchen, clean):
    whole, n_changes = clean(name)
    words, target = COMMANDS[name]
    before = names(kitchen)
    for point in points(n_changes):
        assert run(kitchen, words, f"kill:{point}").code == -signal.SIGKILL
        assert written(name, kitchen) in (None, whole), f"half-written at change {point}"
        for left in names(kitchen) - before - {target}:
            assert Path(left).name.startswith("."), left
            others = 0o007 if name in SHARED else 0o077
            assert stat.S_IMODE((kitchen / left).stat().st_mode) & others == 0, (
                f"{left} can be read by others"
            )
        remove(kitchen / target)
    done = run(kitchen, words)
    assert done.code in (0, 1), done.err
    assert written(name, kitchen) == whole
    assert names(kitchen) - before - {target} == set(), "what killed runs left is still there"
    assert list((kitchen / "tmp").iterdir()) == []
    remove(kitchen / target)


@pytest.mark.parametrize("name", COMMANDS)
def test_full_disk_is_reported_and_leaves_nothing(name, kitchen, clean):
    whole, n_changes = clean(name)
    words, target = COMMANDS[name]
    before = names(kitchen)
    for point in points(n_changes):
        done = run(kitchen, words, f"full:{point}")
        assert done.code == 2, (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert any(word in done.err for word in ("No space left", "full", "free disk space"))
        assert names(kitchen) - before <= {target}
        assert written(name, kitchen) in (None, whole)
        remove(kitchen / target)
    assert list((kitchen / "tmp").iterdir()) == []


@pytest.mark.parametrize("fault", ["read-only", "denied"])
@pytest.mark.parametrize("name", COMMANDS)
def test_read_only_folder_is_reported_and_leaves_nothing(name, fault, kitchen, clean):
    whole, n_changes = clean(name)
    words, target = COMMANDS[name]
    before = names(kitchen)
    for point in {n_changes // 2} if fault == "denied" else {n_changes}:
        done = run(kitchen, words, f"{fault}:{point}")
        assert done.code == 2, (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert names(kitchen) - before <= {target}
        assert written(name, kitchen) in (None, whole)
        remove(kitchen / target)


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize("name", COMMANDS)
def test_other_environment_gives_same_bytes(name, place, kitchen, clean):
    whole, _ = clean(name)
    words, target = COMMANDS[name]
    done = run(kitchen, words, **ELSEWHERE[place])
    assert done.code in (0, 1), done.err
    assert written(name, kitchen) == whole
    remove(kitchen / target)


@pytest.mark.parametrize("name", READING)
def test_reading_commands_work_in_read_only_folder(name, kitchen):
    before = names(kitchen)
    done = run(kitchen, READING[name])
    refused = run(kitchen, READING[name], "read-only:1")
    assert (refused.code, refused.out) == (done.code, done.out), refused.err
    assert done.code in (0, 1), done.err
    assert names(kitchen) == before
    assert list((kitchen / "tmp").iterdir()) == []


def test_release_after_clock_change_is_remembered(kitchen):
    assert run(kitchen, LEDGER).code == 0
    long_ago = datetime(2016, 2, 29, 12, tzinfo=UTC)
    asked = {"ledger": kitchen / "new.ledger", "data": kitchen / "people.csv", "checkers": ["Ito"]}
    first = release(kitchen / "submission", **asked, out=kitchen / "gone", now=long_ago)
    assert first.receipt.released.startswith("2016-02-29")
    assert release(kitchen / "submission", **asked, out=kitchen / "gone").again
    verify_store(kitchen / "new.ledger")
    assert [each.number for each in receipts(kitchen / "new.ledger")] == [1]


@pytest.mark.parametrize("name", COMMANDS)
def test_concurrent_runs_write_one_complete_target(name, kitchen, clean):
    whole, _ = clean(name)
    words, target = COMMANDS[name]
    done = two_at_once(kitchen, words)
    assert min(each.code for each in done) in (0, 1), done
    assert all("Traceback" not in each.err for each in done)
    assert written(name, kitchen) == whole
    remove(kitchen / target)


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_earlier_report_stays_until_replaced(fault, kitchen, clean):
    whole, n_changes = clean("check")
    words, target = COMMANDS["check"]
    before = names(kitchen)
    for point in points(n_changes):
        assert run(kitchen, words).code == 0
        done = run(kitchen, words, f"{fault}:{point}")
        assert done.code == (-signal.SIGKILL if fault == "kill" else 2), done.err
        # Between taking the old one away and naming the new one there is a moment without.
        assert bytes_of(kitchen / target) in (None, whole)
    assert run(kitchen, words).code == 0
    assert bytes_of(kitchen / target) == whole
    assert names(kitchen) == {*before, target}


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_ledger_is_created_completely_or_not(fault, kitchen):
    assert run(kitchen, LEDGER, "count").code == 0
    n_changes = int((kitchen / "count").read_text("utf-8"))
    for point in points(n_changes):
        remove(kitchen / "new.ledger")
        done = run(kitchen, LEDGER, f"{fault}:{point}")
        assert done.code == (-signal.SIGKILL if fault == "kill" else 2), done.err
        assert "Traceback" not in done.err
        if (kitchen / "new.ledger").exists():
            assert run(kitchen, ["ledger", "verify", "new.ledger"]).code == 0
    remove(kitchen / "new.ledger")
    assert run(kitchen, LEDGER).code == 0
    assert {path.name for path in kitchen.iterdir()} <= {*KITCHEN, "new.ledger", "count"}


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_interrupted_release_happens_exactly_once(fault, kitchen):
    assert run(kitchen, LEDGER).code == 0
    begun = (kitchen / "new.ledger").read_bytes()
    assert run(kitchen, RELEASE, "count").code == 0
    n_changes = int((kitchen / "count").read_text("utf-8"))
    left = set(bytes_of(kitchen / "gone"))
    for point in points(n_changes):
        for name in ("gone", "report", "new.ledger"):
            remove(kitchen / name)
        (kitchen / "new.ledger").write_bytes(begun)
        done = run(kitchen, RELEASE, f"{fault}:{point}")
        assert done.code == (-signal.SIGKILL if fault == "kill" else 2), (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert set(bytes_of(kitchen / "gone") or left) == left, "half of what leaves"
        assert run(kitchen, RELEASE).code == 0
        assert set(bytes_of(kitchen / "gone")) == left
        assert run(kitchen, ["ledger", "verify", "new.ledger"]).code == 0
        assert run(kitchen, ["ledger", "show", "new.ledger"]).out.count("; by Ito") == 1
    assert {path.name for path in kitchen.iterdir()} <= {*KITCHEN, "new.ledger", "gone", "report", "count"}
    assert list((kitchen / "tmp").iterdir()) == []


def test_concurrent_releases_happen_once(kitchen):
    assert run(kitchen, LEDGER).code == 0
    env = {**os.environ, "PYTHONPATH": str(SRC), "TMPDIR": str(kitchen / "tmp")}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "hitoku", *RELEASE[:-4], "--out", f"report{k}", "--released", f"gone{k}"],
            cwd=kitchen,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for k in range(2)
    ]
    told = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    assert sorted("released before, receipt" in out for out, _ in told) == [False, True]
    assert run(kitchen, ["ledger", "show", "new.ledger"]).out.count("; by Ito") == 1
    assert run(kitchen, ["ledger", "verify", "new.ledger"]).code == 0
