"""Tables of ACRO on the same records as ``bench/checks.py``, which is run first.

This file is run by the peers' own Python, which has no hitoku: records come as a Parquet file, our times as
JSON. Times are CPU seconds of one process, the second time round. Results go to .bench/checks_acro.json.

    python bench/peers/checks_acro.py --records 1000000
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd
from acro import ACRO

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / ".bench"


def run_hitoku(records: int) -> dict[str, float]:
    python = ROOT / ".venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "bench.checks", "--keep", "--records", str(records)], cwd=ROOT, check=True, stdout=-3
    )
    return json.loads((OUT / "checks.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    records = parser.parse_args().records
    mine = run_hitoku(records)
    frame = pd.read_parquet(OUT / "people.parquet")
    rows, columns, income = frame["region"], frame["job"], frame["income"]
    # It talks about every table, and keeps its settings where it is called.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp())
    with contextlib.redirect_stdout(io.StringIO()):
        acro = ACRO(suppress=True)
    asked = {
        "frequency table": lambda: acro.crosstab(rows, columns),
        "mean": lambda: acro.crosstab(rows, columns, values=income, aggfunc="mean"),
        "magnitude table": lambda: acro.crosstab(rows, columns, values=income, aggfunc="sum"),
        "standard deviation": lambda: acro.crosstab(rows, columns, values=income, aggfunc="std"),
    }
    found = {"records": records}
    print(f"{records:_} records, 47 by 20 cells; CPU seconds")
    print(f"{'output':>20}{'hitoku':>10}{'ACRO':>10}{'ratio':>9}")
    for name, ask in asked.items():
        for _ in range(2):
            with contextlib.redirect_stdout(io.StringIO()):
                start = time.process_time()
                ask()
                took = time.process_time() - start
        found[name] = took
        print(f"{name:>20}{mine[name]:>10.3f}{took:>10.3f}{took / mine[name]:>9.1f}", flush=True)
    (OUT / "checks_acro.json").write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
