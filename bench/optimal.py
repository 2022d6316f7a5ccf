"""Optimal suppression: time to the proof and to the canonical pattern, by size and kind of table.

Known instances come from the shared ground truth beside the repository, where it is there, each with the
optimum and CPU seconds of tau-ARGUS (another run, another load: compare orders of magnitude; for the same run
see ``bench/peers/optimal_pytauargus.py``). The others are invented: skewed magnitudes, a share of the
inner cells unsafe, drawn among the smaller half, 15 % either way, cost by value. Times are CPU seconds of one
thread, one run, compiled code loaded before. "proof" is when the least cost was proven, "total" when the
tie-break was settled and the pattern judged. Results go to .bench/optimal.json, tables to .bench/optimal/.

    python -m bench.optimal --only t2d_50x50 v2d_100 --limit 60
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from hitoku.io.jj import read_jj, write_jj
from hitoku.kernels import mincut, patterns, zero_half
from hitoku.methods.optimal import Optimal
from hitoku.model.need import Need
from hitoku.model.table import Table

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / ".bench"
SHARED = ROOT.parent / "shared" / "data" / "jj_synthetic"
SEED = 20261115
# Side, and share of unsafe cells: many protect each other, few need help.
INVENTED = {
    "v2d_20": (20, 0.05),
    "v2d_50": (50, 0.05),
    "v2d_100": (100, 0.05),
    "v2d_200": (200, 0.05),
    "v2d_50_few": (50, 0.02),
    "v2d_100_few": (100, 0.018),
    "v2d_200_few": (200, 0.0043),
}


def invented(side: int, share: float) -> tuple[Table, Need]:
    random = np.random.default_rng(SEED + side)
    cells = np.rint(np.exp(random.normal(4.0, 1.5, (side, side)))).astype(np.int64) + 1
    cells[random.random((side, side)) < 0.05] = 0
    table = Table.from_array(cells)
    inner = np.flatnonzero(table.inner & (table.value > 0))
    small = inner[np.argsort(table.value[inner], kind="stable")][: len(inner) // 2]
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[random.permutation(small)[: round(share * side * side)]] = True
    level = np.where(unsafe, np.ceil(0.15 * table.value), 0.0)
    # As in tau-ARGUS: a common upper bound, cells without value stay published, no cost below one.
    table = replace(
        table,
        upper=np.full(table.n_cells, 1.5 * table.value.max()),
        fixed=table.value == 0,
        cost=np.maximum(table.value, 1.0),
    )
    return table, Need(unsafe=unsafe, lower=np.minimum(level, table.value), upper=level)


def published() -> dict[str, dict[str, str]]:
    """What tau-ARGUS' optimal method found, by instance."""
    if not SHARED.is_dir():
        return {}
    with (SHARED / "results.csv").open(encoding="utf-8") as file:
        return {row["instance"]: row for row in csv.DictReader(file) if row["method"] == "optimal"}


def cases(only: set[str]) -> Iterator[tuple[str, Table, Need, dict[str, str]]]:
    for name, row in published().items():
        if name in only or not only:
            yield name, *read_jj(SHARED / f"{name}.jj.gz"), row
    for name, (side, share) in INVENTED.items():
        if name in only or not only:
            yield name, *invented(side, share), {}


def measure(name: str, table: Table, need: Need, known: dict[str, str], limit: float) -> dict[str, object]:
    marks = []
    begin = time.process_time()

    def progress(bound: float, best: float) -> None:
        if not marks and bound >= best - 1e-6:
            marks.append(time.process_time() - begin)

    protection = Optimal(cost="own", time_limit_s=limit).protect(table, need, progress)
    total = time.process_time() - begin
    row = {
        "case": name,
        "cells": table.n_cells,
        "unsafe": int(need.unsafe.sum()),
        "secondary": int(protection.secondary.sum()),
        "cost": protection.cost,
        "proven": protection.proven,
        "gap": round(protection.gap, 5),
        "proof_s": round(marks[0], 3) if marks else None,
        "total_s": round(total, 3),
    }
    if known:
        row["tau_argus_cost"] = float(known["objective_incl_primaries"])
        row["tau_argus_s"] = float(known["cpu_s"])
        if protection.proven and known["outcome"] == "proved optimal":
            assert protection.cost == row["tau_argus_cost"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each table")
    arguments = parser.parse_args()
    for kernel in (zero_half, mincut, patterns):
        kernel.warm_up()
    folder = OUT / "optimal"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, table, need, known in cases(set(arguments.only)):
        write_jj(folder / f"{name}.jj", table, need)
        rows.append(measure(name, table, need, known, arguments.limit))
        print(json.dumps(rows[-1]), flush=True)
    (OUT / "optimal.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
