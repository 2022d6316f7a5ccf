"""Files and frames become ``records`` of a database: some columns under hitoku's names, or all of them.

Stata and SAS data sets are read by pandas, which is installed anyway and reads .sas7bdat and
transport files (.xpt). pyreadstat supports more labels and formats, which tables do not need.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa

from hitoku.errors import DataError
from hitoku.files import spill_folder, split_sheet
from hitoku.tabulation.database import connect, literal, quote_name, translate_errors
from hitoku.tabulation.number_styles import (
    MAX_SHAPES,
    NumberStyle,
    present_sql,
    shape_sql,
    style_of,
    text_in_numbers,
    whole,
    wide_sql,
)
from hitoku.tabulation.text_files import READING, FileFormat, TextFile, is_text_file, look_at, require

STATA, SAS = (".dta",), (".sas7bdat", ".xpt")
# A transport file does not specify the encoding of its texts.
SAS_ENCODINGS = ("utf-8", "cp1252")


def read_frame(path: Path, file: FileFormat | None = None) -> Any:
    """Read a Stata or SAS file as a pandas frame; labelled codes stay numbers."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    try:
        if path.name.lower().endswith(STATA):
            frame: Any = pd.read_stata(path, convert_categoricals=False)
        else:
            frame = _read_sas(path)
    except Exception as error:  # noqa: BLE001 - readers raise anything on a broken file, and may quote it
        raise DataError(
            "cannot_read",
            "cannot read {file!r}: {reason}",
            where=str(path),
            fix="check that the file opens in the program that wrote it",
            file=path.name,
            reason=type(error).__name__,
        ) from None
    file = file or FileFormat()
    require((*file.drop_missing, *file.zero_missing), list(frame.columns), path.name)
    frame = frame.dropna(subset=list(file.drop_missing)) if file.drop_missing else frame
    return frame.fillna(dict.fromkeys(file.zero_missing, 0)) if file.zero_missing else frame


def _read_sas(path: Path) -> Any:
    """Read a SAS file; integral numbers become integers, because SAS has only doubles."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    if path.name.lower().endswith(".xpt"):
        for place, encoding in enumerate(SAS_ENCODINGS):
            try:
                frame: Any = pd.read_sas(path, format="xport", encoding=encoding)
                break
            except UnicodeDecodeError:
                if place + 1 == len(SAS_ENCODINGS):
                    raise
    else:
        frame = pd.read_sas(path, format="sas7bdat", encoding="infer")
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind == "f" and column.notna().all() and (column % 1 == 0).all():
            frame[name] = column.astype("int64")
    return frame


PARQUET = (".parquet", ".pq")


def kind_of(path: Path) -> str:
    """Return the kind of a file by its name: "parquet", "text" (a sheet, too) or "frame"."""
    path, _ = split_sheet(path)
    if not path.exists():
        raise DataError("no_file", "no file {file!r}", where=str(path), fix="check the path", file=path.name)
    if path.is_dir():
        raise DataError(
            "file_is_folder",
            "{file!r} is a folder",
            where=str(path),
            fix="name one file in it",
            file=path.name or str(path),
        )
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "parquet"
    if is_text_file(path):
        return "text"
    if name.endswith((*STATA, *SAS)):
        return "frame"
    raise DataError(
        "unknown_file_kind",
        "cannot tell what kind of file {file!r} is",
        where=str(path),
        fix="give a frame, or a file that ends in .parquet, .csv (.csv.gz, .tsv, .txt), .xlsx, .dta, "
        ".sas7bdat or .xpt",
        file=path.name,
    )


def reading_text(text: TextFile, folder: Path) -> str:
    """Return SQL that reads a text file: every column as text, named k0, k1, ... from left to right.

    DuckDB reads UTF-8; another encoding, or a sheet, is copied to a private folder.
    """
    path = literal(str(text.copy_as_utf8(folder)))
    names = ", ".join(f"'k{number}': 'VARCHAR'" for number in range(len(text.header)))
    signs = f"delim = {literal(text.separator)}, quote = '\"', escape = '\"'"
    read = f"read_csv({path}, header = true, auto_detect = false, {signs}, columns = {{{names}}})"
    needed = [present_sql(f"k{text.header.index(name)}", text.file.na) for name in text.file.drop_missing]
    return f"(FROM {read} WHERE {' AND '.join(needed)})" if needed else read


def attach_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    columns: Mapping[str, str],
    file: FileFormat | None,
    folder: Path,
    *,
    again: bool,
) -> tuple[str, str]:
    """Attach these columns of a file as ``records``; return the name of the data, and the frame type."""
    where, kind = path.name, kind_of(path)
    if kind == "frame":
        return where, attach_frame(connection, read_frame(path, file), columns)
    if kind == "text":
        _attach_text(connection, look_at(path, file), columns, folder, again=again)
        return where, "pandas"
    attach_parquet(connection, path, columns, file)
    return where, "pandas"


def attach_parquet(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    columns: Mapping[str, str],
    file: FileFormat | None = None,
) -> None:
    """Attach these columns of a Parquet file as ``records``."""
    file = file or FileFormat()
    require(
        (*columns.values(), *file.drop_missing, *file.zero_missing),
        parquet_names(connection, path),
        path.name,
    )
    chosen = ", ".join(
        (f"coalesce({quote_name(column)}, 0)" if column in file.zero_missing else quote_name(column))
        + f" AS {alias}"
        for alias, column in columns.items()
    )
    needed = " AND ".join(f"{quote_name(column)} IS NOT NULL" for column in file.drop_missing) or "true"
    with translate_errors(path.name):
        connection.execute(
            f"CREATE VIEW records AS SELECT {chosen} FROM read_parquet({literal(str(path))}) WHERE {needed}"
        )


def parquet_names(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Return the columns of a Parquet file."""
    with translate_errors(path.name):
        query = f"DESCRIBE SELECT * FROM read_parquet({literal(str(path))})"
        return [row[0] for row in connection.sql(query).fetchall()]


def _attach_text(
    connection: duckdb.DuckDBPyConnection,
    text: TextFile,
    columns: Mapping[str, str],
    folder: Path,
    *,
    again: bool,
) -> None:
    where = text.path.name
    text.require(columns.values())
    chosen = ", ".join(f"k{text.header.index(column)} AS {alias}" for alias, column in columns.items())
    with translate_errors(where):
        # Parsed once, because several queries follow.
        connection.execute(f"CREATE TABLE records AS SELECT {chosen} FROM {reading_text(text, folder)}")
    notes: dict[str, None] = {}
    for alias in ("x", "w"):
        if alias in columns:
            shapes, style = style_among(connection, alias, columns[alias], text)
            if style is not None:
                notes |= dict.fromkeys(reading_notes(connection, alias, columns[alias], style, text.file))
                write_numbers(connection, alias, style, shapes, where, text.file, columns[alias])
    if not again:
        READING.info("%s: read as %s", where, ", ".join([str(text), *notes]))


def write_numbers(
    connection: duckdb.DuckDBPyConnection,
    column: str,
    style: NumberStyle,
    shapes: Sequence[str],
    where: str,
    file: FileFormat,
    name: str,
) -> None:
    """Convert a column of ``records`` from texts to numbers."""
    kind, number = number_sql(column, style, shapes, file, name)
    with translate_errors(where):
        connection.execute(f"ALTER TABLE records ALTER {column} TYPE {kind} USING {number}")


def number_sql(
    column: str, style: NumberStyle, shapes: Sequence[str], file: FileFormat, name: str
) -> tuple[str, str]:
    """Return SQL for the type of the numbers in a column of texts, and for their conversion."""
    kind = "BIGINT" if whole(shapes, style) else "DOUBLE"
    text = style.sql(column)
    if file.na:
        text = f"CASE WHEN {present_sql(column, file.na)} THEN {text} END"
    number = f"CAST({text} AS {kind})"
    return kind, f"coalesce({number}, 0)" if name in file.zero_missing else number


def style_among(
    connection: duckdb.DuckDBPyConnection, column: str, name: str, text: TextFile, table: str = "records"
) -> tuple[list[str], NumberStyle | None]:
    """Return the shapes of a column of numbers and their style; None for an empty column.

    Raises
    ------
    DataError
        If entries are not numbers.
    """
    shapes = shapes_of(connection, column, text.path.name, table, text.file.na)
    if not any(shapes):
        return shapes, None
    style = style_of(shapes, name, text.path.name, text.file) if len(shapes) < MAX_SHAPES else None
    if style is None:
        error = text_in_numbers(text, [name])
        if error is not None:
            raise error
    return shapes, style


def reading_notes(
    connection: duckdb.DuckDBPyConnection,
    column: str,
    name: str,
    style: NumberStyle,
    file: FileFormat,
    table: str = "records",
) -> list[str]:
    """Return how a column of numbers is read, for the person who runs the command."""
    gone = f"NOT {present_sql(column, file.na)}"
    count = f"SELECT count(*) FILTER (WHERE {wide_sql(column)}), count(*) FILTER (WHERE {gone}) FROM {table}"
    with translate_errors(name):
        n_wide, n_missing = connection.sql(count).fetchall()[0]
    notes = [str(style)]
    if n_wide:
        notes.append(f"full-width digits or signs in {n_wide:,} entries of {name}")
    if n_missing and name in file.zero_missing:
        notes.append(f"{n_missing:,} missing entries of {name} counted as zero")
    if name in file.drop_missing:
        notes.append(f"records without {name} left out")
    return notes


def shapes_of(
    connection: duckdb.DuckDBPyConnection,
    column: str,
    where: str,
    table: str = "records",
    na: Sequence[str] = (),
) -> list[str]:
    """Return the shapes of the entries of a column, up to a limit."""
    there = present_sql(column, na) if na else f"{column} IS NOT NULL"
    query = f"SELECT DISTINCT {shape_sql(column)} FROM {table} WHERE {there} LIMIT {MAX_SHAPES}"
    with translate_errors(where):
        return [row[0] for row in connection.sql(query).fetchall()]


def attach_frame(connection: duckdb.DuckDBPyConnection, data: Any, columns: Mapping[str, str]) -> str:
    """Attach these columns of a frame as ``records``; return its type."""
    table, backend = arrow_of(data, columns)
    attach_arrow(connection, table)
    return backend


def attach_arrow(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> None:
    """Attach an Arrow table as ``records``."""
    with translate_errors("data"):
        connection.register("frame", table)
        connection.execute("CREATE VIEW records AS SELECT * FROM frame")


def arrow_of(data: Any, columns: Mapping[str, str]) -> tuple[pa.Table, str]:
    """Return columns of a frame under new names, and the type of the frame."""
    if isinstance(data, duckdb.DuckDBPyRelation):
        require(columns.values(), data.columns, "data")
        chosen = ", ".join(
            f"{quote_name(column)} AS {quote_name(alias)}" for alias, column in columns.items()
        )
        # Relations belong to the caller's connection, whose settings must not be changed.
        with translate_errors("data"):
            return data.project(chosen).to_arrow_table(), "pandas"
    try:
        frame = nw.from_native(data)
    except TypeError as error:
        raise DataError(
            "not_a_data_frame",
            "cannot read a {kind} as a data frame",
            fix="give a pandas, polars or pyarrow frame, a DuckDB relation, or a path",
            kind=type(data).__name__,
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            "duplicate_column_names", "two columns have the same name", where="data", fix="rename one of them"
        ) from error
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
        # A pandas column of objects: mixed numbers and texts are codes, compared as text.
        listed = series.to_list()
    missing = [entry is None or entry != entry for entry in listed]  # noqa: PLR0124 - NaN
    if all(isinstance(entry, str | int) for entry, gone in zip(listed, missing, strict=True) if not gone):
        return pa.array([None if gone else str(e) for e, gone in zip(listed, missing, strict=True)])
    raise DataError(
        "column_mixes_kinds",
        "column {column!r} mixes several kinds of things",
        column=column,
        where="data",
        fix="give it one type: text for codes, numbers for values",
    )


# Numbers as written by programs.
PLAIN = FileFormat(decimal=".", thousands="")
PADDED = re.compile(r"[+-]?0[09]")


def attach_whole(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    folder: Path,
    file: FileFormat | None = None,
    *,
    guess: bool = False,
) -> None:
    """Create ``records`` with all columns of a file; texts are read through a private folder.

    Numbers are read as by :func:`hitoku.tabulate`: 1.5 and 1,5 and 1.234,5. A column whose numbers
    are ambiguous stays text. With ``guess`` it is read as written by programs, 1.234 with a
    decimal point, unless another column of the file has decimal commas.
    """
    if kind_of(path) == "parquet":
        with translate_errors(path.name):
            connection.execute(f"CREATE VIEW records AS SELECT * FROM read_parquet({literal(str(path))})")
        return
    if kind_of(path) == "frame":
        with translate_errors(path.name):
            connection.register("frame", pa.Table.from_pandas(read_frame(path), preserve_index=False))
            connection.execute("CREATE TABLE records AS SELECT * FROM frame")
        return
    text = look_at(path, file)
    names = [name or f"column {number + 1}" for number, name in enumerate(text.header)]
    chosen = ", ".join(f"k{number} AS {quote_name(name)}" for number, name in enumerate(names))
    with translate_errors(path.name):
        connection.execute(f"CREATE TABLE records AS SELECT {chosen} FROM {reading_text(text, folder)}")
    shapes = {name: shapes_of(connection, quote_name(name), path.name, na=text.file.na) for name in names}
    for name, style in _styles(shapes, path.name, text.file, guess=guess).items():
        write_numbers(connection, quote_name(name), style, shapes[name], path.name, text.file, name)


def _styles(
    shapes: Mapping[str, Sequence[str]], where: str, file: FileFormat, *, guess: bool
) -> dict[str, NumberStyle]:
    """Return the number styles of columns that contain only numbers."""
    styles: dict[str, NumberStyle] = {}
    unclear: list[str] = []
    for name, own in shapes.items():
        if not any(own) or len(own) >= MAX_SHAPES or any(map(PADDED.match, own)):
            continue  # 01 is a code
        try:
            style = style_of(own, name, where, file)
        except DataError:
            unclear.append(name)
            continue
        if style is not None:
            styles[name] = style
    if guess and not any(style.decimal == "," for style in styles.values()):
        plain = {name: style_of(shapes[name], name, where, PLAIN) for name in unclear}
        styles |= {name: style for name, style in plain.items() if style is not None}
    return styles


def read_whole(path: Path) -> pa.Table:
    r"""Read a file of any kind as one Arrow table, in the order of its lines.

    A CSV file does not specify column types. Columns with only numbers are numbers, unless one
    begins with a zero and another digit: then they are codes, and 01 stays 01. All others are text. Numbers
    may have decimal commas; 1.234 has a decimal point, unless another column has decimal commas.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = place.write_text("region,age,income\n01,40,1.5\n12,39,\n")
    >>> read_whole(place).to_pylist()
    [{'region': '01', 'age': 40, 'income': 1.5}, {'region': '12', 'age': 39, 'income': None}]
    """
    if kind_of(path) == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, and not always needed

        with translate_errors(path.name):
            return pq.read_table(path)
    if kind_of(path) == "frame":
        with translate_errors(path.name):
            return pa.Table.from_pandas(read_frame(path), preserve_index=False)
    with spill_folder() as spill:
        connection = connect(spill)
        try:
            # The hash of the data depends on their order.
            connection.execute("SET preserve_insertion_order = true")
            attach_whole(connection, path, spill, guess=True)
            with translate_errors(path.name):
                return connection.sql("SELECT * FROM records").to_arrow_table()
        finally:
            connection.close()
