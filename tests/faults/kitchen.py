"""A folder with something of every kind, and commands that are run in it while the disk goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

STAGE = Path(__file__).with_name("stage")
SRC = Path(__file__).resolve().parents[2] / "src"
# At how many of its changes each command is struck; FAULT_POINTS=100 for nearly all of them.
MAX_POINTS = int(os.environ.get("FAULT_POINTS", "3"))
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


# A locale without UTF-8 and a clock that was set back; other letters at the other end of the day.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ELSEWHERE = {
    "an old machine": {**ASCII, "FAULT_CLOCK": "-315360000", "TZ": "Pacific/Pago_Pago"},
    "another language": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
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


def bytes_of(path: Path) -> dict[str, bytes] | None:
    if path.is_file():
        return {"": path.read_bytes()}
    if not path.is_dir():
        return None
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def points(n_changes: int) -> list[int]:
    """Give the first change, the last one, and some between."""
    return sorted(set(np.linspace(1, n_changes, MAX_POINTS).astype(int).tolist()))


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


def two_at_once(folder: Path, words: list[str]) -> list[Run]:
    """Start a command twice, and wait for both."""
    own = {"TMPDIR": str(folder / "tmp"), "SOURCE_DATE_EPOCH": "1763251200"}
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "hitoku", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SRC), **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [process.communicate() for process in both]
    return [Run(process.returncode, *each) for process, each in zip(both, told, strict=True)]
