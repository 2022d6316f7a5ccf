"""A real cluster on loopback: a master and two workers of one core each, of which one is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tabulation.engine_records import make_records

ROOT = Path(__file__).resolve().parents[2]
CLASSES = "org.apache.spark.deploy"

# Runs in a process of its own, for a process has one session. Who begins to read the records leaves a file;
# then the test kills a worker, and the rest of the work goes on.
DRIVER = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from tests.tabulation.engine_records import BY, HIERARCHIES, assert_same_bytes
from hitoku.tabulation import tabulate

master, path, flag = sys.argv[1:]
session = (
    SparkSession.builder.master(master)
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.executor.memory", "512m")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.network.timeout", "60s")
    .config("spark.executor.heartbeatInterval", "5s")
    .getOrCreate()
)
options = {"value": "any", "weight": "odd", "holding": "h", "hierarchies": HIERARCHIES}


def slow(batches):
    import os, time
    for batch in batches:
        open(flag + "-" + str(os.getpid()), "w").close()
        time.sleep(0.5)
        yield batch


frame = session.read.parquet(path).repartition(12)
frame = frame.mapInArrow(slow, frame.schema)
there = tabulate(frame, BY, threads=6, **options)
assert_same_bytes(tabulate(path, BY, **options), there)
print("same bytes", flush=True)
session.stop()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (hitoku[spark])")
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    }
    port, started = free_port(), []

    def start(*command):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *command], env=environment, start_new_session=True, **quiet
        )
        started.append(process)
        return process

    web = ["--webui-port", "0"]
    start(f"{CLASSES}.master.Master", "--host", "127.0.0.1", "--port", str(port), *web)
    wait_for(lambda: connected(port))
    one = ["--cores", "1", "--memory", "600m", "--host", "127.0.0.1", *web]
    workers = [start(f"{CLASSES}.worker.Worker", *one, f"spark://127.0.0.1:{port}") for _ in range(2)]
    yield f"spark://127.0.0.1:{port}", workers, environment
    for process in started:
        end(process)


def connected(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(done, seconds=400):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.2)


def end(process):
    """End a process and those that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.spark
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_killed_worker_does_not_change_the_table(cluster, tmp_path):
    master, workers, environment = cluster
    path, flag = tmp_path / "records.parquet", tmp_path / "begun"
    pq.write_table(pa.Table.from_pandas(make_records(5_000), preserve_index=False), path)
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, master, str(path), str(flag)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        # Work has begun in both executors.
        wait_for(lambda: len(list(tmp_path.glob("begun-*"))) >= 2 or driver.poll() is not None)
        assert driver.poll() is None, driver.stderr.read()[-3000:]
        end(workers[0])
        out, error = driver.communicate(timeout=600)
    finally:
        end(driver)
    assert "same bytes" in out, error[-3000:]
