"""Any kind of input becomes one DuckDB relation named ``records`` with columns of our own naming."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa

from hitoku.errors import DataError, ParameterError, TableError, did_you_mean
from hitoku.files import spill_folder
from hitoku.model.frames import infinite, not_numbers
from hitoku.tabulation.file_format import READING, FileFormat, TextFile, look_at, ragged, unreadable
from hitoku.tabulation.frame_files import EXCEL, SAS, STATA, read_frame
from hitoku.tabulation.number_style import MOST_SHAPES, NumberStyle, shape_sql, style_of, whole

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# Columns and the codes that are kept.
Where = Mapping[str, Sequence[str]]
NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
# What databases that are given no limit may use; see limited_memory.
LIMIT: ContextVar[str | None] = ContextVar("memory_limit", default=None)
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# The numbers in DuckDB's complaint about a line of a text file; the rest of it quotes the line.
LINE = re.compile(
    r"CSV Error on Line: (?P<line>\d+)(?:.*?Columns: (?P<named>\d+) Found: (?P<found>\d+))?", re.DOTALL
)


@dataclass(frozen=True)
class Source:
    """Records inside DuckDB.

    Parameters
    ----------
    connection
        A private in-memory database that holds ``records``.
    types
        DuckDB type of each column of ``records``, by our name for it.
    names
        The caller's name of each column.
    where
        What to call the data in a message.
    backend
        Kind of frame in which answers are handed back.
    """

    connection: duckdb.DuckDBPyConnection
    types: Mapping[str, str]
    names: Mapping[str, str]
    where: str
    backend: str

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Answer a query that returns few rows."""
        with translate_errors(self.where):
            rows: list[tuple[Any, ...]] = self.connection.sql(query).fetchall()
        return rows

    def run(self, statement: str) -> None:
        """Execute a statement that returns nothing."""
        with translate_errors(self.where):
            self.connection.execute(statement)

    @property
    def threads(self) -> int:
        """Threads that may work at the same time: as asked, or what the machine or container has."""
        return int(self.rows("SELECT current_setting('threads')")[0][0])

    @property
    def memory(self) -> int:
        """Bytes that DuckDB may use: its limit, by default most of what the machine or container has."""
        return memory_of(self.connection)

    def is_integer(self, column: str) -> bool:
        """Tell whether a column has an integer type."""
        return self.types[column].lstrip("U") in NUMERIC[:5]


@contextmanager
def open_source(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    file: FileFormat | None = None,
    again: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Source]:
    """Open a private database with the columns wanted; nothing is left behind, not even after an error.

    Parameters
    ----------
    data
        A frame, a DuckDB relation, or the path of a Parquet or CSV file.
    columns
        Our names of the columns and the caller's. ``x`` and ``w`` must hold numbers; of a CSV file all
        others are read as text, so that the code 01 stays 01.
    where
        Filter: columns and the codes that are kept; a record must have one of them in each column.
    file
        How a text file is written; what is left out is found.
    again
        The file was read before, and how it was read is not told once more.
    """
    columns = {**columns, **{f"f{number}": column for number, column in enumerate(where or {})}}
    with spill_folder() as spill:
        connection = connect(spill, memory_limit, threads)
        try:
            if isinstance(data, str | Path):
                place, backend = _attach_file(connection, Path(data), columns, file, spill, again=again)
            else:
                place, backend = "data", _attach_frame(connection, data, columns)
            with translate_errors(place):
                described = connection.sql("DESCRIBE records").fetchall()
            source = Source(connection, {row[0]: row[1] for row in described}, columns, place, backend)
            if where:
                _filter(source, where)
            _refuse_text(source)
            yield source
        finally:
            connection.close()


def _filter(source: Source, where: Where) -> None:
    """Let ``records`` be those that a filter keeps; a code that no record has is an error."""
    conditions = []
    for number, (column, codes) in enumerate(where.items()):
        code = f"CAST(f{number} AS VARCHAR)"
        found = {row[0] for row in source.rows(f"SELECT DISTINCT {code} FROM records")}
        refuse_filter(column, codes, found, source.where)
        conditions.append(f"{code} IN ({', '.join(literal(str(wanted)) for wanted in codes)})")
    source.run(
        "ALTER VIEW records RENAME TO everything"
        if _is_view(source)
        else "ALTER TABLE records RENAME TO everything"
    )
    source.run(f"CREATE VIEW records AS SELECT * FROM everything WHERE {' AND '.join(conditions)}")


def refuse_filter(column: str, codes: Sequence[str], found: Iterable[str | None], where: str) -> None:
    """Raise on a filter that is none, or that asks for a code which no record has."""
    if isinstance(codes, str) or not codes:
        raise ParameterError(
            f"the filter on {column!r} is not a list of codes",
            where="where",
            fix=f'write where={{{column!r}: ["A", "B"]}}',
        )
    known = {each for each in found if each is not None}
    for wanted in map(str, codes):
        if wanted not in known:
            raise DataError(
                f"no record has {column!r} = {wanted!r}",
                where=f"{where}, where",
                fix=did_you_mean(wanted, sorted(known)),
            )


def _is_view(source: Source) -> bool:
    return bool(source.rows("SELECT count(*) FROM duckdb_views() WHERE view_name = 'records'")[0][0])


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Turn DuckDB's exceptions into ours; its messages may quote records, so they are not repeated."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise TableError(
            "the data do not fit into the memory allowed",
            where=where,
            fix="raise memory_limit, or tabulate fewer variables at a time",
        ) from error
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        line = LINE.search(str(error))
        if line is not None:
            n_named, n_found = (int(line[part] or 0) for part in ("named", "found"))
            told = ragged(where, int(line["line"]), n_found, n_named) if n_found else None
            raise (told or unreadable(where, int(line["line"]))) from None
        raise DataError(
            f"the records could not be read ({type(error).__name__})",
            where=where,
            fix="check that the file is whole and every column holds one kind of thing",
        ) from error


def quoted(name: str) -> str:
    """Write a column name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def limited_memory(memory_limit: str | None) -> Iterator[None]:
    """Let every database that is opened meanwhile have this limit, where it is given no other."""
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
        # An enclave has no network; a missing extension is an error, not a download.
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
            "memory_limit or threads cannot be used",
            where=f"memory_limit={memory_limit!r}, threads={threads!r}",
            fix='write a size such as memory_limit="4GB" and a whole number of threads',
        ) from error
    return connection


def memory_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the bytes that a database may use."""
    row = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]
    amount, _, unit = str(row[0]).partition(" ")
    return int(float(amount) * UNITS[unit])


def allowed_memory(memory_limit: str | None = None) -> int:
    """Return the bytes that a limit such as "4GB" means; without one, most of what the machine has."""
    with spill_folder() as spill:
        connection = connect(spill, memory_limit)
        try:
            return memory_of(connection)
        finally:
            connection.close()


def records_changed(where: str) -> DataError:
    """Return what is said when records are no longer those that were looked at first."""
    return DataError(
        "the number of records changed while they were read",
        where=where,
        fix="let nobody write to the data meanwhile, or work on a copy",
    )


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


def _attach_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    columns: Mapping[str, str],
    file: FileFormat | None,
    folder: Path,
    *,
    again: bool,
) -> tuple[str, str]:
    where, kind = path.name, kind_of(path)
    if kind == "frame":
        return where, _attach_frame(connection, read_frame(path), columns)
    if kind == "text":
        _attach_text(connection, look_at(path, file), columns, file, folder, again=again)
        return where, "pandas"
    reading = f"read_parquet({literal(str(path))})"
    with translate_errors(where):
        found = [row[0] for row in connection.sql(f"DESCRIBE SELECT * FROM {reading}").fetchall()]
    require(columns.values(), found, where)
    chosen = ", ".join(f"{quoted(column)} AS {alias}" for alias, column in columns.items())
    with translate_errors(where):
        connection.execute(f"CREATE VIEW records AS SELECT {chosen} FROM {reading}")
    return where, "pandas"


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
        style = style_of(shapes, columns[alias], where, file) if len(shapes) < MOST_SHAPES else None
        if style is not None and any(shapes):
            styles[style] = None
            write_numbers(connection, alias, style, shapes, where)
    if not again:
        READING.info("%s: read as %s", where, ", ".join(map(str, [text, *styles])))


def write_numbers(
    connection: duckdb.DuckDBPyConnection, column: str, style: NumberStyle, shapes: Sequence[str], where: str
) -> None:
    """Turn a column of ``records`` from texts into numbers."""
    number = "BIGINT" if whole(shapes, style) else "DOUBLE"
    cast = f"CAST({style.sql(column)} AS {number})"
    with translate_errors(where):
        connection.execute(f"ALTER TABLE records ALTER {column} TYPE {number} USING {cast}")


def shapes_of(connection: duckdb.DuckDBPyConnection, column: str, where: str) -> list[str]:
    """Return the shapes of the entries of a column of ``records``; as many as may be looked at."""
    query = f"SELECT DISTINCT {shape_sql(column)} FROM records WHERE {column} IS NOT NULL LIMIT {MOST_SHAPES}"
    with translate_errors(where):
        return [row[0] for row in connection.sql(query).fetchall()]


def _attach_frame(connection: duckdb.DuckDBPyConnection, data: Any, columns: Mapping[str, str]) -> str:
    if isinstance(data, duckdb.DuckDBPyRelation):
        require(columns.values(), data.columns, "data")
        chosen = ", ".join(f"{quoted(column)} AS {alias}" for alias, column in columns.items())
        # Relations belong to the caller's connection, whose settings are not ours to change.
        with translate_errors("data"):
            table = data.project(chosen).to_arrow_table()
        backend = "pandas"
    else:
        table, backend = _arrow_of(data, columns)
    with translate_errors("data"):
        connection.register("frame", table)
        connection.execute("CREATE VIEW records AS SELECT * FROM frame")
    return backend


def _arrow_of(data: Any, columns: Mapping[str, str]) -> tuple[pa.Table, str]:
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
        where="data",
        fix="give it one type: text for codes, numbers for values",
    )


def require(wanted: Any, found: Sequence[str], where: str) -> None:
    """Raise on the first column that is missing, naming the nearest one."""
    for column in wanted:
        if column not in found:
            several = [part.strip() for part in str(column).split(",")]
            fix = did_you_mean(column, found)
            if len(several) > 1 and set(several) <= set(found):
                fix = f"name each column by itself: {', '.join(map(repr, several))}"
            raise DataError(f"no column {column!r}", where=where, fix=fix)


def _refuse_text(source: Source) -> None:
    for column in ("x", "w"):
        kind = source.types.get(column)
        if kind is None or kind == '"NULL"' or kind.lstrip("U").startswith(NUMERIC):
            continue
        example = ""
        if kind == "VARCHAR":
            n_records, words = source.rows(
                f"""
                SELECT count(*), count(*) FILTER (WHERE NOT isfinite(TRY_CAST({column} AS DOUBLE)))
                FROM records
                """
            )[0]
            if not n_records:
                continue  # an empty file tells no types; that it is empty is said elsewhere
            if words:  # a CSV column of numbers with "inf" or "nan" among them is read as text
                raise infinite(source.names[column], words, source.where)
            first = source.rows(f"SELECT {column} FROM records WHERE {column} LIKE '%,%' LIMIT 1")
            example = first[0][0] if first else ""
        raise not_numbers(source.names[column], source.where, example)
