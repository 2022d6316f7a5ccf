"""Many records of Parquet on one machine, in bounded memory: CPU, peak memory, and what was written to disk.

Region 200, activity 50, size 5, each with a total: 61,506 cells; names of holdings are texts, about eight
records each, so that numbering them is more than a small memory holds. Records are invented by DuckDB, one
block after the other.

    python -m bench.out_of_core --records 100_000_000 --memory-limit 2GB
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

from hitoku.tabulation import tabulate

BY = ["region", "activity", "size"]
RECORDS = """
    COPY (
        SELECT (hash(i) % 200 + 1000)::INTEGER AS region, (hash(i + 1) % 50 + 100)::INTEGER AS activity,
               (hash(i + 2) % 5 + 1)::TINYINT AS size,
               'H' || lpad((hash(i + 3) % {holdings})::VARCHAR, 10, '0') AS holding,
               (hash(i + 4) % 10000000 / 100)::DOUBLE AS turnover
        FROM range({n}) AS r(i)
    ) TO '{path}' (FORMAT parquet)
"""
SCAN = "SELECT max(region), max(activity), max(size), max(holding), sum(turnover) FROM read_parquet('{path}')"


def write_records(path: Path, n: int) -> None:
    connection = duckdb.connect(config={"memory_limit": "2GB", "preserve_insertion_order": False})
    connection.execute(RECORDS.format(n=n, path=path, holdings=max(n // 8, 1)))
    connection.close()


def measure(path: str, limit: str, folder: str) -> dict[str, float]:
    """Tabulate one file in this process, and look at its temporary folder meanwhile."""
    start = time.process_time()
    connection = duckdb.connect(config={"memory_limit": limit})
    connection.sql(SCAN.format(path=path)).fetchall()
    connection.close()
    scan = time.process_time() - start
    spilled, done = 0, threading.Event()

    def watch() -> None:
        nonlocal spilled
        while not done.wait(0.1):
            here = 0
            for file in Path(folder).rglob("*"):
                try:
                    here += file.stat().st_blocks * 512 if file.is_file() else 0
                except OSError:
                    continue
            spilled = max(spilled, here)

    watching = threading.Thread(target=watch)
    watching.start()
    start, clock = time.process_time(), time.perf_counter()
    try:
        table = tabulate(path, BY, value="turnover", holding="holding", memory_limit=limit)
    finally:
        done.set()
        watching.join()
    return {
        "cells": table.n_cells,
        "records": int(table.measures["records"][-1]),
        "scan_cpu_s": scan,
        "cpu_s": time.process_time() - start,
        "wall_s": time.perf_counter() - clock,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "spilled_mb": spilled / 2**20,
        "left_behind": len(list(Path(folder).iterdir())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="500MB")
    parser.add_argument("--file", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file[0], options.memory_limit, options.file[1])))
        return
    with tempfile.TemporaryDirectory(prefix="hitoku-bench-") as folder:
        path, own = Path(folder) / "records.parquet", Path(folder) / "temporary"
        own.mkdir()
        free = shutil.disk_usage(folder).free
        if free < 100 * options.records:
            print(f"{free / 1e9:.0f} GB are free in {folder}: not enough")
            return
        start = time.process_time()
        write_records(path, options.records)
        print(
            f"{options.records:,} records, {path.stat().st_size / 1e6:,.0f} MB of Parquet, made in", end=" "
        )
        print(f"{time.process_time() - start:.0f} CPU s; memory_limit {options.memory_limit}")
        command = [sys.executable, "-m", "bench.out_of_core", "--memory-limit", options.memory_limit]
        answer = subprocess.run(
            [*command, "--file", str(path), str(own)],
            env=os.environ | {"TMPDIR": str(own)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for name, value in json.loads(answer.stdout).items():
            print(f"  {name:14}{value:14,.1f}")


if __name__ == "__main__":
    main()
