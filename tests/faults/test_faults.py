"""Every command that writes, killed and starved of disk at its own changes to the disk, and two at a time.

Afterwards its target is whole or absent, what was there before is untouched, nothing confidential lies in
temporary places, and the next run works, removes what the killed ones left, and gives the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hitoku.checks.ledger.receipt import receipts
from hitoku.checks.ledger.store import verify_store
from hitoku.checks.session import Session
from hitoku.checks.submission.releasing import release

pytestmark = pytest.mark.long

STAGE = Path(__file__).with_name("stage")
SRC = Path(__file__).resolve().parents[2] / "src"
# At how many of its changes each command is struck; FAULT_POINTS=100 for nearly all of them.
MOST_POINTS = int(os.environ.get("FAULT_POINTS", "3"))
PROTECT = [
    "protect",
    "firms.csv",
    "--by",
    "trade",
    "--by",
    "size",
    "--rule",
    "min_frequency:n=4",
    "--width",
    "4",
]
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
LEDGER = ["ledger", "init", "new.ledger", "--policy", "japan-2017", "--unit", "id", "--checkers", "1"]
RELEASE = ["check", "submission", "--ledger", "new.ledger", "--data", "people.csv", "--checker", "Ito"]
RELEASE += ["--release", "--out", "report", "--released", "gone"]
# What is there before every test.
KITCHEN = {
    "firms.csv",
    "release",
    "people.csv",
    "submission",
    "argus",
    "kept.ledger",
    "centre",
    "copy",
    "tmp",
}


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str


def run(folder: Path, words: list[str], fault: str = "", **elsewhere: str) -> Run:
    """Run a command in a folder, with a temporary place of its own; ``elsewhere`` is its environment."""
    places = {
        "TMPDIR": str(folder / "tmp"),
        "FAULT_FOLDER": str(folder),
        "FAULT_COUNT": str(folder / "count"),
        # Reports are dated.
        "SOURCE_DATE_EPOCH": "1763251200",
    }
    path = os.pathsep.join([str(STAGE), str(SRC)])
    env = {**os.environ, **places, "FAULT": fault, "PYTHONPATH": path, **elsewhere}
    if elsewhere:  # locales are read when Python starts
        command = [sys.executable, "-m", "hitoku", *words]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        return Run(done.returncode, done.stdout, done.stderr)
    told = [folder / "tmp" / name for name in ("told-out", "told-err")]
    asked = {"words": words, "folder": str(folder), "env": env, "out": str(told[0]), "err": str(told[1])}
    forks = loaded()
    forks.stdin.write(json.dumps(asked) + "\n")
    forks.stdin.flush()
    code = int(forks.stdout.readline())
    out, err = (path.read_text("utf-8") for path in told)
    for path in told:
        path.unlink()
    return Run(code, out, err)


@cache
def loaded() -> subprocess.Popen:
    """Start the process whose forks the commands are."""
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, str(STAGE / "forks.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)


@pytest.fixture(autouse=True, scope="module")
def forks():
    """End it with the tests."""
    yield
    loaded().stdin.close()
    loaded().stdout.close()
    loaded().wait()


def bytes_of(path: Path) -> dict[str, bytes] | None:
    if path.is_file():
        return {"": path.read_bytes()}
    if not path.is_dir():
        return None
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def written(name: str, kitchen: Path) -> object:
    """Give what a command wrote, as far as it is the same every time."""
    found = bytes_of(kitchen / COMMANDS[name][1])
    return set(found) if found is not None and name in DATED else found


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory) -> Path:
    """A folder with records, a release and a submission."""
    folder = tmp_path_factory.mktemp("kitchen")
    (folder / "tmp").mkdir()
    rng = np.random.default_rng(5)
    frame = {"trade": rng.choice(["mills", "inns", "farms"], 300, p=[0.6, 0.36, 0.04])}
    frame["size"] = rng.choice(["1", "2", "3"], 300, p=[0.7, 0.27, 0.03])
    pd.DataFrame(frame).to_csv(folder / "firms.csv", index=False)
    assert run(folder, [*PROTECT, "--out", "release"]).code == 0
    people = pd.DataFrame({**frame, "id": np.arange(300)})
    people.to_csv(folder / "people.csv", index=False)
    work = Session("study", str(folder / "people.csv"), unit="id")
    work.crosstab("trade", name="trades")
    work.histogram("id", [100, 200], name="ids")
    work.submit(folder / "submission")
    for words in (
        ["argus", "export", "release", "--out", "argus"],
        ["ledger", "init", "kept.ledger", *LEDGER[3:]],
        [*RELEASE[:3], "kept.ledger", *RELEASE[4:]],
        ["serve", "init", "centre", "--http"],
        ["serve", "backup", "centre", "copy"],
    ):
        done = run(folder, words)
        assert done.code == 0, done.err
    return folder


def points(n_changes: int) -> list[int]:
    """Give the first change, the last one, and some between."""
    return sorted(set(np.linspace(1, n_changes, MOST_POINTS).astype(int).tolist()))


def names(folder: Path) -> set[str]:
    """Name what lies in the folder, and beside the batch."""
    found = [*folder.iterdir(), *(folder / "argus").iterdir()]
    return {str(path.relative_to(folder)) for path in found} - {"count", "tmp"}


def remove(path: Path) -> None:
    for inner in sorted(path.rglob("*"), reverse=True) if path.is_dir() else ():
        inner.unlink() if inner.is_file() else inner.rmdir()
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def swept(kitchen):
    """Begin every test with the same folder, whatever the one before left."""
    for path in [
        *kitchen.iterdir(),
        *(kitchen / "tmp").iterdir(),
        *(kitchen / "argus").glob("*release.csv*"),
    ]:
        if path.name not in KITCHEN:
            remove(path)


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
def test_a_killed_command_leaves_all_or_nothing_and_the_next_cleans_up(name, kitchen, clean):
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
    # Records that were made up may lie there; others never do.
    assert name == "demo" or list((kitchen / "tmp").iterdir()) == []
    remove(kitchen / target)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_an_error_that_says_so_and_leaves_nothing(name, kitchen, clean):
    whole, n_changes = clean(name)
    words, target = COMMANDS[name]
    before = names(kitchen)
    for point in points(n_changes):
        done = run(kitchen, words, f"full:{point}")
        assert done.code == 2, (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert "No space left" in done.err or "full" in done.err
        assert names(kitchen) - before <= {target}
        assert written(name, kitchen) in (None, whole)
        remove(kitchen / target)
    assert name == "demo" or list((kitchen / "tmp").iterdir()) == []


@pytest.mark.parametrize("fault", ["read-only", "denied"])
@pytest.mark.parametrize("name", COMMANDS)
def test_where_nothing_may_be_written_it_says_so_and_leaves_nothing(name, fault, kitchen, clean):
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


# A locale without UTF-8 and a clock that was set back; other letters at the other end of the day.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ELSEWHERE = {
    "an old machine": {**ASCII, "FAULT_CLOCK": "-315360000", "TZ": "Pacific/Pago_Pago"},
    "another language": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
}


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize("name", COMMANDS)
def test_elsewhere_the_same_bytes_are_written(name, place, kitchen, clean):
    whole, _ = clean(name)
    words, target = COMMANDS[name]
    done = run(kitchen, words, **ELSEWHERE[place])
    assert done.code in (0, 1), done.err
    assert written(name, kitchen) == whole
    remove(kitchen / target)


@pytest.mark.parametrize("name", READING)
def test_what_only_reads_works_where_nothing_may_be_written(name, kitchen):
    before = names(kitchen)
    done = run(kitchen, READING[name])
    refused = run(kitchen, READING[name], "read-only:1")
    assert (refused.code, refused.out) == (done.code, done.out), refused.err
    assert done.code in (0, 1), done.err
    assert names(kitchen) == before
    assert list((kitchen / "tmp").iterdir()) == []


def test_a_release_after_the_clock_was_set_back_is_remembered_like_any_other(kitchen):
    assert run(kitchen, LEDGER).code == 0
    long_ago = datetime(2016, 2, 29, 12, tzinfo=UTC)
    asked = {"ledger": kitchen / "new.ledger", "data": kitchen / "people.csv", "checkers": ["Ito"]}
    first = release(kitchen / "submission", **asked, out=kitchen / "gone", now=long_ago)
    assert first.receipt.released.startswith("2016-02-29")
    assert release(kitchen / "submission", **asked, out=kitchen / "gone").again
    verify_store(kitchen / "new.ledger")
    assert [each.number for each in receipts(kitchen / "new.ledger")] == [1]


@pytest.mark.parametrize("name", COMMANDS)
def test_two_at_once_write_one_whole_target(name, kitchen, clean):
    whole, _ = clean(name)
    words, target = COMMANDS[name]
    command = [sys.executable, "-m", "hitoku", *words]
    own = {"TMPDIR": str(kitchen / "tmp"), "SOURCE_DATE_EPOCH": "1763251200"}
    env = {**os.environ, "PYTHONPATH": str(SRC), **own}
    both = [
        subprocess.Popen(
            command, cwd=kitchen, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    told = [process.communicate()[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes[0] in (0, 1), told
    assert all("Traceback" not in err for err in told)
    assert written(name, kitchen) == whole
    remove(kitchen / target)


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_an_earlier_report_is_there_until_the_new_one_is(fault, kitchen, clean):
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
def test_a_ledger_is_begun_whole_or_not_at_all(fault, kitchen):
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
def test_an_old_ledger_is_turned_into_a_new_one_or_stays(fault, kitchen):
    old = Path(__file__).parents[1] / "checks" / "ledger" / "version_2"
    words = ["ledger", "migrate", "v/x.ledger"]

    def begin():
        remove(kitchen / "v")
        shutil.copytree(old, kitchen / "v")

    begin()
    assert run(kitchen, words, "count").code == 0
    n_changes = int((kitchen / "count").read_text("utf-8"))
    before = (old / "x.ledger").read_bytes()
    for point in points(n_changes):
        begin()
        done = run(kitchen, words, f"{fault}:{point}")
        assert done.code == (-signal.SIGKILL if fault == "kill" else 2), (point, done.err)
        assert "Traceback" not in done.err
        if (kitchen / "v" / "x.ledger").read_bytes() != before:
            assert (kitchen / "v" / "x.ledger.v2").read_bytes() == before
        assert run(kitchen, words).code == 0
        assert run(kitchen, ["ledger", "verify", "v/x.ledger"]).code == 0
        left = {path.name for path in (kitchen / "v").iterdir()} - {path.name for path in old.iterdir()}
        assert left == {"x.ledger.v2"}


@pytest.mark.parametrize("fault", ["kill", "full"])
def test_a_release_leaves_once_whatever_happens(fault, kitchen):
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


def test_two_releases_at_once_leave_once(kitchen):
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
