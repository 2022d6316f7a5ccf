"""Faults while outputs are released: killed at random points, and by several checkers at once.

``python -m bench.releases --kills 1000 --concurrent 200`` kills a release at 1,000 random moments and looks
at the ledger and the folder after each; then four processes release 200 submissions into one ledger.
Whatever happens, every output is remembered once or not at all, a receipt has its files, and a release that
was killed can be repeated. Ctrl-C ends the kills, and says how many there were.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

from hitoku.checks.ledger import init, read_store, receipts, verify_store
from hitoku.checks.session import Session
from hitoku.checks.submission import release

N_PEOPLE = 240
CHECKERS = ("M. Sato", "A. Ito")
TIMED_EVERY = 20
DATA = pa.table(
    {
        "id": list(range(N_PEOPLE)),
        "region": [f"r{number % 4}" for number in range(N_PEOPLE)],
        "job": [f"j{number % 3}" for number in range(N_PEOPLE)],
        "income": [20.0 + number % 37 for number in range(N_PEOPLE)],
    }
)


def submission(folder: Path, name: str) -> Path:
    """Write a submission with two outputs."""
    work = Session(name, DATA, unit="id", researcher="R. Kimura")
    work.frequency_table(by=["region"], name="regions")
    work.mean("income", by=["job"], name="means")
    return work.submit(folder)


def begin(place: Path) -> Path:
    """Begin a ledger."""
    init(place, policy="japan-2017", unit="id")
    return place


def in_child(work: object) -> int:
    """Run a function in a process of its own; return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()  # type: ignore[operator]
            os._exit(0)
        except BaseException:  # noqa: BLE001 - reported by the exit code
            os._exit(1)
    return child


def require(true: bool, what: str) -> None:
    """Stop at the first thing that is not as it should be."""
    if not true:
        raise SystemExit(f"NOT as it should be: {what}")


def kill_once(place: Path, draws: random.Random, longest_s: float) -> str:
    """Kill a release of what is in a folder at a random moment; say what was there, and repeat it."""
    ledger, folder = place / "x.ledger", place / "submission"
    child = in_child(lambda: release(folder, ledger=ledger, data=DATA, checkers=CHECKERS))
    time.sleep(draws.random() * longest_s)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    require(os.waitstatus_to_exitcode(status) in {0, -signal.SIGKILL}, "the release failed by itself")
    verify_store(ledger)
    left, remembered = receipts(ledger), len(read_store(ledger).of("output"))
    require((len(left), remembered) in {(0, 0), (1, 2)}, f"{len(left)} receipts, {remembered} outputs")
    out = place / "submission-released"
    require(not out.exists() or len(left) == 1, "a folder without a receipt")
    found = "nothing" if not left else "all" if out.exists() else "the ledger only"
    done = release(folder, ledger=ledger, data=DATA, checkers=CHECKERS)
    require(done.receipt is not None and done.receipt.number == 1, "it cannot be repeated")
    require(len(read_store(ledger).of("output")) == 2, "an output is remembered twice")
    names = sorted(path.name for path in out.iterdir())
    require(len(names) == 6, f"the folder is not whole: {names}")
    drafts = [path.name for path in place.iterdir() if path.name.endswith((".draft", "-journal"))]
    require(not drafts, f"left behind: {drafts}")
    return found


def kills(n_kills: int, seed: int = 1) -> Counter[str]:
    """Kill releases at random; count the states afterwards."""
    draws, found = random.Random(seed), Counter[str]()  # noqa: S311 - moments, no secrets
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(KeyboardInterrupt):
        folder = Path(scratch)
        fresh = folder / "fresh"
        fresh.mkdir()
        begin(fresh / "x.ledger")
        submission(fresh / "submission", "killed")
        _timed(fresh, folder / "first")  # things are loaded
        longest_s = 0.0
        for number in range(n_kills):
            # A machine is busy at times: moments are drawn from what a release takes just then.
            if number % TIMED_EVERY == 0:
                longest_s = 1.3 * _timed(fresh, folder / "timed")
            place = shutil.copytree(fresh, folder / f"{number}")
            found[kill_once(place, draws, longest_s)] += 1
            shutil.rmtree(place)
    return found


def _timed(fresh: Path, place: Path) -> float:
    """Return how long an undisturbed release takes."""
    shutil.copytree(fresh, place)
    start = time.perf_counter()
    child = in_child(
        lambda: release(place / "submission", ledger=place / "x.ledger", data=DATA, checkers=CHECKERS)
    )
    os.waitpid(child, 0)
    took = time.perf_counter() - start
    shutil.rmtree(place)
    return took


def concurrent(n_releases: int, n_processes: int = 4) -> None:
    """Release submissions into one ledger concurrently; each is stored once."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        ledger = begin(place / "x.ledger")
        given = [submission(place / f"s{number}", f"project {number}") for number in range(n_releases)]

        def some(share: int) -> None:
            for folder in given[share::n_processes]:
                release(folder, ledger=ledger, data=DATA, checkers=CHECKERS, wait_s=600)

        children = [in_child(lambda share=share: some(share)) for share in range(n_processes)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        require(codes == [0] * n_processes, f"exit codes {codes}")
        verify_store(ledger)
        left = receipts(ledger)
        require([each.number for each in left] == list(range(1, n_releases + 1)), "receipts are missing")
        require(len({each.submission_sha256 for each in left}) == n_releases, "a submission left twice")
        require(len(read_store(ledger).of("output")) == 2 * n_releases, "outputs are missing")
        require(
            all((place / f"s{number}-released" / "receipt.json").exists() for number in range(n_releases)),
            "a folder",
        )


def main() -> None:
    """Do both and print what was found."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--kills", type=int, default=30)
    words.add_argument("--concurrent", type=int, default=12)
    words.add_argument("--seed", type=int, default=1)
    given = words.parse_args()
    start = time.perf_counter()
    found = kills(given.kills, given.seed)
    states = ", ".join(f"{what} {times}" for what, times in found.most_common())
    took = f"{time.perf_counter() - start:.0f} s"
    print(f"{found.total()} kills in {took}; states afterwards: {states}; all repeated", flush=True)
    start = time.perf_counter()
    concurrent(given.concurrent)
    took = f"{time.perf_counter() - start:.0f} s"
    print(f"{given.concurrent} releases by four processes in {took}: each remembered once")


if __name__ == "__main__":
    main()
