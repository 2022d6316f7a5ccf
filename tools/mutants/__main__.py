"""Change one thing in what must not be wrong, run its tests, and list what nobody noticed.

python -m tools.mutants [GROUP ...] --most 30 [--all] [--minutes 60]

Operators are cosmic-ray's (``make mutants`` installs it beside the environment); groups.toml says which
files and which tests, equal.toml which mutants cannot be told from the original, and why. A seeded sample of
each file is tried, with ``--all`` everything. What was judged is kept in .bench/mutants and not tried again
until the file changes; what survived, until one of its tests does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from tools.mutants.proposed import Mutant, sample

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench" / "mutants"
HERE = Path(__file__).parent
SEED = "hitoku"


def main() -> int:
    """Read the command line."""
    words = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    words.add_argument("groups", nargs="*", help="of groups.toml; all of them by default")
    words.add_argument("--most", type=int, default=30, help="mutants of a file")
    words.add_argument("--all", action="store_true", help="every mutant of every file")
    words.add_argument("--by", nargs="+", default=[], help="ask these tests alone what is not killed so far")
    words.add_argument("--file", default="", help="only files whose path contains this")
    words.add_argument("--minutes", type=float, default=0.0, help="begin no further mutant after so long")
    words.add_argument("--table", action="store_true", help="only what is known so far")
    words.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = words.parse_args()
    sys.path.append(str(OUT / "tool"))
    groups = tomllib.loads((HERE / "groups.toml").read_text("utf-8"))
    names = given.groups or list(groups)
    OUT.mkdir(parents=True, exist_ok=True)
    if given.here:
        return try_out(names[0], groups[names[0]], given)
    end = time.monotonic() + 60 * given.minutes if given.minutes else None
    for name in () if given.table else names:
        env = {**os.environ, **({"NUMBA_DISABLE_JIT": "1"} if groups[name].get("plain_python") else {})}
        command = [
            sys.executable,
            "-m",
            "tools.mutants",
            name,
            "--here",
            "--most",
            str(given.most),
            "--file",
            given.file,
        ]
        command += ["--all"] if given.all else []
        command += ["--by", *given.by] if given.by else []
        command += ["--minutes", str((end - time.monotonic()) / 60)] if end else []
        subprocess.run(command, cwd=ROOT, env=env, check=True)
    return tell(names, groups, given)


def files_of(group: dict[str, Any], part: str = "") -> list[Path]:
    """Give the files of a group whose path contains something."""
    found = [path for pattern in group["files"] for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path.name != "__init__.py" and part in str(path)]


def chosen(path: Path, given: argparse.Namespace) -> list[Mutant]:
    """Give the mutants of a file that are tried; kept, for making them takes a while."""
    most = None if given.all else given.most
    name = str(path.relative_to(ROOT))
    kept = OUT / "proposed" / f"{source_of(name)}-{most}.json"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        found = [vars(mutant) for mutant in sample(path, ROOT, most, f"{SEED}:{name}")]
        kept.write_text(json.dumps(found), "utf-8")
    return [Mutant(**each) for each in json.loads(kept.read_text("utf-8"))]


def tests_of(group: dict[str, Any]) -> str:
    """Give the hash of a group's tests."""
    paths = [ROOT / each for each in group["tests"]]
    files = sorted(file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path]))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def known(name: str) -> dict[str, dict[str, str]]:
    path = OUT / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
    return {f"{row['path']} {row['source']} {row['name']}": row for row in rows}


def source_of(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:12]


def try_out(name: str, group: dict[str, Any], given: argparse.Namespace) -> int:
    """Judge what is not known of a group's mutants."""
    from tools.mutants.judged import Judge, judge  # noqa: PLC0415

    group = {**group, "tests": given.by or group["tests"]}
    before, tests, equal = known(name), tests_of(group), equals()
    asked, sources = [], {}  # sources as they are now: somebody may edit them while mutants are judged
    for path in files_of(group, given.file):
        for mutant in chosen(path, given):
            source = sources.setdefault(mutant.path, source_of(mutant.path))
            row = before.get(f"{mutant.path} {source} {mutant.name}")
            fresh = row is not None and (row["verdict"] in ("killed", "not applied") or row["tests"] == tests)
            if not fresh and (mutant.path, mutant.was, mutant.now) not in equal:
                asked.append(mutant)
    sys.stdout.write(f"{name}: {len(asked)} mutants to judge\n")
    sys.stdout.flush()
    if not asked:
        return 0
    begun = time.monotonic()
    with (OUT / f"{name}.jsonl").open("a", encoding="utf-8") as kept:

        def told(mutant: Mutant, verdict: str, said: str) -> None:
            row = {"path": mutant.path, "source": sources[mutant.path], "name": mutant.name, "tests": tests}
            row |= {
                "line": mutant.line,
                "was": mutant.was,
                "now": mutant.now,
                "verdict": verdict,
                "said": said,
            }
            kept.write(json.dumps(row) + "\n")
            kept.flush()
            if given.minutes and time.monotonic() - begun > 60 * given.minutes:
                sys.stdout.write("time is over; the next run goes on here\n")
                sys.stdout.flush()
                os._exit(0)

        paths = [str(path.relative_to(ROOT)) for path in files_of(group)]
        return judge(group["tests"], Judge(asked, paths, ROOT, OUT / f"{name}-reached.json", told))


def equals() -> dict[tuple[str, str, str], str]:
    """Give the reasons of mutants that equal the original, by path, line before and line after."""
    listed = tomllib.loads((HERE / "equal.toml").read_text("utf-8")).get("mutant", [])
    return {(f"src/hitoku/{each['file']}", each["was"], each["now"]): each["why"] for each in listed}


def tell(names: list[str], groups: dict[str, Any], given: argparse.Namespace) -> int:
    """Print what survived, and the score of each group."""
    equal, lines = equals(), []
    for name in names:
        rows, counted, total = known(name), Counter[str](), 0
        for path in files_of(groups[name], given.file):
            tried = chosen(path, given)
            total += len(tried)
            for mutant in tried:
                row = rows.get(f"{mutant.path} {source_of(mutant.path)} {mutant.name}")
                verdict = row["verdict"] if row else "not tried"
                if (mutant.path, mutant.was, mutant.now) in equal:
                    verdict = "equal"
                counted[verdict] += 1
                if verdict in ("survived", "not reached"):
                    said = f" ({row['said']})" if row and row["said"] else ""
                    sys.stdout.write(
                        f"{mutant.path}:{row['line']}: {verdict}{said}\n  - {mutant.was}\n  + {mutant.now}\n"
                    )
        alive = counted["survived"] + counted["not reached"]
        told = counted["killed"] + alive
        score = f"{100 * counted['killed'] / told:.1f}" if told else ""
        words = ("killed", "survived", "not reached", "equal", "not applied", "not tried")
        lines.append(
            f"| {name} | {total} | " + " | ".join(str(counted[word]) for word in words) + f" | {score} |"
        )
    head = (
        "| group | mutants | killed | survived | not reached | equal | not applied | not tried | % killed |"
    )
    sys.stdout.write("\n".join([head, "|---|" + "--:|" * 8, *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
