"""Any kind of input as one DuckDB relation named ``records``, and the contributor of each record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from hitoku.errors import DataError, ParameterError, did_you_mean
from hitoku.files import spill_folder
from hitoku.model import infinite, not_numbers
from hitoku.tabulation.database import connect, literal, memory_of, translate_errors
from hitoku.tabulation.records import attach_file, attach_frame
from hitoku.tabulation.shared_records import SharedRecords
from hitoku.tabulation.text_files import FileFormat

# Columns and the codes that are kept.
Where = Mapping[str, Sequence[str]]
NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Source:
    """Records inside DuckDB."""

    connection: duckdb.DuckDBPyConnection
    """A private in-memory database with ``records``."""
    types: Mapping[str, str]
    """DuckDB type of each column of ``records``, by hitoku's name."""
    names: Mapping[str, str]
    """The caller's name of each column."""
    where: str
    """Name of the data in messages."""
    backend: str
    """Type of frame for results."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query that returns few rows."""
        with translate_errors(self.where):
            rows: list[tuple[Any, ...]] = self.connection.sql(query).fetchall()
        return rows

    def run(self, statement: str) -> None:
        """Execute a statement that returns nothing."""
        with translate_errors(self.where):
            self.connection.execute(statement)

    @property
    def threads(self) -> int:
        """Number of threads: as requested, or all of the machine or container."""
        return int(self.rows("SELECT current_setting('threads')")[0][0])

    @property
    def memory(self) -> int:
        """Bytes that DuckDB may use: its limit, by default most of the machine's or container's memory."""
        return memory_of(self.connection)

    def is_integer(self, column: str) -> bool:
        """Return whether a column has an integer type."""
        return self.types[column].lstrip("U") in NUMERIC[:5]


@contextmanager
def open_source(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    outside: Sequence[Where] = (),
    file: FileFormat | None = None,
    again: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Source]:
    """Open a private database with some columns; no files are left behind, even after an error.

    Parameters
    ----------
    data
        A frame, a DuckDB relation, the path of a Parquet or CSV file, or shared records, with the
        limits with which these were opened.
    columns
        hitoku's names of the columns and the caller's. ``x`` and ``w`` must contain numbers; other columns of
        a CSV file are read as text, so that the code 01 stays 01.
    where
        Filter: columns and the codes that are kept; a record must have one of them in each column.
    outside
        Further filters; records that match one of them are excluded.
    file
        Format of a text file; the rest is detected.
    again
        Whether the file was read before, so that its format is not logged again.
    """
    columns = {**columns, **filter_columns(where, outside)}
    with _open_database(data, columns, file, memory_limit, threads, again=again) as (
        connection,
        place,
        backend,
    ):
        with translate_errors(place):
            described = connection.sql("DESCRIBE records").fetchall()
        source = Source(connection, {row[0]: row[1] for row in described}, columns, place, backend)
        if where or outside:
            _filter(source, where or {}, outside)
        _refuse_text(source)
        yield source


@contextmanager
def _open_database(
    data: Any,
    columns: Mapping[str, str],
    file: FileFormat | None,
    memory_limit: str | None,
    threads: int | None,
    *,
    again: bool,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, str]]:
    """Open a database with ``records``; yield also the name of the data and the type of frame."""
    if isinstance(data, SharedRecords):
        with data.workspace(columns) as (connection, backend):
            yield connection, data.where, backend
        return
    with spill_folder() as spill:
        connection = connect(spill, memory_limit, threads)
        try:
            if isinstance(data, str | Path):
                place, backend = attach_file(connection, Path(data), columns, file, spill, again=again)
            else:
                place, backend = "data", attach_frame(connection, data, columns)
            yield connection, place, backend
        finally:
            connection.close()


def filter_columns(where: Where | None, outside: Sequence[Where] = ()) -> dict[str, str]:
    """Name the columns of filters consecutively: f0, f1, ..."""
    listed = [column for each in (where or {}, *outside) for column in each]
    return {f"f{number}": column for number, column in enumerate(listed)}


def _filter(source: Source, where: Where, outside: Sequence[Where]) -> None:
    """Replace ``records`` by those that a filter keeps; raise for a code that no record has."""
    aliases = iter(filter_columns(where, outside))

    def keeps(each: Where) -> str:
        conditions = []
        for column, codes in each.items():
            code = f"CAST({next(aliases)} AS VARCHAR)"
            found = {row[0] for row in source.rows(f"SELECT DISTINCT {code} FROM records")}
            refuse_filter(column, codes, found, source.where)
            conditions.append(f"{code} IN ({', '.join(literal(str(wanted)) for wanted in codes)})")
        return " AND ".join(conditions)

    # No filter keeps a record without a code.
    conditions = [keeps(where)] * bool(where) + [f"NOT coalesce({keeps(each)}, FALSE)" for each in outside]
    source.run(
        "ALTER VIEW records RENAME TO everything"
        if _is_view(source)
        else "ALTER TABLE records RENAME TO everything"
    )
    source.run(f"CREATE VIEW records AS SELECT * FROM everything WHERE {' AND '.join(conditions)}")


def refuse_filter(column: str, codes: Sequence[str], found: Iterable[str | None], where: str) -> None:
    """Raise for an invalid filter, or one with a code that no record has."""
    if isinstance(codes, str) or not codes:
        raise ParameterError(
            "filter_not_a_list",
            "the filter on {column!r} is not a list of codes",
            where="where",
            fix='write where={{column!r}: ["A", "B"]}',
            column=column,
        )
    known = {each for each in found if each is not None}
    for wanted in map(str, codes):
        if wanted not in known:
            raise DataError(
                "no_record_with_code",
                "no record has {variable!r} = {code!r}",
                where="{place}, where",
                argument="where",
                fix=did_you_mean(wanted, sorted(known)),
                variable=column,
                code=wanted,
                place=where,
            )


def _is_view(source: Source) -> bool:
    return bool(source.rows("SELECT count(*) FROM duckdb_views() WHERE view_name = 'records'")[0][0])


def records_changed(where: str) -> DataError:
    """Make the error for records that changed after they were first read."""
    return DataError(
        "records_changed_while_read",
        "the number of records changed while they were read",
        where=where,
        fix="prevent changes to the data meanwhile, or work on a copy",
    )


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
                continue  # an empty file has no types, and is reported elsewhere
            if words:  # a CSV column of numbers with "inf" or "nan" among them is read as text
                raise infinite(source.names[column], words, source.where)
            first = source.rows(f"SELECT {column} FROM records WHERE {column} LIKE '%,%' LIMIT 1")
            example = first[0][0] if first else ""
        raise not_numbers(source.names[column], source.where, example)


WIDEST = 2**61  # contributor and leaf share one 64-bit key


@dataclass(frozen=True)
class Identity:
    """Numbers for the contributors of one level."""

    who: str = "NULL::BIGINT"
    """SQL for the contributor of a record ``r``: 0 up to ``size`` - 1, NULL for a record that is a
    contributor by itself."""
    given: str = "NULL"
    """SQL for an expression that is NULL if a contributor has no name."""
    named: tuple[tuple[str, str, int], ...] = ()
    """Tables of names that ``who`` needs: the column, its name in SQL, and the offset of its numbers."""
    size: int = 0
    """One more than the largest number."""
    n_own: int = 0
    """Number of records that are contributors by themselves."""

    def joins(self, part: int = 0, n_parts: int = 1) -> str:
        """Return the joins that ``who`` needs after ``FROM records AS r``.

        With the names of one part only, all other contributors have no number: this bounds the memory for
        names.
        """
        return "".join(
            f" LEFT JOIN (SELECT name, who FROM who_{column} WHERE (who + {added}) % {n_parts} = {part}) "
            f"AS named_{column} ON named_{column}.name = {given}"
            for column, given, added in self.named
        )


def identify_records(n_records: int) -> Identity:
    """Return the identity in which every record is a contributor."""
    return Identity(n_own=n_records)


def identify_column(source: Source, column: str, n_leaves: int) -> Identity:
    """Return contributors named by a column; a record without a name is a contributor by itself.

    Integers in a narrow range are their own numbers. Other names are numbered in sorted order, so that the
    numbers, and with them the order of every sum, depend on the data only.
    """
    given = f"r.{column}"
    if source.types[column].startswith(("VARCHAR", "ENUM")):
        # As text even if the frame has categories: their order may be that of the rows.
        given = f"CASE WHEN trim(CAST(r.{column} AS VARCHAR)) <> '' THEN CAST(r.{column} AS VARCHAR) END"
    elif source.types[column] in {"FLOAT", "DOUBLE"}:
        given = f"CASE WHEN NOT isnan(r.{column}) THEN r.{column} END"
    n_own = int(source.rows(f"SELECT count(*) FILTER (WHERE {given} IS NULL) FROM records AS r")[0][0])
    if source.is_integer(column):
        low, high = source.rows(f"SELECT min({column}), max({column}) FROM records")[0]
        if low is None:
            return Identity(n_own=n_own)
        size = int(high) - int(low) + 1
        if size * n_leaves * 2 < WIDEST and abs(int(low)) < WIDEST:
            return Identity(f"(CAST(r.{column} AS BIGINT) - ({low}))", given, (), size, n_own)
    source.run(
        f"CREATE TABLE who_{column} AS SELECT name, row_number() OVER (ORDER BY name) - 1 AS who "
        f"FROM (SELECT DISTINCT {given} AS name FROM records AS r) WHERE name IS NOT NULL"
    )
    size = int(source.rows(f"SELECT count(*) FROM who_{column}")[0][0])
    return Identity(f"named_{column}.who", given, ((column, given, 0),), size, n_own)


def identify_holdings(source: Source, holdings: Identity, units: Identity | None) -> Identity:
    """Assign numbers to holdings; a record without one belongs to a holding that consists of its unit.

    These holdings are numbered after the named ones, so that the two are distinct.
    """
    if units is None or holdings.n_own == 0 or units.size == 0:
        return holdings
    who = f"CASE WHEN {holdings.given} IS NULL THEN {holdings.size} + {units.who} ELSE {holdings.who} END"
    neither = f"{holdings.given} IS NULL AND {units.given} IS NULL"
    n_own = source.rows(f"SELECT count(*) FROM records AS r WHERE {neither}")[0][0]
    named = holdings.named + tuple((column, name, holdings.size) for column, name, _ in units.named)
    given = f"CASE WHEN {neither} THEN NULL ELSE TRUE END"
    return Identity(who, given, named, holdings.size + units.size, int(n_own))
