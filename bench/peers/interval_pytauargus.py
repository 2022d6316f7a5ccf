"""The audit of pytauargus on the same tables as ``bench/interval.py``, which is run first.

This file is run by the peers' own Python, which has no hitoku: tables come as JJ files, our answers as JSON.
Times are CPU seconds. The peer assumes every cell below a finite bound, twice the largest cell; our upper
ends are cut there before they are compared. Results go to .bench/interval_pytauargus.json.

    python bench/peers/interval_pytauargus.py --all     # with the table that takes the peer many minutes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path

from pytauargus._tauargus import audit_jj

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"
SLOW = {"2d_300"}
CLOSE = 1e-4


def run_hitoku() -> list[dict[str, object]]:
    python = ROOT / ".venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "bench.interval", "--rival", "0", "--json"], cwd=ROOT, check=True, stdout=-3
    )
    return json.loads((OUT / "interval.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    left_out = set() if parser.parse_args().all else SLOW
    results = []
    print(f"{'case':>14}{'withheld':>10}{'hitoku s':>10}{'peer s':>10}{'ratio':>9}{'differ':>8}")
    for case in sorted(run_hitoku(), key=lambda one: one["withheld"]):
        name = case["case"]
        if name in left_out:
            print(f"{name:>14}{case['withheld']:>10}{case['bounds_s']:>10.4f}   left out, see --all")
            continue
        start = time.process_time()
        rows = audit_jj(str(OUT / "interval" / f"{name}.jj"))
        seconds = time.process_time() - start
        expected = json.loads((OUT / "interval" / f"{name}.json").read_text())
        assert {str(row["cell"]) for row in rows} == set(expected)
        differ = sum(
            abs(row["min"] - expected[str(row["cell"])][0]) > CLOSE
            or abs(row["max"] - expected[str(row["cell"])][1]) > CLOSE
            for row in rows
        )
        ratio = seconds / case["bounds_s"]
        results.append({**case, "pytauargus_s": seconds, "ratio": ratio, "differ": differ})
        print(
            f"{name:>14}{case['withheld']:>10}{case['bounds_s']:>10.4f}{seconds:>10.3f}{ratio:>9.1f}{differ:>8}"
        )
    (OUT / "interval_pytauargus.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
