"""The protocol of engines, and the choice of one from the type of the data, or by name.

An engine answers four questions about records; the rest of a table is computed from the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hitoku.errors import DataError, ParameterError
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.exact_sums import NumberFacts, Numbers
from hitoku.tabulation.records import PARQUET
from hitoku.tabulation.shared_records import SharedRecords, share_records
from hitoku.tabulation.source import Where, open_source
from hitoku.tabulation.text_files import FileFormat

if TYPE_CHECKING:  # it brings numba
    from hitoku.tabulation.contributor_sums import LeafSums, Ranking, State


class Engine(Protocol):
    """Records in some system.

    Columns are known by short names: ``c0``, ``c1``, ... for codes, ``x`` for values, ``w`` for weights,
    ``u`` for units, ``h`` for holdings.
    """

    @property
    def names(self) -> Mapping[str, str]:
        """The caller's name of each column."""

    @property
    def where(self) -> str:
        """Name of the data in messages."""

    @property
    def backend(self) -> str:
        """Type of frame for results."""

    @property
    def memory(self) -> int:
        """Bytes that the state of a table may use."""

    def is_integer(self, column: str) -> bool:
        """Return whether a column has an integer type."""

    def facts(self) -> NumberFacts:
        """Numbers: return facts about values and weights, in one pass."""

    def spread(self, fine: float) -> int:
        r"""Numbers: return the sum of \|x\| times ``fine``, truncated, plus one for every record."""

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]:
        """Codes: count the records of each code of a column, as DuckDB writes it; and DuckDB's type of it."""

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None:
        """Codes: set the leaf of each code; called for one variable after another."""

    def identify(self, level: str) -> Any:
        """Identity: return the contributor of records, of "units" or of "holdings"; for :meth:`rank`."""

    def rank(self, cube: Cube, who: Any, ranking: Ranking, numbers: Numbers, sums: LeafSums | None) -> State:
        """Contributors: collect them in a state and, if requested, sums of records."""


ENGINES = ("duckdb", "spark")


@contextmanager
def open_engine(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    outside: Sequence[Where] = (),
    file: FileFormat | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Engine]:
    """Open records with some columns; see :func:`hitoku.tabulation.source.open_source`."""
    limits: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    if is_spark(data):
        # Deferred imports, here and below: they load numba.
        from hitoku.tabulation.engines.spark import open_spark  # noqa: PLC0415 - see above

        with open_spark(data, columns, where=where, outside=outside, **limits) as spark:
            yield spark
        return
    if is_ibis(data):
        from hitoku.tabulation.engines.ibis import open_ibis  # noqa: PLC0415 - see above

        with open_ibis(data, columns, where=where, outside=outside, memory_limit=memory_limit) as warehouse:
            yield warehouse
        return
    with open_source(data, columns, where=where, outside=outside, file=file, **limits) as source:
        # Deferred, so that a misspelt column is reported without loading numba.
        from hitoku.tabulation.engines.duckdb import DuckDB  # noqa: PLC0415 - see above

        yield DuckDB(source)


def is_spark(data: Any) -> bool:
    """Return whether data are a Spark frame, of a driver or of Spark Connect, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame"
        for kind in type(data).__mro__
    )


def is_ibis(data: Any) -> bool:
    """Return whether data are a table of Ibis, without importing Ibis."""
    return any(
        kind.__module__.startswith("ibis.expr") and kind.__name__ == "Table" for kind in type(data).__mro__
    )


@contextmanager
def opened_once(
    data: Any, file: FileFormat | None = None, *, memory_limit: str | None = None, threads: int | None = None
) -> Iterator[Any]:
    """Open records once for several tables; remote or already open data are returned unchanged."""
    if is_spark(data) or is_ibis(data) or isinstance(data, SharedRecords):
        yield data
        return
    with share_records(data, file, memory_limit=memory_limit, threads=threads) as shared:
        yield shared


def count_combinations(data: Any, names: Sequence[str], count: str) -> Any:
    """Count the records of each combination of codes in remote data; None for other data.

    Returns an Arrow table with these columns and the counts.
    """
    if is_spark(data):
        from hitoku.tabulation.engines import spark  # noqa: PLC0415 - it needs Spark

        return spark.count_combinations(data, names, count)
    if is_ibis(data):
        from hitoku.tabulation.engines import ibis  # noqa: PLC0415 - it needs Ibis

        return ibis.count_combinations(data, names, count)
    return None


def given_to(engine: Any, data: Any) -> Any:
    """Return data as the engine requires: a path that Spark reads becomes a frame of Spark.

    ``engine`` is "duckdb", "spark" for the existing session, or a session of Spark.
    """
    session = type(engine).__module__.startswith("pyspark.sql")
    if not session and engine not in ENGINES:
        words = " or ".join(map(repr, ENGINES))
        raise ParameterError(
            "engine_invalid",
            "engine must be {engines}, got {engine!r}",
            where="engine",
            fix="use {engines}, or a session of Spark",
            engines=words,
            engine=engine,
        )
    if engine == "duckdb" or is_spark(data) or is_ibis(data):
        return data
    if not isinstance(data, str | Path):
        raise ParameterError(
            "records_not_in_spark",
            "a {kind} is on this machine, not with Spark",
            where="engine",
            fix="leave engine out, or give a Spark frame, or a path of Parquet that the cluster can read",
            kind=type(data).__name__,
        )
    refuse_other_than_parquet(data)
    from hitoku.tabulation.engines.spark_session import read_parquet  # noqa: PLC0415 - it needs Spark

    return read_parquet(engine if session else None, str(data))


def refuse_other_than_parquet(data: str | Path) -> None:
    """Raise for a path that Spark is to read and whose name is not that of a Parquet file."""
    if not str(data).rstrip("/").lower().endswith(PARQUET):
        raise DataError(
            "spark_needs_parquet",
            "Spark is to read {path!r}, whose name is not that of a Parquet file",
            where="data",
            fix="give the path of a .parquet file or folder, or a Spark frame that reads anything else",
            path=Path(data).name,
        )
