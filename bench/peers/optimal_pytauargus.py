"""The optimal method of pytauargus on the same files as ``bench/optimal.py``, in one run, in turns.

This file is run by the peers' own Python, which has no hitoku: tables come as JJ files, our answers as JSON.
Both solve the problem in the file, with its levels, bounds and costs; neither protects
singletons. Every program runs in a separate process, which reports CPU seconds and peak memory; the peer does
not always keep to its limit, so its process is ended a little later. Of the small instances permuted copies
are solved, too, by both, and the medians are printed below. Results go to .bench/optimal_pytauargus.json.

    python bench/peers/optimal_pytauargus.py
    python bench/peers/optimal_pytauargus.py --only t2d_50x50 v2d_100 --minutes 1 --copies 0
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"
# Of these, copies are affordable; the others take minutes each.
SMALL = ("t3d_5x5x5", "h3d_4.5_3.4_3", "h2d_8.6.5_6.5")
LARGE = ("t3d_10x10x4", "c3d_10", "v2d_200_few", "h3d_10k")
# Seconds beyond its limit after which the peer is ended.
PATIENCE = 20
HEAD = ("case", "hitoku", "gap %", "proof s", "total s", "MB", "peer", "peer s", "peer MB", "peer says")


def ended(process: subprocess.Popen[Any], limit: float) -> tuple[bool, float, float]:
    """Wait for a process up to a limit; tell whether it ended itself, its CPU seconds and its peak in MB."""
    begin, killed = time.monotonic(), False
    while True:
        pid, _, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            return not killed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        if not killed and time.monotonic() - begin > limit:
            process.send_signal(signal.SIGKILL)
            killed = True
        time.sleep(0.02)


def run_hitoku(name: str, limit: float, copies: int) -> dict[str, Any]:
    """Solve an instance and its copies; the peak is that of all of them."""
    python = ROOT / ".venv" / "bin" / "python"
    command = [python, "-m", "bench.optimal", "--limit", str(limit), "--copies", str(copies), "--only", name]
    # The code next to this file, not the installed one.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=environment)
    (OUT / "optimal.json").unlink(missing_ok=True)
    there, _, megabytes = ended(process, (copies + 1) * (limit + 60) + 120)
    if not there or not (OUT / "optimal.json").is_file():
        raise SystemExit(f"bench.optimal came to no end on {name}")
    return {**json.loads((OUT / "optimal.json").read_text())[0], "mb": round(megabytes)}


def cost(path: Path, cells: set[int]) -> float:
    """Cost of the unsafe cells and some others, from the file."""
    lines = path.read_text().splitlines()
    total = 0.0
    for line in lines[2 : 2 + int(lines[1])]:
        index, _, price, status = line.split()[:4]
        if status == "u" or int(index) in cells:
            total += float(price)
    return total


def solve_one(path: Path, minutes: int) -> None:
    """Solve one file, in the peer's own process; say how it went."""
    from pytauargus import HiTaSCtrl  # noqa: PLC0415 - only this process needs it

    answer = path.with_suffix(".out")
    answer.unlink(missing_ok=True)
    begin = time.process_time()
    status = HiTaSCtrl().full_jj(str(path), str(answer), minutes)
    seconds = time.process_time() - begin
    cells = {int(word) for word in answer.read_text().split()} if answer.is_file() else None
    value = None if cells is None else cost(path, cells)
    path.with_suffix(".answer").write_text(json.dumps({"cost": value, "s": seconds, "says": str(status)}))


def theirs(path: Path, minutes: int) -> dict[str, Any]:
    answers = path.with_suffix(".answer")
    answers.unlink(missing_ok=True)
    # The peer leaves its logs where it runs.
    command = [sys.executable, __file__, "--one", str(path), "--minutes", str(minutes)]
    process = subprocess.Popen(command, cwd=path.parent, stdout=subprocess.DEVNULL)
    there, seconds, megabytes = ended(process, 60 * minutes + PATIENCE)
    answer = {"cost": None, "s": seconds, "says": "ended by us" if not there else "nothing"}
    if answers.is_file():
        answer = json.loads(answers.read_text())
    return {**answer, "s": round(answer["s"], 3), "mb": round(megabytes)}


def shown(values: tuple[Any, ...]) -> str:
    texts = ["-" if v is None else f"{v:.2f}" if isinstance(v, float) else str(v) for v in values]
    return f"{texts[0]:>22}" + "".join(f"{text:>10}" for text in texts[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[*SMALL, *LARGE])
    parser.add_argument("--minutes", type=int, default=2, help="limit of each program on each table")
    parser.add_argument("--seconds", type=float, help="our limit where it is another one")
    parser.add_argument("--copies", type=int, default=5, help="permuted copies of the small instances")
    parser.add_argument("--copies-of-all", action="store_true", help="of the large ones, too")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        solve_one(arguments.one, arguments.minutes)
        return
    limit = arguments.seconds or 60.0 * arguments.minutes
    results = []
    print(shown(HEAD))
    for name in arguments.only:
        copies = arguments.copies if arguments.copies_of_all or name in SMALL else 0
        us = run_hitoku(name, limit, copies)
        path = OUT / "optimal" / f"{name}.jj"
        peer = theirs(path, arguments.minutes)
        row = (us["cost"], 100 * us["gap"], us["proof_s"], us["total_s"], us["mb"])
        print(shown((name, *row, peer["cost"], peer["s"], peer["mb"], peer["says"])), flush=True)
        others = [theirs(path.with_suffix(f".{seed}.jj"), arguments.minutes) for seed in range(1, copies + 1)]
        if copies:
            said = [other["s"] for other in others]
            there = sum(other["cost"] is not None for other in others)
            middle = (us.get(f"median_{what}") for what in ("cost", "gap", "proof_s", "total_s"))
            value, gap, proof, total = middle
            row = (value, None if gap is None else 100 * gap, proof, total, us["mb"])
            print(
                shown((f"median of {copies}", *row, None, statistics.median(said), None, f"{there} answers")),
                flush=True,
            )
        results.append({**us, "peer": peer, "peer_copies": others})
        (OUT / "optimal_pytauargus.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
