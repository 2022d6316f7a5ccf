"""Records that are opened once for all that is made of them: tables, rests, atoms and fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from hitoku.files import spill_folder
from hitoku.tabulation.database import connect, translate_errors
from hitoku.tabulation.records import (
    arrow_of,
    attach_arrow,
    attach_parquet,
    kind_of,
    number_sql,
    parquet_names,
    read_frame,
    reading_notes,
    reading_text,
    style_among,
)
from hitoku.tabulation.text_files import READING, FileFormat, TextFile, look_at

# The lines of a text file, in the database that all workspaces share.
ROWS = "memory.main.file_rows"
# Columns that name contributors. Numbers serve as well as names, and are assigned once.
NAMES = {"u", "h"}


@dataclass(eq=False, repr=False)
class SharedRecords:
    """Records inside one database, in which every user gets a separate workspace."""

    connection: duckdb.DuckDBPyConnection
    """The database."""
    where: str
    """Name of the data in messages."""
    path: Path | None = None
    file: FileFormat | None = None
    """The opened file, None for a frame; and its format, as far as it was given."""
    text: TextFile | None = None
    """The text file whose lines are in the database; None for other data."""
    frame: Any = None
    """Frame with the columns, for data other than text; None for a Parquet file, which is read
    column by column on demand."""
    _arrays: dict[str, Any] = field(default_factory=dict)
    _backend: str = "pandas"
    _numbers: dict[str, str] = field(default_factory=dict)
    _who: dict[str, Any] = field(default_factory=dict)
    _logged: set[str] = field(default_factory=set)
    _opened: int = 0

    @property
    def names(self) -> list[str]:
        """Columns of the records."""
        if self.text is not None:
            return list(self.text.header)
        if self.path is not None and self.frame is None:
            return parquet_names(self.connection, self.path)
        return [str(name) for name in self.frame.columns]

    @contextmanager
    def workspace(self, columns: Mapping[str, str]) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
        """Open ``records`` with these columns in a separate schema, without other users' tables.

        Yields the connection, and the type of frame for results.
        """
        self._opened += 1
        name = f"workspace_{self._opened}"
        connection = self.connection.cursor()
        try:
            connection.execute(f"ATTACH ':memory:' AS {name}")
            connection.execute(f"USE {name}")
            yield connection, self._attach(connection, columns)
            connection.execute("USE memory")
            connection.execute(f"DETACH {name}")
        finally:
            connection.close()

    def _attach(self, connection: duckdb.DuckDBPyConnection, columns: Mapping[str, str]) -> str:
        if self.text is not None:
            self._attach_text(connection, self.text, columns)
        elif self.path is not None and self.frame is None:
            attach_parquet(connection, self.path, columns, self.file)
        else:
            missing = {name: name for name in columns.values() if name not in self._arrays}
            if missing:
                table, self._backend = arrow_of(self.frame, missing)
                self._arrays |= {name: table.column(name) for name in missing}
            arrays = {alias: self._arrays[name] for alias, name in columns.items()}
            for alias in NAMES & set(columns):
                if columns[alias] not in self._who:
                    self._who[columns[alias]] = number_names(arrays[alias])
                arrays[alias] = self._who[columns[alias]]
            attach_arrow(connection, pa.table(arrays))
        return self._backend

    def _attach_text(
        self, connection: duckdb.DuckDBPyConnection, text: TextFile, columns: Mapping[str, str]
    ) -> None:
        text.require(columns.values())
        chosen = {alias: f"k{text.header.index(name)}" for alias, name in columns.items()}
        styles: list[str] = []
        for alias in ("x", "w"):
            if alias in columns:
                chosen[alias] = self._number(chosen[alias], columns[alias], text, styles)
        for alias in NAMES & set(columns):
            chosen[alias] = self._number_names(chosen[alias])
        described = ", ".join(dict.fromkeys([str(text), *styles]))
        if described not in self._logged and (styles or not self._logged):
            self._logged.add(described)
            READING.info("%s: read as %s", self.where, described)
        listed = ", ".join(f"{column} AS {alias}" for alias, column in chosen.items())
        with translate_errors(self.where):
            connection.execute(f"CREATE VIEW records AS SELECT {listed} FROM {ROWS}")

    def _number(self, column: str, name: str, text: TextFile, styles: list[str]) -> str:
        """Return the numeric version of a column of texts, made once; the texts if they are not numbers."""
        if column not in self._numbers:
            shapes, style = style_among(self.connection, column, name, text, ROWS)
            self._numbers[column] = column
            if style is not None:
                styles += reading_notes(self.connection, column, name, style, text.file, ROWS)
                kind, number = number_sql(column, style, shapes, text.file, name)
                with translate_errors(self.where):
                    self.connection.execute(f"ALTER TABLE {ROWS} ADD COLUMN n{column} {kind}")
                    self.connection.execute(f"UPDATE {ROWS} SET n{column} = {number}")
                self._numbers[column] = f"n{column}"
        return self._numbers[column]

    def _number_names(self, column: str) -> str:
        """Return a column with numbers for the names in another one; assigned once."""
        if column not in self._who:
            with translate_errors(self.where):
                self.connection.execute(f"ALTER TABLE {ROWS} ADD COLUMN w{column} INTEGER")
                named = f"SELECT DISTINCT {column} AS name FROM {ROWS} WHERE trim({column}) <> ''"
                ranked = f"SELECT name, row_number() OVER (ORDER BY name) AS who FROM ({named})"
                self.connection.execute(
                    f"UPDATE {ROWS} SET w{column} = n.who FROM ({ranked}) AS n WHERE n.name = {column}"
                )
            self._who[column] = f"w{column}"
        return str(self._who[column])


def number_names(names: pa.ChunkedArray) -> Any:
    """Return numbers for names, in sorted order; null for blank ones. Other types are unchanged.

    Examples
    --------
    >>> number_names(pa.chunked_array([["b", "a", " ", None, "b"]])).to_pylist()
    [2, 1, None, None, 2]
    """
    listed = names.combine_chunks().dictionary_encode()
    if not (pa.types.is_string(listed.type.value_type) or pa.types.is_large_string(listed.type.value_type)):
        return names
    known = listed.dictionary.to_pylist()
    order = sorted(name for name in known if name.strip(" "))
    rank = {name: number for number, name in enumerate(order, start=1)}
    return pa.array([rank.get(name) for name in known], pa.int32()).take(listed.indices)


@contextmanager
def share_records(
    data: Any,
    file: FileFormat | None = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[SharedRecords]:
    """Open records for several users; no files are left behind.

    Parameters
    ----------
    data
        A frame, a DuckDB relation, or the path of a file; a text file is read once, here.
    file
        Format of a text file; the rest is detected.
    memory_limit, threads
        As for :func:`hitoku.tabulate`; they apply to everything made from the records.
    """
    with spill_folder() as spill:
        connection = connect(spill, memory_limit, threads)
        try:
            if not isinstance(data, str | Path):
                yield SharedRecords(connection, "data", frame=data)
                return
            path, kind = Path(data), kind_of(Path(data))
            shared = SharedRecords(connection, path.name, path, file)
            if kind == "frame":
                shared.frame = read_frame(path, file)
            elif kind == "text":
                shared.text = look_at(path, file)
                with translate_errors(path.name):
                    connection.execute(f"CREATE TABLE {ROWS} AS FROM {reading_text(shared.text, spill)}")
            yield shared
        finally:
            connection.close()
