"""Which engine works on the records: told by what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hitoku.tabulation.engine import Engine
from hitoku.tabulation.file_format import FileFormat
from hitoku.tabulation.source import Where, open_source


@contextmanager
def open_engine(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    file: FileFormat | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Engine]:
    """Open records with the columns wanted; see :func:`hitoku.tabulation.source.open_source`."""
    limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    with open_source(data, columns, where=where, file=file, **limits) as source:
        # Imported here: it brings numba, and nobody should wait for that to learn of a misspelt column.
        from hitoku.tabulation.duckdb import DuckDB  # noqa: PLC0415 - see above

        yield DuckDB(source)
