"""Tabulating all marginals of a three-way hierarchical table: time against a bare scan, and memory.

Three invented sets of records. Hard: one record in five belongs to a holding met in one leaf cell only, the
others to holdings of about eight records spread at random. Easy: nearly all holdings stay in one leaf cell.
Any: hard, with values that are no decimals, so that sums are integers of 124 bits.
Region 16/80/400, activity 20/100/300/600, size 5, each with a total: 3.04 million possible cells.

    python -m bench.tabulation --records 10_000_000 --json
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import keep
from hitoku.model import Hierarchy
from hitoku.tabulation import tabulate

SINGLE_SHARE = {"hard": 0.2, "easy": 0.93, "any": 0.2}
SCAN = "SELECT max(region), max(activity), max(size), sum(holding), sum(turnover) FROM read_parquet('{path}')"


def levels(letter: str, *sizes: int) -> tuple[Hierarchy, list[str]]:
    """Return a tree with given numbers of evenly spread codes per level, and its leaves."""
    pairs, above = [], ["Total"]
    for level, size in enumerate(sizes):
        codes = [f"{letter}{level}{number:03d}" for number in range(size)]
        pairs += [(code, above[number * len(above) // size]) for number, code in enumerate(codes)]
        above = codes
    return Hierarchy.from_pairs(pairs), above


REGION, REGIONS = levels("R", 16, 80, 400)
ACTIVITY, ACTIVITIES = levels("A", 20, 100, 300, 600)
SIZE, SIZES = levels("S", 5)
HIERARCHIES = {"region": REGION, "activity": ACTIVITY, "size": SIZE}


def write_records(path: Path, n: int, kind: str, seed: int = 1) -> None:
    """Invent records and write them to a Parquet file."""
    random = np.random.default_rng(seed)
    n_leaves = len(REGIONS) * len(ACTIVITIES) * len(SIZES)
    single = random.random(n) < SINGLE_SHARE[kind]
    n_small, n_large = max(1, n // 4), max(1, int(n * (1 - SINGLE_SHARE[kind])) // 8)
    holding = np.where(single, random.integers(0, n_small, n), n_small + random.integers(0, n_large, n))
    home = random.integers(0, n_leaves, n_small)
    leaf = np.where(single, home[np.minimum(holding, n_small - 1)], random.integers(0, n_leaves, n))

    def column(places: np.ndarray, codes: list[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int16)), pa.array(codes))

    turnover = random.lognormal(3, 2, n)
    records = pa.table(
        {
            "region": column(leaf // (len(ACTIVITIES) * len(SIZES)), REGIONS),
            "activity": column(leaf // len(SIZES) % len(ACTIVITIES), ACTIVITIES),
            "size": column(leaf % len(SIZES), SIZES),
            "holding": pa.array(holding),
            "turnover": pa.array(turnover if kind == "any" else np.round(turnover, 2)),
        }
    )
    pq.write_table(records, path)


def measure(path: str) -> dict[str, float]:
    """Time one file in this process; the first call of a small table compiles or loads the kernels."""
    connection = duckdb.connect()
    scans, scans_cpu = [], []
    for _ in range(3):
        start, cpu = time.perf_counter(), time.process_time()
        connection.sql(SCAN.format(path=path)).fetchall()
        scans.append(time.perf_counter() - start)
        scans_cpu.append(time.process_time() - cpu)
    connection.close()
    few = pq.ParquetFile(path).read_row_group(0).slice(0, 1000)
    start = time.perf_counter()
    tabulate(few, ["region"], value="turnover", holding="holding", hierarchies={"region": REGION})
    cold = time.perf_counter() - start
    start, cpu = time.perf_counter(), time.process_time()
    table = tabulate(
        path, ["region", "activity", "size"], value="turnover", holding="holding", hierarchies=HIERARCHIES
    )
    seconds = time.perf_counter() - start
    return {
        "cells": table.n_cells,
        "scan_s": min(scans),
        "first_call_s": cold,
        "tabulate_s": seconds,
        "cpu_s": (spent := time.process_time() - cpu),
        "ratio": seconds / min(scans),
        "scan_cpu_s": min(scans_cpu),
        "cpu_ratio": spent / min(scans_cpu),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="write .bench/tabulation.json")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file)))
        return
    found = {}
    print(f"{options.records:,} records, all marginals per holding")
    print(
        f"{'set':6}{'scan s':>9}{'first call s':>14}{'tabulate s':>12}{'CPU s':>8}{'ratio':>8}{'of CPU':>8}"
        f"{'peak MB':>9}"
    )
    with tempfile.TemporaryDirectory(prefix="hitoku-bench-") as folder:
        for kind in SINGLE_SHARE:
            path = Path(folder) / f"{kind}.parquet"
            write_records(path, options.records, kind)
            # A process of its own, so that the peak is that of tabulating and not of inventing records.
            command = [sys.executable, "-m", "bench.tabulation", "--file", str(path)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            one = found[kind] = json.loads(answer.stdout)
            print(
                f"{kind:6}{one['scan_s']:9.2f}{one['first_call_s']:14.2f}{one['tabulate_s']:12.2f}"
                f"{one['cpu_s']:8.2f}{one['ratio']:8.1f}{one['cpu_ratio']:8.1f}{one['peak_mb']:9.0f}"
            )
    if options.json:
        keep("tabulation", {"records": options.records, "sets": found})


if __name__ == "__main__":
    main()
