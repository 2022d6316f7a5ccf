"""The optimal method of pytauargus on the same files as ``bench/optimal.py``, which is run first.

This file is run by the peers' own Python, which has no hitoku: tables come as JJ files, our answers as JSON.
Both solve the problem in the file, with its levels, bounds and costs; nothing about singletons is asked of
either. Times are CPU seconds. Results go to .bench/optimal_pytauargus.json.

    python bench/peers/optimal_pytauargus.py --only t2d_50x50 v2d_100 --minutes 1
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from pytauargus import HiTaSCtrl

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"


def ours(only: list[str], limit: float) -> list[dict[str, object]]:
    python = ROOT / ".venv" / "bin" / "python"
    command = [python, "-m", "bench.optimal", "--limit", str(limit), "--only", *only]
    subprocess.run(command, cwd=ROOT, check=True, stdout=-3)
    return json.loads((OUT / "optimal.json").read_text())


def cost(path: Path, cells: set[int]) -> float:
    """Cost of the unsafe cells and some others, from the file."""
    lines = path.read_text().splitlines()
    total = 0.0
    for line in lines[2 : 2 + int(lines[1])]:
        index, _, price, status = line.split()[:4]
        if status == "u" or int(index) in cells:
            total += float(price)
    return total


def theirs(name: str, minutes: int) -> tuple[float | None, float, int]:
    path, answer = OUT / "optimal" / f"{name}.jj", OUT / "optimal" / f"{name}.out"
    answer.unlink(missing_ok=True)
    begin = time.process_time()
    status = HiTaSCtrl().full_jj(str(path), str(answer), minutes)
    seconds = time.process_time() - begin
    if not answer.is_file():
        return None, seconds, status
    cells = {int(word) for word in answer.read_text().split()}
    return cost(path, cells), seconds, status


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--minutes", type=int, default=1)
    arguments = parser.parse_args()
    (OUT / "optimal").mkdir(parents=True, exist_ok=True)
    os.chdir(OUT / "optimal")  # the peer leaves its logs where it runs
    results = []
    print(f"{'case':>16}{'ours':>12}{'proof s':>9}{'total s':>9}{'peer':>12}{'peer s':>9}")
    for case in ours(arguments.only, 60.0 * arguments.minutes):
        name = str(case["case"])
        value, seconds, status = theirs(name, arguments.minutes)
        results.append({**case, "peer_cost": value, "peer_s": round(seconds, 3), "peer_status": status})
        proof = case["proof_s"]
        print(
            f"{name:>16}{case['cost']:>12.0f}{proof if proof is not None else '-':>9}{case['total_s']:>9}"
            f"{value if value is not None else '-':>12}{seconds:>9.2f}",
            flush=True,
        )
    (OUT / "optimal_pytauargus.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
