"""A private database in memory: how it is opened, its limits, its errors, and its notation of codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from hitoku.errors import DataError, ParameterError, TableError
from hitoku.files import spill_folder
from hitoku.tabulation.cube import FLOATS
from hitoku.tabulation.text_files import ragged_line_error, unreadable

# Default memory limit of databases; see limited_memory.
LIMIT: ContextVar[str | None] = ContextVar("memory_limit", default=None)
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# The numbers in DuckDB's message about a line of a text file; the rest of the message quotes the line.
LINE = re.compile(
    r"CSV Error on Line: (?P<line>\d+)(?:.*?Columns: (?P<named>\d+) Found: (?P<found>\d+))?", re.DOTALL
)
# DuckDB's message for a query that was ended by a signal.
INTERRUPTED = "Query interrupted"


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Convert DuckDB's exceptions to hitoku's, without their messages, which may quote records."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise TableError(
            "out_of_memory",
            "the data do not fit into the memory allowed",
            where=where,
            fix="raise memory_limit, or tabulate fewer variables at a time",
        ) from error
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        # DuckDB reports Ctrl-C during a query only with this message.
        if INTERRUPTED not in str(error):
            raise
        raise KeyboardInterrupt from None
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        line = LINE.search(str(error))
        if line is not None:
            n_named, n_found = (int(line[part] or 0) for part in ("named", "found"))
            specific = ragged_line_error(where, int(line["line"]), n_found, n_named) if n_found else None
            raise (specific or unreadable(where, int(line["line"]))) from None
        raise DataError(
            "records_not_read",
            "the records could not be read ({kind})",
            where=where,
            fix="check that the file is whole and every column holds one kind of thing",
            kind=type(error).__name__,
        ) from error


def quote_name(name: str) -> str:
    """Quote a column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def limited_memory(memory_limit: str | None) -> Iterator[None]:
    """Set the default memory limit of databases that are opened in this context."""
    before = LIMIT.set(memory_limit)
    try:
        yield
    finally:
        LIMIT.reset(before)


def connect(
    spill: Path, memory_limit: str | None = None, threads: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a private database in memory."""
    config: dict[str, Any] = {
        "temp_directory": str(spill),
        # Nothing here depends on the order of records, and keeping it costs memory.
        "preserve_insertion_order": False,
        # A secure environment has no network; a missing extension is an error, not a download.
        "autoinstall_known_extensions": False,
    }
    memory_limit = memory_limit or LIMIT.get()
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    try:
        connection = duckdb.connect(":memory:", config=config)
        connection.execute("SET enable_progress_bar = false")
    except duckdb.Error as error:
        raise ParameterError(
            "engine_limits_invalid",
            "memory_limit or threads cannot be used",
            where="memory_limit={memory_limit!r}, threads={threads!r}",
            fix='write a size such as memory_limit="4GB" and a whole number of threads',
            memory_limit=memory_limit,
            threads=threads,
        ) from error
    return connection


def memory_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the bytes that a database may use."""
    row = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    amount, _, unit = str(row[0]).partition(" ")
    return int(float(amount) * UNITS[unit])


def allowed_memory(memory_limit: str | None = None) -> int:
    """Return a limit such as "4GB" in bytes; without one, most of the machine's memory."""
    with spill_folder() as spill:
        connection = connect(spill, memory_limit)
        try:
            return memory_of(connection)
        finally:
            connection.close()


def codes_of(raw: Any) -> list[str | None]:
    """Write codes as DuckDB does; other engines differ for some numbers: 1e10 is 1.0E10 in Spark."""
    connection = duckdb.connect(":memory:")
    try:
        connection.register("listed", pa.table({"raw": raw, "place": pa.array(range(len(raw)))}))
        column = "raw + 0" if arrow_kind(raw) in FLOATS else "raw"
        rows = connection.sql(f"SELECT CAST({column} AS VARCHAR) FROM listed ORDER BY place").fetchall()
    finally:
        connection.close()
    return [row[0] for row in rows]


def arrow_kind(raw: Any) -> str:
    """Return DuckDB's type of an Arrow column, as far as it matters for codes."""
    if pa.types.is_float64(raw.type):
        return "DOUBLE"
    return "FLOAT" if pa.types.is_float32(raw.type) else "other"
