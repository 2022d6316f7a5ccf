"""Codes that came from elsewhere as Arrow columns, written as text in DuckDB's way."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from hitoku.tabulation.cube import FLOATS


def codes_of(raw: Any) -> list[str | None]:
    """Write codes as DuckDB does, for others write some numbers differently: 1e10 is 1.0E10 in Spark."""
    connection = duckdb.connect(":memory:")
    try:
        connection.register("listed", pa.table({"raw": raw, "place": pa.array(range(len(raw)))}))
        column = "raw + 0" if kind_of(raw) in FLOATS else "raw"
        rows = connection.sql(f"SELECT CAST({column} AS VARCHAR) FROM listed ORDER BY place").fetchall()
    finally:
        connection.close()
    return [row[0] for row in rows]


def kind_of(raw: Any) -> str:
    """Return DuckDB's type of an Arrow column, as far as it matters for codes."""
    if pa.types.is_float64(raw.type):
        return "DOUBLE"
    return "FLOAT" if pa.types.is_float32(raw.type) else "other"
