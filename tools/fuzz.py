"""Run property tests with new examples in rounds, and print how to replay a failure.

python -m tools.fuzz --minutes 10 tests/rules -n 2

All examples of a round come from one seed. The run ends with the first round that fails.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import subprocess
import sys
import time
from pathlib import Path

NOTHING_COLLECTED = 5  # exit code of pytest


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="start no new round after this time")
    parser.add_argument("--seed", type=int, help="run one round with this seed")
    options, words = parser.parse_known_args(arguments)
    until = time.monotonic() + 60 * options.minutes
    rounds = 0
    while True:
        seed = secrets.randbelow(2**32) if options.seed is None else options.seed
        failed = one_round(seed, words)
        rounds += 1
        if failed:
            sys.stdout.write(replay(seed, words))
            return failed
        if options.seed is not None or time.monotonic() > until:
            sys.stdout.write(f"{rounds} round(s), no failures\n")
            return 0


def one_round(seed: int, words: list[str]) -> int:
    """Run every property test once with the examples of a seed. Return the exit code of pytest."""
    command = [
        *(
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "hypothesis and not (browser or postgresql or spark)",
            "-p",
            "no:cacheprovider",
        ),
        *("--hypothesis-profile", "fuzz", "--hypothesis-seed", str(seed), *words),
    ]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1], check=False)
    if done.returncode == NOTHING_COLLECTED:
        sys.stdout.write("no property tests found; pass a folder or file that contains some\n")
    return done.returncode


def replay(seed: int, words: list[str]) -> str:
    """Return instructions to repeat the failure.

    Examples
    --------
    >>> print(replay(7, ["tests/rules", "-x"]), end="")
    <BLANKLINE>
    to repeat the round:  make fuzz SEED=7 PYTEST='tests/rules -x'
    to repeat one test:   put its line @reproduce_failure(...) above the test
    """
    return (
        f"\nto repeat the round:  make fuzz SEED={seed} PYTEST={shlex.quote(shlex.join(words))}\n"
        f"to repeat one test:   put its line @reproduce_failure(...) above the test\n"
    )


if __name__ == "__main__":
    sys.exit(main())
