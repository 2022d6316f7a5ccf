"""Files and frames become ``records`` of a database, with columns of our own naming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa

from hitoku.errors import DataError, did_you_mean
from hitoku.tabulation.database import literal, quoted, translate_errors
from hitoku.tabulation.file_format import READING, FileFormat, TextFile, look_at
from hitoku.tabulation.frame_files import EXCEL, SAS, STATA, read_frame
from hitoku.tabulation.number_style import MOST_SHAPES, NumberStyle, shape_sql, style_of, whole

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")


def kind_of(path: Path) -> str:
    """Tell the kind of a file by its name: "parquet", "text" or "frame"."""
    if not path.exists():
        raise DataError(f"no file {path.name!r}", where=str(path), fix="check the path")
    if path.is_dir():
        raise DataError(f"{path.name or str(path)!r} is a folder", where=str(path), fix="name one file in it")
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "parquet"
    if name.endswith(CSV):
        return "text"
    if name.endswith((*STATA, *EXCEL, *SAS)):
        return "frame"
    raise DataError(
        f"cannot tell what kind of file {path.name!r} is",
        where=str(path),
        fix="give a frame, or a file that ends in .parquet, .csv (.csv.gz, .tsv, .txt), .xlsx, .dta, "
        ".sas7bdat or .xpt",
    )


def reading_text(text: TextFile, folder: Path) -> str:
    """Write in SQL how a text file is read: every column as text, called k0, k1, ... from left to right.

    DuckDB knows UTF-8; another encoding goes through a copy in a private folder.
    """
    path = literal(str(text.copy_as_utf8(folder)))
    names = ", ".join(f"'k{number}': 'VARCHAR'" for number in range(len(text.header)))
    signs = f"delim = {literal(text.separator)}, quote = '\"', escape = '\"'"
    return f"read_csv({path}, header = true, auto_detect = false, {signs}, columns = {{{names}}})"


def attach_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    columns: Mapping[str, str],
    file: FileFormat | None,
    folder: Path,
    *,
    again: bool,
) -> tuple[str, str]:
    """Let ``records`` be these columns of a file; return what to call it, and a kind of frame."""
    where, kind = path.name, kind_of(path)
    if kind == "frame":
        return where, attach_frame(connection, read_frame(path), columns)
    if kind == "text":
        _attach_text(connection, look_at(path, file), columns, file, folder, again=again)
        return where, "pandas"
    attach_parquet(connection, path, columns)
    return where, "pandas"


def attach_parquet(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str]) -> None:
    """Let ``records`` be these columns of a Parquet file."""
    require(columns.values(), parquet_names(connection, path), path.name)
    chosen = ", ".join(f"{quoted(column)} AS {alias}" for alias, column in columns.items())
    with translate_errors(path.name):
        connection.execute(f"CREATE VIEW records AS SELECT {chosen} FROM read_parquet({literal(str(path))})")


def parquet_names(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Return the columns of a Parquet file."""
    with translate_errors(path.name):
        query = f"DESCRIBE SELECT * FROM read_parquet({literal(str(path))})"
        return [row[0] for row in connection.sql(query).fetchall()]


def _attach_text(
    connection: duckdb.DuckDBPyConnection,
    text: TextFile,
    columns: Mapping[str, str],
    file: FileFormat | None,
    folder: Path,
    *,
    again: bool,
) -> None:
    where = text.path.name
    require(columns.values(), text.header, where)
    chosen = ", ".join(f"k{text.header.index(column)} AS {alias}" for alias, column in columns.items())
    with translate_errors(where):
        # Parsed once, since several queries follow.
        connection.execute(f"CREATE TABLE records AS SELECT {chosen} FROM {reading_text(text, folder)}")
    styles: dict[NumberStyle, None] = {}
    for alias in ("x", "w"):
        if alias not in columns:
            continue
        shapes = shapes_of(connection, alias, where)
        style = style_among(shapes, columns[alias], where, file)
        if style is not None:
            styles[style] = None
            write_numbers(connection, alias, style, shapes, where)
    if not again:
        READING.info("%s: read as %s", where, ", ".join(map(str, [text, *styles])))


def write_numbers(
    connection: duckdb.DuckDBPyConnection, column: str, style: NumberStyle, shapes: Sequence[str], where: str
) -> None:
    """Turn a column of ``records`` from texts into numbers."""
    kind, number = number_sql(column, style, shapes)
    with translate_errors(where):
        connection.execute(f"ALTER TABLE records ALTER {column} TYPE {kind} USING {number}")


def number_sql(column: str, style: NumberStyle, shapes: Sequence[str]) -> tuple[str, str]:
    """Write in SQL the type of the numbers in a column of texts, and how a text becomes one."""
    kind = "BIGINT" if whole(shapes, style) else "DOUBLE"
    return kind, f"CAST({style.sql(column)} AS {kind})"


def style_among(shapes: Sequence[str], name: str, where: str, file: FileFormat | None) -> NumberStyle | None:
    """Find out how the numbers of a column are written; None where it holds none, or all kinds of things."""
    return style_of(shapes, name, where, file) if any(shapes) and len(shapes) < MOST_SHAPES else None


def shapes_of(
    connection: duckdb.DuckDBPyConnection, column: str, where: str, table: str = "records"
) -> list[str]:
    """Return the shapes of the entries of a column; as many as may be looked at."""
    query = f"SELECT DISTINCT {shape_sql(column)} FROM {table} WHERE {column} IS NOT NULL LIMIT {MOST_SHAPES}"
    with translate_errors(where):
        return [row[0] for row in connection.sql(query).fetchall()]


def attach_frame(connection: duckdb.DuckDBPyConnection, data: Any, columns: Mapping[str, str]) -> str:
    """Let ``records`` be these columns of a frame; return its kind."""
    table, backend = arrow_of(data, columns)
    attach_arrow(connection, table)
    return backend


def attach_arrow(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> None:
    """Let ``records`` be an Arrow table."""
    with translate_errors("data"):
        connection.register("frame", table)
        connection.execute("CREATE VIEW records AS SELECT * FROM frame")


def arrow_of(data: Any, columns: Mapping[str, str]) -> tuple[pa.Table, str]:
    """Return columns of a frame, called as wanted, and the kind of the frame."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        require(columns.values(), data.columns, "data")
        chosen = ", ".join(f"{quoted(column)} AS {quoted(alias)}" for alias, column in columns.items())
        # Relations belong to the caller's connection, whose settings are not ours to change.
        with translate_errors("data"):
            return data.project(chosen).to_arrow_table(), "pandas"
    try:
        frame = nw.from_native(data)
    except TypeError as error:
        raise DataError(
            f"cannot read a {type(data).__name__} as a data frame",
            fix="give a pandas, polars or pyarrow frame, a DuckDB relation, or a path",
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise DataError("two columns have the same name", where="data", fix="rename one of them") from error
    require(columns.values(), frame.collect_schema().names(), "data")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.select(list(dict.fromkeys(columns.values()))).collect()
    backend = frame.implementation.value
    arrays = {alias: _arrow_column(frame[column], column) for alias, column in columns.items()}
    return pa.table(arrays), backend if backend in {"pandas", "polars", "pyarrow"} else "pandas"


def _arrow_column(series: nw.Series[Any], column: str) -> pa.Array:
    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # A pandas column of objects: numbers and texts side by side are codes, compared as text.
        listed = series.to_list()
    missing = [entry is None or entry != entry for entry in listed]  # noqa: PLR0124 - NaN
    if all(isinstance(entry, str | int) for entry, gone in zip(listed, missing, strict=True) if not gone):
        return pa.array([None if gone else str(e) for e, gone in zip(listed, missing, strict=True)])
    raise DataError(
        f"column {column!r} mixes several kinds of things",
        column=column,
        where="data",
        fix="give it one type: text for codes, numbers for values",
    )


def require(wanted: Iterable[str], found: Sequence[str], where: str) -> None:
    """Raise on the first column that is missing, naming the nearest one."""
    for column in wanted:
        if column not in found:
            several = [part.strip() for part in str(column).split(",")]
            fix = did_you_mean(column, found)
            if len(several) > 1 and set(several) <= set(found):
                fix = f"name each column by itself: {', '.join(map(repr, several))}"
            raise DataError(f"no column {column!r}", column=column, where=where, fix=fix)
