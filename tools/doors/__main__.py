"""Throw mutated bytes at every door, guided by what they reach.

python -m tools.doors [DOOR ...] --runs 100000 --minutes 2
python -m tools.doors --up-to 100000 --minutes 2      doors that have had fewer, over all runs

With atheris (``make fuzz`` installs it beside the environment) inputs that reach new lines are kept and
mutated further; without it they are mutations of the seeds alone. Each door runs in a process of its own,
with a limit for the time of one input and for memory. What breaks a door is kept in .bench/doors: put it
among the seeds, where a test throws it again every time. Kept there are also how many inputs each door has
had, a line per run in counts.jsonl, and the inputs that reached new lines, with which the next run begins.
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

OUT = Path(__file__).resolve().parents[2] / ".bench" / "doors"
COUNTS = OUT / "counts.jsonl"
# One input may take so long, and a process may hold so much.
SECONDS, MEGABYTES, LONGEST = 20, 3_000, 4_096


def main() -> int:
    """Read the command line."""
    words = argparse.ArgumentParser(prog="python -m tools.doors", description=__doc__)
    words.add_argument("doors", nargs="*", help="all of them by default")
    words.add_argument("--runs", type=int, default=100_000, help="inputs for each door")
    words.add_argument("--up-to", type=int, help="as many as are missing, over all runs that were counted")
    words.add_argument("--minutes", type=float, default=0.0, help="at most so long for each door")
    words.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    words.add_argument("--replay", type=Path, help="one input, as it is")
    words.add_argument("--here", metavar="SCRATCH", type=Path, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.here:
        return throw(given.doors[0], given.here, given)
    from tools.doors.doors import DOORS  # noqa: PLC0415 - elsewhere atheris comes first
    from tools.doors.seeds import kept, make  # noqa: PLC0415

    names = given.doors or list(DOORS)
    missing = dict.fromkeys(names, given.runs)
    if given.up_to is not None:
        had = inputs_of(kept_counts())
        missing = {name: given.up_to - had[name] for name in names if given.up_to > had[name]}
    with tempfile.TemporaryDirectory(prefix="doors-") as house:
        made = make(Path(house))
        failed = [
            name
            for name, runs in missing.items()
            if not apart(name, Path(house), [*kept(name), *made.get(name, [])], given, runs)
        ]
    sys.stdout.write(f"{len(missing) - len(failed)} of {len(missing)} doors held\n{shown(kept_counts())}")
    return int(bool(failed))


def kept_counts(path: Path = COUNTS) -> list[dict[str, Any]]:
    """Read what earlier runs threw; a line that a killed run left half-written is dropped."""
    rows = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def inputs_of(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count the inputs of every door."""
    found: Counter[str] = Counter()
    for row in rows:
        found[row["door"]] += row["inputs"]
    return found


def shown(rows: list[dict[str, Any]]) -> str:
    """Print a line for each door: inputs over all runs, those of them guided, and how often it broke."""
    total, guided = inputs_of(rows), inputs_of([row for row in rows if row["guided"]])
    broken = Counter(row["door"] for row in rows if not row["held"])
    lines = [f"{'door':<14}{'inputs':>10}{'guided':>10}{'broke':>7}"]
    lines += [f"{name:<14}{n:>10,}{guided[name]:>10,}{broken[name]:>7}" for name, n in sorted(total.items())]
    return "\n".join(lines) + "\n"


def apart(name: str, house: Path, seeds: list[bytes], given: argparse.Namespace, runs: int) -> bool:
    """Throw inputs at a door in a process of its own; tell whether it held."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - files are written by the thousand
    with tempfile.TemporaryDirectory(prefix="doors-", dir=place) as scratch:
        shutil.copytree(house / "whole", Path(scratch) / "whole")
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        for place, each in enumerate(seeds):
            (corpus / f"seed-{place:03}").write_bytes(each)
        command = [sys.executable, "-m", "tools.doors", name, "--here", scratch, "--runs", str(runs)]
        command += ["--minutes", str(given.minutes), "--seed", str(given.seed)]
        command += ["--replay", str(given.replay)] if given.replay else []
        begun = time.monotonic()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": scratch}
        )
    told = re.sub(r"INFO: .*\n", "", done.stdout + done.stderr)
    counted = re.search(r"number_of_executed_units: (\d+)", told) or re.search(r"(\d+) inputs in", told)
    n, reached = int(counted[1]) if counted else 0, re.findall(r"cov: (\d+)", told)
    how, took = "BROKEN" if done.returncode else "held", time.monotonic() - begun
    sys.stdout.write(
        f"{name:12} {how:6} {n:>8,} inputs in {took:.0f} s"
        + (f", {reached[0]} to {reached[-1]} places reached" if reached else "")
        + "\n"
    )
    if not given.replay:
        row = {"door": name, "inputs": n, "guided": bool(reached), "held": not done.returncode}
        OUT.mkdir(parents=True, exist_ok=True)
        with COUNTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    if done.returncode:
        sys.stdout.write(told[-3_000:] + "\n")
    sys.stdout.flush()
    return not done.returncode


def throw(name: str, scratch: Path, given: argparse.Namespace) -> int:
    """Throw inputs at a door, in this process."""
    try:
        import atheris  # noqa: PLC0415 - optional
    except ImportError:
        atheris = None
    if atheris is None or given.replay:
        from tools.doors.doors import DOORS  # noqa: PLC0415
    else:
        # Not the kernels: numba compiles them, and cannot what was put into them.
        with atheris.instrument_imports(include=["hitoku"], exclude=["hitoku.kernels"]):
            from tools.doors.doors import DOORS  # noqa: PLC0415
    from tools.doors.one_database import share  # noqa: PLC0415

    from hitoku.errors import HitokuError  # noqa: PLC0415

    share()
    corpus = scratch / "corpus"
    seeds = [path.read_bytes() for path in sorted(corpus.iterdir())]

    def one(content: bytes) -> None:
        with suppress(HitokuError):
            DOORS[name](content, scratch)

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
    # What reaches new lines goes to the first folder.
    reaching = OUT / "reaching" / name
    reaching.mkdir(parents=True, exist_ok=True)
    folders = [str(reaching), str(corpus)]
    atheris.Setup(["doors", *folders, *(f"-{name}={value}" for name, value in options.items())], one)
    atheris.Fuzz()
    return 0


def _dictionary(seeds: list[bytes]) -> str:
    """List the words of the seeds: mutations put them elsewhere."""
    found = {word for each in seeds for word in re.findall(rb"[A-Za-z_<>][A-Za-z_0-9<>]{1,23}", each)}
    return "".join(f'"{word.decode()}"\n' for word in sorted(found | {b"total"})[:500])


def _blindly(one: object, seeds: list[bytes], kept_in: Path, given: argparse.Namespace) -> int:
    """Throw mutations of the seeds, without knowing what they reach."""
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
            sys.stdout.write(f"kept in {path}\n")
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
    """Change bytes here and there: others, none, some twice, from elsewhere, cut off."""
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
