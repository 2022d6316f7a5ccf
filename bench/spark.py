"""The same table from DuckDB and from Spark, compared with Spark's CUBE, which does not support holdings.

Region 200, activity 50, size 5, each with a total: 61,506 cells; holdings that span cells, one with 5 % of
the records, 2 % of the records without. CPU seconds of the process with all its children (the JVM and its
workers), after a first table of 1,000 records; the fixed cost is that of the session and of this first table.
``cluster`` is a standalone cluster on this machine: a master and two workers of one core each.

    python -m bench.spark --records 1_000_000
    python -m bench.spark --records 10_000_000 --ways duckdb cube spark
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hitoku.tabulation import tabulate

BY = ["region", "activity", "size"]
CUBE = """
    SELECT region, activity, size, count(*) AS n, sum(turnover) AS x
    FROM {0} GROUP BY CUBE (region, activity, size)
"""


def write_records(path: Path, n: int) -> None:
    """Invent records and write them to a Parquet file, in row groups that Spark can share out."""
    random = np.random.default_rng(1)
    holding = random.integers(0, max(n // 8, 1), n)
    holding[random.random(n) < 0.05] = 0
    records = {
        "region": pa.array(random.integers(1000, 1200, n)),
        "activity": pa.array(random.integers(100, 150, n)),
        "size": pa.array(random.integers(1, 6, n)),
        "holding": pa.array(holding, mask=random.random(n) < 0.02),
        "turnover": pa.array(np.round(random.lognormal(3, 2, n), 2)),
    }
    pq.write_table(pa.table(records), path, row_group_size=250_000)


def cpu(pid: int) -> float:
    """CPU seconds of a process and of everything that it started, those that have ended included."""
    children: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, todo = 0.0, [pid]
    while todo:
        one = todo.pop()
        total += spent.get(one, 0.0)
        todo += children.get(one, [])
    return total


@contextmanager
def cluster() -> Iterator[str]:
    """A master and two workers of one core each, on loopback; its address."""
    import pyspark  # noqa: PLC0415 - only here

    home = Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="hitoku-bench-") as work:
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": work,
            "PYSPARK_PYTHON": sys.executable,
        }
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
        one = [
            str(home / "bin" / "spark-class"),
            "org.apache.spark.deploy.master.Master",
            "--webui-port",
            "0",
        ]
        started = [subprocess.Popen([*one, "--host", "127.0.0.1", "--port", str(port)], **quiet)]
        try:
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.2)
            one[1] = "org.apache.spark.deploy.worker.Worker"
            one += ["--cores", "1", "--memory", "3g", "--host", "127.0.0.1", f"spark://127.0.0.1:{port}"]
            started += [subprocess.Popen(one, **quiet) for _ in range(2)]
            yield f"spark://127.0.0.1:{port}"
        finally:
            for process in started[::-1]:
                process.terminate()
                process.wait()


def measure(way: str, path: str, few: str) -> dict[str, float]:
    """Measure one way in this process."""
    if way != "cluster":
        return measure_at("local[2]", way, path, few)
    with cluster() as master:
        return measure_at(master, way, path, few)


def measure_at(master: str, way: str, path: str, few: str) -> dict[str, float]:
    options = {"value": "turnover", "holding": "holding"}
    start, clock = cpu(os.getpid()), time.perf_counter()
    if way == "duckdb":

        def run(file: str) -> None:
            tabulate(file, BY, **options)
    else:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only here

        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = (
            SparkSession.builder.master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "4g")
            .config("spark.executor.memory", "2g")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")

        def run(file: str) -> None:
            if way == "cube":
                session.sql(CUBE.format(f"parquet.`{file}`")).toArrow()
            else:
                tabulate(file, BY, engine=session, **options)

    run(few)
    fixed, begun = cpu(os.getpid()) - start, time.perf_counter()
    start = cpu(os.getpid())
    run(path)
    found = {
        "fixed_cpu_s": fixed,
        "fixed_wall_s": begun - clock,
        "cpu_s": cpu(os.getpid()) - start,
        "wall_s": time.perf_counter() - begun,
    }
    if way != "duckdb":
        session.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--ways", nargs="+", default=["duckdb", "cube", "spark", "cluster"])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    if shutil.which("java") is None:
        print("Java is not installed: nothing to measure")
        return
    print(f"{options.records:,} records")
    print(f"{'way':8}{'fixed CPU s':>13}{'fixed s':>9}{'CPU s':>8}{'s':>8}")
    with tempfile.TemporaryDirectory(prefix="hitoku-bench-") as folder:
        many, few = Path(folder) / "many.parquet", Path(folder) / "few.parquet"
        write_records(many, options.records)
        write_records(few, 1000)
        for way in options.ways:
            command = [sys.executable, "-m", "bench.spark", "--one", way, str(many), str(few)]
            answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
            one = json.loads(answer.stdout.splitlines()[-1])
            print(
                f"{way:8}{one['fixed_cpu_s']:13.1f}{one['fixed_wall_s']:9.1f}{one['cpu_s']:8.1f}{one['wall_s']:8.1f}"
            )


if __name__ == "__main__":
    main()
