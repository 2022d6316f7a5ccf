"""The same table, bit by bit, from the SQL of a warehouse through Ibis and from DuckDB with our kernels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
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
from hitoku.errors import DataError, ParameterError
from hitoku.tabulation import tabulate

ibis = pytest.importorskip("ibis", reason="ibis is not installed (hitoku[ibis])")
# Ibis 12 calls DuckDB 2 by names of before.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def records():
    made = make_records(1500)
    random = np.random.default_rng(5)
    made["huge"] = random.integers(-(2**41), 2**41, len(made))
    return made


@pytest.fixture(scope="module", params=["duckdb", pytest.param("sqlite", marks=pytest.mark.long)])
def connection(request):
    made = getattr(ibis, request.param).connect()
    yield made
    made.disconnect()


def stored(connection, name, frame):
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    if connection.name == "duckdb":
        return connection.create_table(name, rows)
    # Ibis does not write missing integers to SQLite.
    kinds = {"int64": "INTEGER", "double": "REAL"}
    columns = ", ".join(f"{field.name} {kinds.get(str(field.type), 'TEXT')}" for field in rows.schema)
    connection.con.execute(f"CREATE TABLE {name} ({columns})")
    marks = ", ".join("?" * rows.num_columns)
    connection.con.executemany(
        f"INSERT INTO {name} VALUES ({marks})",  # noqa: S608 - our own names
        zip(*(column.to_pylist() for column in rows.columns), strict=True),
    )
    return connection.table(name)


@pytest.fixture(scope="module")
def table(connection, records):
    return stored(connection, "firms", records)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"value": "cents", "unit": "u", "holding": "h"}, id="units and holdings"),
        pytest.param({"value": "huge", "holding": "h", "magnitude": "abs", "top": 2}, id="signs"),
        pytest.param({"value": "huge", "unit": "u"}, id="squares beyond 64 bits", marks=pytest.mark.long),
        pytest.param({"value": "any", "decimals": 1, "unit": "u"}, id="rounded"),
        pytest.param({"weight": "w", "holding": "h"}, id="weighted counts"),
        pytest.param({"weight": "odd", "decimals": 0}, id="weights rounded", marks=pytest.mark.long),
        pytest.param({}, id="counts", marks=pytest.mark.long),
        pytest.param({"value": "whole", "where": {"year": ["2020"], "rate": ["0.5", "3.0"]}}, id="filter"),
        pytest.param(
            {"value": "whole", "outside": [{"year": ["2020"], "rate": ["0.5", "3.0"]}]}, id="outside"
        ),
    ],
)
def test_measures_equal_duckdb_bytes(options, records, table):
    here = tabulate(records, BY, hierarchies=HIERARCHIES, **options)
    assert_same_bytes(here, tabulate(table, BY, hierarchies=HIERARCHIES, **options))


def test_codes_and_structural_zeros_match_duckdb(connection):
    table = stored(connection, "codes", ODD_CODES)
    assert_same_bytes(tabulate(ODD_CODES, **ODD_CODES_ASKED), tabulate(table, **ODD_CODES_ASKED))


@pytest.mark.parametrize("options", REFUSED)
def test_ibis_raises_the_same_errors(options):
    table = ibis.memtable(pa.Table.from_pandas(UNFIT, preserve_index=False))
    assert_refused_alike([UNFIT, table], options)


def test_operations_impossible_in_sql_raise_by_name(table):
    with pytest.raises(ParameterError, match="different weights cannot be ranked by a warehouse"):
        tabulate(table, ["region"], value="cents", weight="w")
    with pytest.raises(ParameterError, match=r"column 'any' has numbers of more than 4 decimals"):
        tabulate(table, ["region"], value="any")
    with pytest.raises(ParameterError, match=r"column 'odd' has numbers of more than 4 decimals"):
        tabulate(table, ["region"], weight="odd")


@pytest.mark.long
def test_linked_tables_with_column_trees_run_end_to_end(records, table):
    tables = {"regions": {"by": ["region"]}, "both": {"by": ["region", "activity"]}}
    here, there = (ht.link(data, tables, value="cents", holding="h") for data in (records, table))
    assert here.table.value.tobytes() == there.table.value.tobytes()
    assert repr(here) == repr(there)
    grouped = table.mutate(county=table["region"].left(1))
    trees = {"hierarchies": {"region": ["county"]}, "value": "cents"}
    records = records.assign(county=records["region"].str[0])
    assert_same_bytes(tabulate(records, ["region"], **trees), tabulate(grouped, ["region"], **trees))
    options = {"by": ["region"], "rules": ["min_frequency:n=220"], "width": 3}
    assert ht.protect(records, **options).frame.equals(ht.protect(table, **options).frame)


def test_database_receives_only_small_code_tables(connection, table):
    def listed():
        # Ibis' own list_tables does not know DuckDB 2.
        if connection.name == "duckdb":
            names = [row[0] for row in connection.con.sql("SHOW TABLES").fetchall()]
        else:
            names = connection.list_tables()
        return {name: connection.table(name).count().execute() for name in names}

    before = listed()
    tabulate(table, ["region"], value="cents", holding="h", where={"year": ["2020"]})
    made = {name: n for name, n in listed().items() if name not in before}
    # Codes of region, those above each of them, years that are kept; Ibis keeps them until it is closed.
    assert all("memtable" in name for name in made)
    assert sorted(made.values()) == [1, 6, 6 * 2]


def test_database_error_is_wrapped_without_quotes():
    secret = ibis.memtable({"g": ["a"], "name": ["Miller"]}).mutate(x=ibis._.name.cast("int64"))
    with pytest.raises(DataError, match="could not be read") as caught:
        tabulate(secret, ["g"], value="x")
    assert "Miller" not in str(caught.value)
