"""Throw mutated bytes at every door, guided by what they reach.

python -m tests.doors [DOOR ...] --runs 100000 --minutes 2

With atheris (``make fuzz`` installs it beside the environment) inputs that reach new lines are kept and
mutated further; without it they are mutations of the seeds alone. Each door runs in a process of its own,
with a limit for the time of one input and for memory. What breaks a door is kept in .bench/doors: put it
among the seeds, where a test throws it again every time.
"""

from __future__ import annotations

import argparse
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
from contextlib import suppress
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / ".bench" / "doors"
# One input may take so long, and a process may hold so much.
SECONDS, MEGABYTES, LONGEST = 20, 3_000, 4_096


def main() -> int:
    """Read the command line."""
    words = argparse.ArgumentParser(prog="python -m tests.doors", description=__doc__)
    words.add_argument("doors", nargs="*", help="all of them by default")
    words.add_argument("--runs", type=int, default=100_000, help="inputs for each door")
    words.add_argument("--minutes", type=float, default=0.0, help="at most so long for each door")
    words.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    words.add_argument("--replay", type=Path, help="one input, as it is")
    words.add_argument("--here", metavar="SCRATCH", type=Path, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.here:
        return throw(given.doors[0], given.here, given)
    from tests.doors.doors import DOORS  # noqa: PLC0415 - elsewhere atheris comes first
    from tests.doors.seeds import kept, make  # noqa: PLC0415

    names = given.doors or list(DOORS)
    with tempfile.TemporaryDirectory(prefix="doors-") as house:
        made = make(Path(house))
        failed = [
            name for name in names if not apart(name, Path(house), [*kept(name), *made.get(name, [])], given)
        ]
    sys.stdout.write(f"{len(names) - len(failed)} of {len(names)} doors held\n")
    return int(bool(failed))


def apart(name: str, house: Path, seeds: list[bytes], given: argparse.Namespace) -> bool:
    """Throw inputs at a door in a process of its own; tell whether it held."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - files are written by the thousand
    with tempfile.TemporaryDirectory(prefix="doors-", dir=place) as scratch:
        shutil.copytree(house / "whole", Path(scratch) / "whole")
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        for place, each in enumerate(seeds):
            (corpus / f"seed-{place:03}").write_bytes(each)
        command = [sys.executable, "-m", "tests.doors", name, "--here", scratch, "--runs", str(given.runs)]
        command += ["--minutes", str(given.minutes), "--seed", str(given.seed)]
        command += ["--replay", str(given.replay)] if given.replay else []
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": scratch}
        )
    told = re.sub(r"INFO: .*\n", "", done.stdout + done.stderr)
    counted = re.search(r"Done (\d+) runs in (\d+) second", told) or re.search(
        r"(\d+) inputs in (\d+) s", told
    )
    reached = re.findall(r"cov: (\d+)", told)
    sys.stdout.write(
        f"{name:12} {'held' if not done.returncode else 'BROKEN':6} "
        + (f"{int(counted[1]):>8,} inputs in {counted[2]} s" if counted else "")
        + (f", {reached[0]} to {reached[-1]} places reached" if reached else "")
        + "\n"
    )
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
        from tests.doors.doors import DOORS  # noqa: PLC0415
    else:
        # Not the kernels: numba compiles them, and cannot what was put into them.
        with atheris.instrument_imports(include=["hitoku"], exclude=["hitoku.kernels"]):
            from tests.doors.doors import DOORS  # noqa: PLC0415
    from hitoku.errors import HitokuError  # noqa: PLC0415

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
        **({"max_total_time": int(60 * given.minutes)} if given.minutes else {}),
    }
    atheris.Setup(["doors", str(corpus), *(f"-{name}={value}" for name, value in options.items())], one)
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
