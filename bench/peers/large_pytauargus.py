"""The modular method of pytauargus on small tables of ``bench/large.py``, judged by hitoku's exact audit.

This file is run by the peers' own Python, which has no hitoku: our Python writes the table with its unsafe
cells and levels, and audits the pattern that comes back. Both start from the same cells and levels; nothing
about singletons is required of either. The peer gets a fresh folder and a fresh TMPDIR for every run. Times
are CPU seconds of its process. Results go to .bench/large_pytauargus.json.

    python bench/peers/large_pytauargus.py --only h3_1k --minutes 2
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"
CASES = ["h3_1k", "h3_3k", "demo_1"]


def run_hitoku(*words: str) -> str:
    command = [ROOT / ".venv" / "bin" / "python", "-m", "bench.large", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def theirs(folder: Path, minutes: float) -> float | None:
    """Run the batch in a folder; return CPU seconds, None when it was ended or failed."""
    (folder / "tmp").mkdir()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [Path(sys.executable).with_name("tauargus"), "run", "modular.arb"]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, timeout=60 * minutes, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = done.returncode == 0 and (folder / "modular.csv").is_file()
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime if ended else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=CASES)
    parser.add_argument("--minutes", type=float, default=5.0)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    results = []
    print(f"{'case':>10}{'cells':>8}{'unsafe':>8}{'withheld':>10}{'value':>8}{'open':>6}{'peer s':>8}")
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            run_hitoku("--only", name, "--argus", text)
            seconds = theirs(folder, arguments.minutes)
            if seconds is None:
                print(
                    f"{name:>10}  no pattern: it failed, or took longer than {arguments.minutes:g} minutes",
                    flush=True,
                )
                continue
            row = {**json.loads(run_hitoku("--only", name, "--judge", text)), "peer_s": round(seconds, 2)}
        results.append(row)
        line = f"{row['cells']:>8}{row['unsafe']:>8}{row['withheld']:>10}{row['value']:>8}{row['open']:>6}"
        print(f"{name:>10}{line}{row['peer_s']:>8}", flush=True)
    (OUT / "large_pytauargus.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
