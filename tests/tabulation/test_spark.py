"""The same table, bit by bit, from Spark and from DuckDB: one session on two cores for most of it.

make test-spark; needs Java 17 and hitoku[spark].
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tabulation.engine_records import (
    BY,
    HIERARCHIES,
    ODD_CODES,
    ODD_CODES_ASKED,
    REFUSED,
    UNFIT,
    assert_refused_alike,
    assert_same_bytes,
    make_records,
)

import hitoku as ht
from hitoku.errors import HitokuError, ParameterError, TableError
from hitoku.io.recipe import Recipe
from hitoku.tabulation import is_ibis, is_spark, session_at, tabulate
from hitoku.tabulation.engines import spark_tasks

# More cells than fit.
LARGE = {
    "year": ht.Hierarchy.flat(map(str, range(2020, 12_000))),
    "text": ht.Hierarchy.flat(["1,5", *map(str, range(10_000))]),
}
needs_spark = [
    pytest.mark.spark,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    # Spark leaves sockets to the collector of garbage, and pandas warns about how Spark uses it.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def session():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed (hitoku[spark])")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as here:
        here.setenv("PYSPARK_PYTHON", sys.executable)
        warnings.simplefilter("ignore")
        made = (
            sql.SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        made.sparkContext.setLogLevel("OFF")
        yield made
        made.stop()


@pytest.fixture(scope="module")
def records():
    return make_records(10_000)


@pytest.fixture(scope="module")
def frame(session, records):
    # Ten partitions, some of them empty.
    made = session.createDataFrame(pa.Table.from_pandas(records, preserve_index=False))
    return made.repartition(8, "activity").cache()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        pytest.param({"value": "cents", "unit": "u", "holding": "h"}, 1, id="units and holdings"),
        pytest.param(
            {"value": "any", "weight": "odd", "unit": "u", "holding": "h", "magnitude": "abs"},
            7,
            id="any numbers, weights, signs",
        ),
        pytest.param({"value": "cents", "weight": "w", "holding": "h", "top": 2}, 2, id="decimals, weights"),
        pytest.param({"weight": "odd", "holding": "h"}, 2, id="weighted counts"),
        pytest.param({}, 2, id="counts"),
        pytest.param({"value": "any", "weight": "w", "decimals": 1, "unit": "u"}, 2, id="rounded"),
        pytest.param({"value": "whole", "where": {"year": ["2020"], "rate": ["0.5", "3.0"]}}, 2, id="filter"),
        pytest.param(
            {"value": "whole", "outside": [{"year": ["2020"], "rate": ["0.5", "3.0"]}]}, 2, id="outside"
        ),
    ],
)
class TestSpark:
    pytestmark = needs_spark

    def test_measures_equal_duckdb_bytes(self, options, parts, records, frame):
        here = tabulate(records, BY, hierarchies=HIERARCHIES, **options)
        there = tabulate(frame, BY, hierarchies=HIERARCHIES, threads=parts, **options)
        assert_same_bytes(here, there)


@pytest.mark.spark
class TestCodesAndRefusals:
    pytestmark = needs_spark

    def test_codes_and_structural_zeros_match_duckdb(self, session):
        frame = session.createDataFrame(pa.Table.from_pandas(ODD_CODES, preserve_index=False))
        assert_same_bytes(tabulate(ODD_CODES, **ODD_CODES_ASKED), tabulate(frame, **ODD_CODES_ASKED))

    @pytest.mark.parametrize(
        "options",
        [
            *REFUSED,
            {"by": ["year"], "where": {"year": "2020"}},
            {"by": ["year", "text"], "hierarchies": LARGE, "memory_limit": "1GB"},
        ],
    )
    def test_spark_raises_the_same_errors(self, options, session):
        frame = session.createDataFrame(pa.Table.from_pandas(UNFIT, preserve_index=False))
        assert_refused_alike([UNFIT, frame], {"value": None, **options})

    def test_linked_tables_with_column_trees_match_duckdb(self, session):
        records = make_records(300)
        records["county"] = records["region"].str[0]
        frame = session.createDataFrame(pa.Table.from_pandas(records, preserve_index=False))
        tables = {
            "towns": {"by": ["region"], "hierarchies": {"region": ["county"]}},
            "counties": {"by": ["county"]},
        }
        trees = {"hierarchies": {"region": ["county"]}, "value": "any", "holding": "h"}
        assert_same_bytes(tabulate(records, ["region"], **trees), tabulate(frame, ["region"], **trees))
        here, there = (
            ht.link(data, {name: dict(told, value="cents") for name, told in tables.items()})
            for data in (records, frame)
        )
        assert here.table.value.tobytes() == there.table.value.tobytes()
        assert repr(here) == repr(there)

    def test_path_is_read_by_spark_if_requested(self, session, tmp_path, records):
        pq.write_table(pa.Table.from_pandas(records.head(500), preserve_index=False), tmp_path / "r.parquet")
        options = {"by": ["region"], "value": "any", "holding": "h"}
        path = tmp_path / "r.parquet"
        here = tabulate(path, **options)
        assert_same_bytes(here, tabulate(path, engine="spark", **options))
        assert_same_bytes(here, tabulate(str(path), engine=session, **options))
        with pytest.raises(HitokuError, match="not that of a Parquet file"):
            tabulate(tmp_path / "r.csv", engine="spark", **options)
        with pytest.raises(HitokuError, match=r"could not read 'none\.parquet'"):
            tabulate(tmp_path / "none.parquet", engine="spark", **options)

    def test_recipe_runs_end_to_end_on_spark(self, session, tmp_path):
        records = make_records(300)
        pq.write_table(pa.Table.from_pandas(records, preserve_index=False), tmp_path / "firms.parquet")
        keys = {
            "data": "firms.parquet",
            "by": ["region", "activity"],
            "rules": ["min_frequency:n=3"],
            "width": 3,
        }
        here = ht.run_recipe(Recipe.of(keys, tmp_path))
        there = ht.run_recipe(Recipe.of({**keys, "engine": "spark", "spark": "local[2]"}, tmp_path))
        assert here.outcome.release.published.tobytes() == there.outcome.release.published.tobytes()
        frame = session.createDataFrame(pa.Table.from_pandas(records, preserve_index=False))
        options = {"by": ["region"], "rules": ["min_frequency:n=60"], "width": 3}
        one, other = ht.protect(records, **options), ht.protect(frame, **options)
        assert one.frame.equals(other.frame)

    def test_workers_with_another_version_raise(self, frame, monkeypatch):
        monkeypatch.setattr(spark_tasks, "own_version", lambda: "99.0")
        with pytest.raises(TableError, match=r"have hitoku (?!99)\S+, here"):
            tabulate(frame, ["region"], value="cents")

    def test_session_is_left_unchanged(self, session, frame):
        tabulate(frame, ["region"], value="cents", where={"year": ["2020"]})
        assert [table.name for table in session.catalog.listTables() if "hitoku" in table.name] == []

    def test_million_records_match_the_python_engine(self, session, tmp_path):
        pq.write_table(
            pa.Table.from_pandas(make_records(1_000_000), preserve_index=False), tmp_path / "million.parquet"
        )
        options = {"value": "any", "unit": "u", "holding": "h", "hierarchies": HIERARCHIES}
        here = tabulate(tmp_path / "million.parquet", BY, **options)
        there = tabulate(tmp_path / "million.parquet", BY, engine=session, threads=7, **options)
        assert_same_bytes(here, there)


CONNECT = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from tests.tabulation.engine_records import BY, HIERARCHIES, assert_same_bytes, make_records
from hitoku.tabulation import tabulate
import pyarrow as pa

session = SparkSession.builder.remote("local[2]").getOrCreate()
records = make_records(2000)
frame = session.createDataFrame(pa.Table.from_pandas(records, preserve_index=False))
assert "connect" in type(frame).__module__
options = {"value": "any", "weight": "w", "unit": "u", "holding": "h", "hierarchies": HIERARCHIES}
assert_same_bytes(tabulate(records, BY, **options), tabulate(frame, BY, **options))
print("same bytes")
session.stop()
"""


@pytest.mark.spark
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_spark_connect_session_is_supported():
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed (hitoku[spark])")
    pytest.importorskip("grpc", reason="grpcio is not installed (hitoku[spark])")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "same bytes" in done.stdout, done.stderr[-3000:]


OTHER_PYTHON = """
import sys
import pandas as pd
import hitoku as ht
from hitoku.tabulation import session_at
session = session_at(sys.argv[1] or None)
frame = session.createDataFrame(pd.DataFrame({"g": ["a", "b"], "x": [1.0, 2.0]}))
try:
    print(ht.tabulate(frame, ["g"], value="x").n_cells, "cells")
except ht.HitokuError as error:
    print(error.code, error)
session.stop()
"""


@pytest.mark.spark
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
@pytest.mark.parametrize("address", ["local[1]", ""])
def test_spark_workers_run_this_python(address, tmp_path):
    """A session that hitoku opens runs this Python; another one is named with the package it lacks."""
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed (hitoku[spark])")
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    own = {name: text for name, text in os.environ.items() if name != "PYSPARK_PYTHON"}
    own |= {"SPARK_LOCAL_IP": "127.0.0.1", "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    def run(environment):
        command = [sys.executable, "-W", "ignore", "-c", OTHER_PYTHON, address]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        return done.stdout + done.stderr[-3000:]

    assert "3 cells" in run(own)
    told = run(own | {"PYSPARK_PYTHON": str(bare)})
    assert "spark_package_missing" in told
    assert f"({bare}) does not have the package" in told


def test_engines_elsewhere_are_not_imported_for_others():
    assert not is_spark(pd.DataFrame({"g": ["a"]}))
    assert not is_ibis(pd.DataFrame({"g": ["a"]}))
    code = "import sys, pandas, hitoku; hitoku.tabulate(pandas.DataFrame({'g': ['a']}), ['g'])"
    code += "; print({'pyspark', 'ibis'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_spark_address_requires_the_spark_engine():
    with pytest.raises(HitokuError, match="must be the address of an engine"):
        Recipe.of({"data": "a.parquet", "by": ["g"], "rules": ["min_frequency:n=3"], "spark": "local[2]"})


@pytest.mark.parametrize("engine", ["sparkle", 7])
def test_unknown_engine_raises(engine):
    with pytest.raises(ParameterError, match="engine must be 'duckdb' or 'spark'"):
        tabulate(pd.DataFrame({"g": ["a"]}), ["g"], engine=engine)


def test_local_frame_is_not_sent_to_cluster():
    with pytest.raises(ParameterError, match="a DataFrame is on this machine"):
        tabulate(pd.DataFrame({"g": ["a"]}), ["g"], engine="spark")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("sparkk://host:7077", "no master of Spark"),
        ("localhost", "no master of Spark"),
        ("local[two]", "no master of Spark"),
        ("spark://127.0.0.1:1", "cannot connect"),
        ("sc://127.0.0.1:1/;token=x", "cannot connect"),
    ],
)
def test_address_without_spark_raises_at_once(address, told):
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed (hitoku[spark])")
    if shutil.which("java") is None and not address.startswith("sc:"):
        pytest.skip("Java is not installed")
    with pytest.raises(ParameterError, match=told):
        session_at(address)


def test_missing_java_or_spark_explains_installation(monkeypatch):
    with monkeypatch.context() as here:
        here.setenv("PATH", "")
        here.delenv("JAVA_HOME", raising=False)
        pytest.importorskip("pyspark.sql", reason="pyspark is not installed (hitoku[spark])")
        with pytest.raises(ParameterError, match="Java is not installed"):
            session_at("local[2]")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ParameterError, match="Spark is not installed") as caught:
        session_at("local[2]")
    assert caught.value.fix == "install hitoku[spark]"
