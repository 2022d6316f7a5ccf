"""Mutation testing: change critical code, run its tests, and list the changes that no test noticed.

python -m tools.mutants [GROUP ...] --per-file 30 [--all] [--minutes 60]

The operators are those of cosmic-ray (``make mutants`` installs it outside the environment). groups.toml
lists files and their tests; equal.toml lists mutants that are equivalent to the original, with reasons. A
seeded sample of each file is tested, or all mutants with ``--all``. Results are stored in .bench/mutants. A
mutant is tested again if its file changed, or if it survived and one of its tests changed.
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
    words.add_argument("groups", nargs="*", help="groups in groups.toml; default: all")
    words.add_argument("--per-file", type=int, default=30, help="mutants per file")
    words.add_argument("--all", action="store_true", help="every mutant of every file")
    words.add_argument("--by", nargs="+", default=[], help="run only these tests on surviving mutants")
    words.add_argument("--file", default="", help="only files whose path contains this")
    words.add_argument("--minutes", type=float, default=0.0, help="start no further mutant after this time")
    words.add_argument("--table", action="store_true", help="print the stored results only")
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
            "--per-file",
            str(given.per_file),
            "--file",
            given.file,
        ]
        command += ["--all"] if given.all else []
        command += ["--by", *given.by] if given.by else []
        command += ["--minutes", str((end - time.monotonic()) / 60)] if end else []
        subprocess.run(command, cwd=ROOT, env=env, check=True)
    return report(names, groups, given)


def files_of(group: dict[str, Any], part: str = "") -> list[Path]:
    """Return the files of a group whose path contains ``part``."""
    found = [path for pattern in group["files"] for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path.name != "__init__.py" and part in str(path)]


def chosen(path: Path, given: argparse.Namespace) -> list[Mutant]:
    """Return the mutants of a file to test. They are cached, because generating them is slow."""
    most = None if given.all else given.per_file
    name = str(path.relative_to(ROOT))
    kept = OUT / "proposed" / f"{source_of(name)}-{most}.json"
    if not kept.is_file():
        kept.parent.mkdir(exist_ok=True)
        found = [vars(mutant) for mutant in sample(path, ROOT, most, f"{SEED}:{name}")]
        kept.write_text(json.dumps(found), "utf-8")
    return [Mutant(**each) for each in json.loads(kept.read_text("utf-8"))]


def tests_of(group: dict[str, Any]) -> str:
    """Return a hash of the tests of a group."""
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
    """Test the mutants of a group that have no stored result."""
    from tools.mutants.judged import Judge, judge  # noqa: PLC0415

    group = {**group, "tests": given.by or group["tests"]}
    before, tests, equal = known(name), tests_of(group), equals()
    pending, sources = [], {}  # hashes are taken now, because files may be edited during the run
    for path in files_of(group, given.file):
        for mutant in chosen(path, given):
            source = sources.setdefault(mutant.path, source_of(mutant.path))
            row = before.get(f"{mutant.path} {source} {mutant.name}")
            fresh = row is not None and (row["verdict"] in ("killed", "not applied") or row["tests"] == tests)
            if not fresh and (mutant.path, mutant.was, mutant.now) not in equal:
                pending.append(mutant)
    sys.stdout.write(f"{name}: {len(pending)} mutants to test\n")
    sys.stdout.flush()
    if not pending:
        return 0
    begun = time.monotonic()
    with (OUT / f"{name}.jsonl").open("a", encoding="utf-8") as kept:

        def record(mutant: Mutant, verdict: str, said: str) -> None:
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
                sys.stdout.write("time limit reached; the next run continues here\n")
                sys.stdout.flush()
                os._exit(0)

        paths = [str(path.relative_to(ROOT)) for path in files_of(group)]
        return judge(group["tests"], Judge(pending, paths, ROOT, OUT / f"{name}-reached.json", record))


def equals() -> dict[tuple[str, str, str], str]:
    """Return why mutants are equivalent, by path, line before and line after."""
    listed = tomllib.loads((HERE / "equal.toml").read_text("utf-8")).get("mutant", [])
    return {(f"src/hitoku/{each['file']}", each["was"], each["now"]): each["why"] for each in listed}


def report(names: list[str], groups: dict[str, Any], given: argparse.Namespace) -> int:
    """Print the surviving mutants and the score of each group."""
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
        judged = counted["killed"] + alive
        score = f"{100 * counted['killed'] / judged:.1f}" if judged else ""
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
