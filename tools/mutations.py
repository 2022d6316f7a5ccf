"""Check mutated submissions. Each must end in a HitokuError or in findings, never in a traceback.

``python -m tools.mutations --minutes 5`` mutates valid submissions at random, recomputes their hashes as a
forger would, and checks them, for five CPU minutes; ``--count 100000 --minutes 60`` stops after 100,000
submissions (about 20 CPU minutes). After a traceback it prints how to replay it, continues, and exits with
code 1. If interrupted, it prints how many it checked and the seed with which to continue.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.checks.submissions import PEOPLE, reseal

from hitoku.checks.session import Session
from hitoku.checks.submission import recheck
from hitoku.errors import HitokuError
from hitoku.io import page

WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 7, 1.5, -0.0, 1e308, float("nan"), float("inf"), 2**53, 2**63, 10**400,
    "", "x", "=1+1", "\x1b[2J", "\u202e", "a" * 600, "../../x", [], [[]], [None], [1, "a"], {}, {"a": {}},
)  # fmt: skip


TRACEBACK = "ended in a traceback"

# Outputs of a submission. One or two at a time keep submissions small and fast to check.
OUTPUTS: dict[str, Callable[[Session, str], Any]] = {
    "people": lambda work, name: work.frequency_table(by=["region", "job"], name=name),
    "means": lambda work, name: work.mean("income", by="region", where={"region": ["N", "S"]}, name=name),
    "incomes": lambda work, name: work.magnitude_table(by=["region"], value="income", name=name),
    "medians": lambda work, name: work.percentile("income", 50, by="region", name=name),
    "modes": lambda work, name: work.mode("job", by="region", name=name),
    "shares": lambda work, name: work.concentration("income", "cr4", by="region", name=name),
    "spread": lambda work, name: work.summary("std", "income", by="region", name=name),
    "top": lambda work, name: work.summary("max", "income", name=name),
    "model": lambda work, name: work.regression("income ~ C(region)", name=name),
    "several": lambda work, name: work.table("region", "income", ["count", "mean", "median"], name=name),
    "bars": lambda work, name: work.histogram("income", 5, name=name),
    "percent": lambda work, name: work.percentages(["region", "job"], name=name),
    "curve": lambda work, name: work.lorenz("income", 5, name=name),
    "times": lambda work, name: work.survival("income", "early", by="region", name=name),
    "lives": lambda work, name: work.life_table("income", "early", [0, 30, 40], name=name),
    "numbers": lambda work, name: work.hand_over(
        {"b": [1.5, 2.0]}, n=[60, 4], freedom=50, method="plm", name=name
    ),
    "file": lambda work, name: work.hand_over_file(__file__, "this program", name=name),
}


DATA = PEOPLE.assign(early=(PEOPLE["id"] % 2).astype(int))


# One submission in this many has two outputs, which are compared; the others take half the time.
PAIRED = 5


def draw(folder: Path, draws: random.Random) -> Path:
    """Return a valid submission with one or two outputs, chosen at random. It is written if new."""
    names = list(OUTPUTS)
    place = draws.randrange(len(names))
    n_outputs = 2 if draws.randrange(PAIRED) == 0 else 1
    chosen = [names[(place + step) % len(names)] for step in range(n_outputs)]
    path = folder / "-".join(chosen)
    return path if path.exists() else submitted(path, chosen)


def submitted(path: Path, names: Sequence[str]) -> Path:
    """Write a submission with some outputs."""
    work = Session("wages", DATA, unit="id", researcher="R. Kimura")
    for name in names:
        OUTPUTS[name](work, name)
    return work.submit(path)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in nested lists and mappings."""
    found = [path] if path else []
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, part in parts:
        found += places(part, (*path, name))
    return found


def mutated(content: Any, draws: random.Random) -> Any:
    """Mutate one to three values: replace, delete, duplicate or scale, or rename a key."""
    forged = copy.deepcopy(content)
    for _ in range(draws.randint(1, 3)):
        known = places(forged)
        if not known:
            return draws.choice(WRONG)
        *way, last = draws.choice(known)
        inner = forged
        for step in way:
            inner = inner[step]
        what = draws.randrange(6)
        if what == 0:
            inner.pop(last)
        elif what == 1 and isinstance(inner, list):
            inner.insert(draws.randint(0, len(inner)), copy.deepcopy(inner[last]))
        elif what == 2 and isinstance(inner, dict):
            inner[draws.choice(["", "extra", "\x1b", str(last) + "x"])] = inner.pop(last)
        elif what == 3 and isinstance(inner[last], int | float) and not isinstance(inner[last], bool):
            inner[last] = inner[last] * draws.choice([-1, 0, 2, 1e9]) + draws.choice([0, 1, 0.5])
        else:
            inner[last] = copy.deepcopy(draws.choice(WRONG))
    return forged


def mutate(folder: Path, draws: random.Random) -> None:
    """Mutate one or two files of a submission, and usually update the manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for _ in range(draws.choice([1, 1, 1, 2])):
        path = draws.choice(files)
        raw = path.read_bytes()
        if path.suffix == ".json" and draws.random() < 0.85:
            try:
                text = json.dumps(mutated(json.loads(raw), draws), indent=1) + "\n"
            except (ValueError, OverflowError):
                continue
            path.write_text(text, "utf-8")
        else:
            place, n_gone = draws.randrange(len(raw) + 1), draws.randrange(5)
            path.write_bytes(raw[:place] + draws.randbytes(draws.randrange(5)) + raw[place + n_gone :])
    if draws.random() < 0.95:
        try:
            reseal(folder)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return  # the manifest is no longer valid


def check_one(scratch: Path, seed: int) -> str:
    """Mutate a copy, check it and render its page. Return the outcome."""
    draws = random.Random(seed)  # noqa: S311 - no secrets
    folder = scratch / "mutated"
    shutil.copytree(draw(scratch / "honest", draws), folder)
    try:
        mutate(folder, draws)
        data = DATA if draws.random() < 0.1 else None
        check = recheck(folder, data=data, unit=None if data is None else "id")
        check.to_dict()
        page(check)
    except HitokuError:
        return "refused"
    else:
        return "passed" if check.ok else "found"
    finally:
        shutil.rmtree(folder)


def fuzz(count: int, minutes: float, seed: int) -> Counter[str]:
    """Check up to ``count`` mutations within the time limit. Return the number of each outcome."""
    found, until = Counter[str](), time.process_time() + 60 * minutes
    with tempfile.TemporaryDirectory() as place, contextlib.suppress(KeyboardInterrupt):
        for number in range(count):
            if time.process_time() > until:
                break
            try:
                found[check_one(Path(place), seed + number)] += 1
            except Exception:  # noqa: BLE001 - any exception is a finding
                found[TRACEBACK] += 1
                traceback.print_exc()
                sys.stderr.write(f"replay: python -m tools.mutations --seed {seed + number} --count 1\n")
    return found


def main() -> int:
    """Fuzz from the command line."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--minutes", type=float, default=5.0)
    words.add_argument("--count", type=int, default=10**9)
    words.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    given = words.parse_args()
    # Print the summary after SIGTERM, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = fuzz(given.count, given.minutes, given.seed)
    summary = ", ".join(f"{n} {what}" for what, n in found.most_common()) or "none"
    sys.stdout.write(f"{found.total()} mutated submissions from seed {given.seed}: {summary}\n")
    if found.total() < given.count:
        sys.stdout.write(f"to continue: python -m tools.mutations --seed {given.seed + found.total()}\n")
    return int(found[TRACEBACK] > 0)


if __name__ == "__main__":
    sys.exit(main())
