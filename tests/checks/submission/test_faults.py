"""A release that is killed, runs out of disk or meets another one: everything or nothing, and never twice."""

from __future__ import annotations

import os
import pathlib
import resource
import signal
import sys
from collections import Counter

import pytest
from bench import releases
from bench.releases import CHECKERS, DATA, begin, concurrent, in_child, kills, submission
from tests.raising import raises

from hitoku.checks.ledger import locked_store, read_store, receipts, verify_store
from hitoku.checks.submission import release, releasing
from hitoku.errors import OutputError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")


@pytest.fixture
def given(tmp_path):
    return begin(tmp_path / "x.ledger"), submission(tmp_path / "submission", "wages")


def let_go(given, **options):
    ledger, folder = given
    return release(folder, ledger=ledger, data=DATA, checkers=CHECKERS, **options)


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(monkeypatch, place, name, given):
    """Release in a process that is killed when it calls a function."""
    with monkeypatch.context() as patch:
        patch.setattr(place, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        assert ended(in_child(lambda: let_go(given))) == -signal.SIGKILL


def state(given):
    ledger, folder = given
    verify_store(ledger)
    out = folder.with_name(f"{folder.name}-released")
    return len(receipts(ledger)), len(read_store(ledger).of("output")), out.exists()


@pytest.mark.parametrize(
    ("place", "name", "there"),
    [
        pytest.param(releasing, "place_units", (0, 0, False), id="before anything is written"),
        pytest.param(releasing.Receipt, "to_dict", (0, 0, False), id="outputs written, receipt not"),
        pytest.param(releasing, "_fill", (0, 0, False), id="in the middle of the folder"),
        pytest.param(pathlib.Path, "rename", (1, 2, False), id="ledger written, folder not named"),
    ],
)
def test_release_killed_at_worst_moments_is_repeatable(monkeypatch, given, place, name, there):
    killed_at(monkeypatch, place, name, given)
    assert state(given) == there
    done = let_go(given)
    assert (done.receipt.number, done.again) == (1, there[0] == 1)
    assert state(given) == (1, 2, True)
    # Nothing of the killed run is left, and its own draft of the folder is gone.
    assert sorted(path.name for path in given[0].parent.iterdir()) == [
        "submission",
        "submission-released",
        "x.ledger",
    ]


def test_interrupted_kills_report_progress(monkeypatch):
    times = iter(["all", "nothing"])

    def once(*_):
        found = next(times, None)
        if found is None:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(releases, "kill_once", once)
    assert kills(5) == Counter(all=1, nothing=1)


def test_release_killed_at_random_is_repeatable():
    assert sum(kills(3, seed=5).values()) == 3


@pytest.mark.long
def test_release_killed_hundreds_of_times_is_repeatable():
    # When a moment comes depends on the machine, so that how many fall behind the commit does, too.
    found = kills(300)
    assert sum(found.values()) == 300
    assert found["nothing"] > 0
    assert found["all"] > 0


def test_four_processes_release_at_once():
    concurrent(6, 3)


@pytest.mark.long
def test_four_processes_release_sixty():
    concurrent(60, 4)


def test_full_disk_raises_and_leaves_nothing(given):
    ledger, _ = given
    size = ledger.stat().st_size

    def without_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 4096, size - 4096))
        try:
            let_go(given)
        except OutputError as error:
            os._exit(0 if "nothing was written" in error.fix else 3)

    assert ended(in_child(without_room)) == 0
    assert state(given) == (0, 0, False)
    assert let_go(given).receipt.number == 1


def test_concurrent_releases_do_not_single_out_units(tmp_path):
    """Table 1 of Kikuchi and Minami (2017): 0-18 and 0-20 differ by one person of Area A."""
    import pyarrow as pa  # noqa: PLC0415 - beside its data

    from hitoku.checks.session import Session  # noqa: PLC0415

    people = pa.table(
        {
            "id": list(range(57)),
            "narrow": ["0-18"] * 18 + ["19-25"] * 19 + ["26-30"] * 20,
            "wide": ["0-20"] * 19 + ["21-25"] * 18 + ["26-30"] * 20,
        }
    )
    ledger = begin(tmp_path / "x.ledger")
    for name in ("narrow", "wide"):
        work = Session(name, people, unit="id")
        work.frequency_table(by=name, name="ages")
        work.submit(tmp_path / name)

    def one(name):
        done = release(tmp_path / name, ledger=ledger, data=people, checkers=CHECKERS)
        os._exit(10 if done.receipt else 11)

    children = [in_child(lambda name=name: one(name)) for name in ("narrow", "wide")]
    assert Counter(map(ended, children)) == {10: 1, 11: 1}
    assert len(receipts(ledger)) == 1


def test_lock_timeout_raises(given):
    with locked_store(given[0]), raises("ledger_locked"):
        let_go(given, wait_s=0.05)
    assert let_go(given).receipt.number == 1
