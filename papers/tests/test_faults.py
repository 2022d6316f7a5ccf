"""Reproductions of papers, killed and starved of disk while they write: answers and pages, file by file.

Whatever is there is whole, and the next run goes on with it and comes to the same bytes.
"""

from __future__ import annotations

import re
import shutil
import signal
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.faults.kitchen import ELSEWHERE, bytes_of, names, points, remove, run, two_at_once

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("swept"),
    pytest.mark.skipif(
        "reproduce" not in entry_points(group="hitoku.commands").names,
        reason="hitoku-papers is not installed: make setup",
    ),
]

TABLE = ["--instances", "release/checker/table.jj.gz", "--replications", "1", "--jobs", "1"]
SMALL = ["--tables", "2", "--side", "3", "--jobs", "1"]
# By name: the words of the command, but for the folder.
PAGES = {
    "reproduce castro-2012": ["reproduce", "castro-2012", *TABLE],
    "reproduce kikuchi-minami-2017": ["reproduce", "kikuchi-minami-2017"],
    "reproduce lupp-langsrud-2021": ["reproduce", "lupp-langsrud-2021"],
    "reproduce minami-abe-2019": ["reproduce", "minami-abe-2019", *SMALL, "--variants", "0"],
    "reproduce overview": ["reproduce", "overview", *TABLE, *SMALL],
}
OUT = ["--out", "new"]
# These tell how many seconds something took: all but their numbers is the same every time.
TIMED = {"reproduce castro-2012", "reproduce minami-abe-2019", "reproduce overview"}


def written(name: str, kitchen: Path) -> dict[str, bytes]:
    """Give what a command wrote, as far as it is the same every time; drafts of killed runs are hidden."""
    every = bytes_of(kitchen / "new") or {}
    found = {path: content for path, content in every.items() if ".draft/" not in path}
    if name in TIMED:
        number = re.compile(rb"\d+(\.\d+)?(e-?\d+)?")
        found = {
            path: content if path.endswith(".png") else number.sub(b"0", content)
            for path, content in found.items()
        }
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> Path:
    """Where answers are kept for runs that are struck while they write their pages."""
    return tmp_path_factory.mktemp("answers")


@pytest.fixture(scope="module")
def clean(kitchen, answers):
    """By command: what it writes when nothing goes wrong, and how many changes that takes."""
    known: dict[str, tuple[dict[str, bytes], int]] = {}

    def get(name: str) -> tuple[dict[str, bytes], int]:
        if name not in known:
            done = run(kitchen, [*PAGES[name], *OUT], "count")
            assert done.code == 0, done.err
            known[name] = written(name, kitchen), int((kitchen / "count").read_text("utf-8"))
            if (kitchen / "new" / "answers").is_dir():
                shutil.copytree(kitchen / "new" / "answers", answers / name)
            remove(kitchen / "new")
        return known[name]

    return get


@pytest.fixture
def answered(kitchen, answers):
    """Put answers there that an earlier run had."""

    def begin(name: str) -> None:
        remove(kitchen / "new")
        if (answers / name).is_dir():
            shutil.copytree(answers / name, kitchen / "new" / "answers")

    return begin


@pytest.mark.parametrize("name", PAGES)
def test_killed_run_is_resumed_from_complete_files(name, kitchen, clean, answered):
    whole, n_changes = clean(name)
    before = names(kitchen)
    # Its answers are those of the others: it is struck at its page, between the two files of which that is.
    has_answers = name == "reproduce overview"
    for point in (1, 4) if has_answers else points(n_changes):
        if has_answers:
            answered(name)
        assert run(kitchen, [*PAGES[name], *OUT], f"kill:{point}").code == -signal.SIGKILL
        assert written(name, kitchen).items() <= whole.items(), f"half-written at change {point}"
        done = run(kitchen, [*PAGES[name], *OUT])
        assert done.code == 0, done.err
        assert written(name, kitchen) == whole
        assert not [path for path in bytes_of(kitchen / "new") if ".draft/" in path]
        assert names(kitchen) == {*before, "new"}
        remove(kitchen / "new")
    assert list((kitchen / "tmp").iterdir()) == []


@pytest.mark.parametrize("fault", ["full", "read-only", "denied"])
@pytest.mark.parametrize("name", PAGES)
def test_where_nothing_can_be_written_it_says_so(name, fault, kitchen, clean, answered):
    whole, _ = clean(name)
    for point in (1, 2) if fault == "full" else (1,):
        answered(name)
        done = run(kitchen, [*PAGES[name], *OUT], f"{fault}:{point}")
        assert done.code == 2, (point, done.out, done.err)
        assert "Traceback" not in done.err
        assert fault != "full" or "the disk is full" in done.err
        assert written(name, kitchen).items() <= whole.items(), f"half-written at change {point}"
    assert list((kitchen / "tmp").iterdir()) == []


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize("name", PAGES)
def test_elsewhere_the_same_bytes_are_written(name, place, kitchen, clean, answered):
    whole, _ = clean(name)
    answered(name)
    done = run(kitchen, [*PAGES[name], *OUT], **ELSEWHERE[place])
    assert done.code == 0, done.err
    assert written(name, kitchen) == whole


@pytest.mark.parametrize("name", PAGES)
def test_two_at_once_write_the_same_files(name, kitchen, clean, answered):
    whole, _ = clean(name)
    answered(name)
    done = two_at_once(kitchen, [*PAGES[name], *OUT])
    assert [each.code for each in done] == [0, 0], done
    assert written(name, kitchen) == whole
