"""Fuzz every entry point that reads files from others, guided by coverage.

python -m tools.entry_points [NAME ...] --runs 100000 --minutes 2
python -m tools.entry_points --up-to 100000 --minutes 2      those with fewer inputs, over all runs

With atheris (``make fuzz`` installs it outside the environment), inputs that reach new lines are kept and
mutated further; without it, all inputs are mutations of the seeds. Each entry point runs in a separate
process, with limits for the time of one input and for memory. Inputs that fail are written to
.bench/entry-points: copy them to the seeds, where a test runs them. The folder also holds the numbers of
inputs, one line per run in counts.jsonl, and the inputs that reached new lines, with which the next run
starts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parents[2] / ".bench" / "entry-points"
COUNTS = OUT / "counts.jsonl"
# Limits: seconds per input, megabytes per process, bytes per input.
SECONDS, MEGABYTES, LONGEST = 20, 3_000, 4_096


def main() -> int:
    """Read the command line."""
    words = argparse.ArgumentParser(prog="python -m tools.entry_points", description=__doc__)
    words.add_argument("names", nargs="*", help="default: all")
    words.add_argument("--runs", type=int, default=100_000, help="inputs per entry point")
    words.add_argument("--up-to", type=int, help="total inputs per entry point, earlier runs included")
    words.add_argument("--minutes", type=float, default=0.0, help="time limit per entry point")
    words.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    words.add_argument("--replay", type=Path, help="file with one input to repeat")
    words.add_argument("--here", metavar="SCRATCH", type=Path, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.here:
        return fuzz(given.names[0], given.here, given)
    from tools.entry_points.entry_points import ENTRY_POINTS  # noqa: PLC0415 - after atheris in a child
    from tools.entry_points.seeds import kept, make  # noqa: PLC0415

    names = given.names or list(ENTRY_POINTS)
    missing = dict.fromkeys(names, given.runs)
    if given.up_to is not None:
        had = inputs_of(read_counts())
        missing = {name: given.up_to - had[name] for name in names if given.up_to > had[name]}
    with tempfile.TemporaryDirectory(prefix="entry-points-") as folder:
        made = make(Path(folder))
        failed = [
            name
            for name, runs in missing.items()
            if not run_in_process(name, Path(folder), [*kept(name), *made.get(name, [])], given, runs)
        ]
    sys.stdout.write(
        f"{len(missing) - len(failed)} of {len(missing)} entry points passed\n{format_counts(read_counts())}"
    )
    return int(bool(failed))


def read_counts(path: Path = COUNTS) -> list[dict[str, Any]]:
    """Read the counts of earlier runs. An incomplete line of a killed run is dropped."""
    rows = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def inputs_of(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count the inputs of every entry point."""
    found: Counter[str] = Counter()
    for row in rows:
        found[row["entry_point"]] += row["inputs"]
    return found


def format_counts(rows: list[dict[str, Any]]) -> str:
    """Return a line per entry point: inputs of all runs, guided inputs, and failed runs."""
    total, guided = inputs_of(rows), inputs_of([row for row in rows if row["guided"]])
    failed = Counter(row["entry_point"] for row in rows if not row["passed"])
    lines = [f"{'entry point':<17}{'inputs':>10}{'guided':>10}{'failed':>7}"]
    lines += [f"{name:<17}{n:>10,}{guided[name]:>10,}{failed[name]:>7}" for name, n in sorted(total.items())]
    return "\n".join(lines) + "\n"


def run_in_process(name: str, folder: Path, seeds: list[bytes], given: argparse.Namespace, runs: int) -> bool:
    """Fuzz an entry point in a separate process. Return whether it passed."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - files are written by the thousand
    with tempfile.TemporaryDirectory(prefix="entry-points-", dir=place) as scratch:
        shutil.copytree(folder / "whole", Path(scratch) / "whole")
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        for place, each in enumerate(seeds):
            (corpus / f"seed-{place:03}").write_bytes(each)
        command = [sys.executable, "-m", "tools.entry_points", name, "--here", scratch, "--runs", str(runs)]
        command += ["--minutes", str(given.minutes), "--seed", str(given.seed)]
        command += ["--replay", str(given.replay)] if given.replay else []
        begun = time.monotonic()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": scratch}
        )
    output = re.sub(r"INFO: .*\n", "", done.stdout + done.stderr)
    counted = re.search(r"number_of_executed_units: (\d+)", output) or re.search(r"(\d+) inputs in", output)
    n, reached = int(counted[1]) if counted else 0, re.findall(r"cov: (\d+)", output)
    how, took = "FAILED" if done.returncode else "passed", time.monotonic() - begun
    sys.stdout.write(
        f"{name:17} {how:6} {n:>8,} inputs in {took:.0f} s"
        + (f", {reached[0]} to {reached[-1]} edges reached" if reached else "")
        + "\n"
    )
    if not given.replay:
        row = {"entry_point": name, "inputs": n, "guided": bool(reached), "passed": not done.returncode}
        OUT.mkdir(parents=True, exist_ok=True)
        with COUNTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    if done.returncode:
        sys.stdout.write(output[-3_000:] + "\n")
    sys.stdout.flush()
    return not done.returncode


def fuzz(name: str, scratch: Path, given: argparse.Namespace) -> int:
    """Fuzz an entry point in this process."""
    try:
        import atheris  # noqa: PLC0415 - optional
    except ImportError:
        atheris = None
    if atheris is None or given.replay:
        from tools.entry_points.entry_points import ENTRY_POINTS  # noqa: PLC0415
    else:
        # The kernels are excluded: numba cannot compile instrumented code.
        with atheris.instrument_imports(include=["hitoku"], exclude=["hitoku.kernels"]):
            from tools.entry_points.entry_points import ENTRY_POINTS  # noqa: PLC0415
    from tools.entry_points.one_database import share  # noqa: PLC0415

    from hitoku.errors import HitokuError  # noqa: PLC0415

    share()
    corpus = scratch / "corpus"
    seeds = [path.read_bytes() for path in sorted(corpus.iterdir())]

    def one(content: bytes) -> None:
        with suppress(HitokuError):
            ENTRY_POINTS[name](content, scratch)

    if given.replay:
        one(given.replay.read_bytes())
        return 0
    for each in seeds:
        one(each)
    kept_in = OUT / name
    kept_in.mkdir(parents=True, exist_ok=True)
    if atheris is None:
        return _blindly(one, seeds, kept_in, given)
    words = scratch / "words"
    words.write_text(_dictionary(seeds), "ascii")
    longest = max(LONGEST, *(2 * len(each) for each in seeds))
    options = {
        "runs": given.runs,
        "seed": given.seed % 2**31 or 1,
        "max_len": longest,
        "timeout": SECONDS,
        "rss_limit_mb": MEGABYTES,
        "dict": words,
        "artifact_prefix": f"{kept_in}/",
        "print_final_stats": 1,
        **({"max_total_time": int(60 * given.minutes)} if given.minutes else {}),
    }
    # atheris writes inputs that reach new lines to the first folder.
    reaching = OUT / "reaching" / name
    reaching.mkdir(parents=True, exist_ok=True)
    folders = [str(reaching), str(corpus)]
    atheris.Setup(["entry_points", *folders, *(f"-{name}={value}" for name, value in options.items())], one)
    atheris.Fuzz()
    return 0


def _dictionary(seeds: list[bytes]) -> str:
    """Return a dictionary of words in the seeds, which mutations insert."""
    found = {word for each in seeds for word in re.findall(rb"[A-Za-z_<>][A-Za-z_0-9<>]{1,23}", each)}
    return "".join(f'"{word.decode()}"\n' for word in sorted(found | {b"total"})[:500])


def _blindly(one: object, seeds: list[bytes], kept_in: Path, given: argparse.Namespace) -> int:
    """Run mutations of the seeds, without coverage."""
    draws, begun, n = random.Random(given.seed), time.monotonic(), 0  # noqa: S311 - no secrets
    signal.signal(signal.SIGALRM, _too_long)
    resource.setrlimit(resource.RLIMIT_AS, (8_000_000_000, resource.RLIM_INFINITY))
    for n in range(1, given.runs + 1):
        content = mutated(draws.choice(seeds), draws)
        signal.alarm(SECONDS)
        try:
            one(content)  # type: ignore[operator]
        except BaseException:
            path = kept_in / f"crash-{given.seed}-{n}"
            path.write_bytes(content)
            sys.stdout.write(f"written to {path}\n")
            raise
        finally:
            signal.alarm(0)
        if given.minutes and time.monotonic() - begun > 60 * given.minutes:
            break
    sys.stdout.write(f"{n} inputs in {time.monotonic() - begun:.0f} s\n")
    return 0


def _too_long(*_: object) -> None:
    raise TimeoutError


def mutated(content: bytes, draws: random.Random) -> bytes:
    """Mutate bytes at random: replace, delete, insert, copy or truncate."""
    changed = bytearray(content)
    for _ in range(draws.randint(1, 6)):
        at = draws.randrange(len(changed) + 1)
        what = draws.randrange(6)
        if what == 0:
            changed[at : at + draws.randint(1, 8)] = b""
        elif what == 1:
            changed[at:at] = draws.randbytes(draws.randint(1, 4))
        elif what == 2:
            start = draws.randrange(len(changed) + 1)
            changed[at:at] = changed[start : start + draws.randint(1, 40)]
        elif what == 3:
            changed[at:at] = draws.choice(
                [b"-1", b"0", b"1e999", b"nan", b'"', b"[" * 3_000, b"\n", b"9" * 400, b"\0"]
            )
        elif what == 4 and changed:
            changed[at % len(changed)] = draws.randrange(256)
        else:
            del changed[at:]
    return bytes(changed)


if __name__ == "__main__":
    sys.exit(main())
