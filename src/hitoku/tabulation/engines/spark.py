"""Spark as the engine: records stay on the cluster, only small tables of codes and of cells are transferred.

Only SQL is used, so that it works on the driver and with Spark Connect. Contributors are added
up by finest cell first; then all rows of one meet in a partition, where kernels rank them. Sums are those
of :mod:`hitoku.kernels.fixed_point`, added in parts of 31 bits, so that nothing depends on partitions.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hitoku.errors import DataError, TableError
from hitoku.kernels import fixed_point
from hitoku.model import infinite, not_numbers
from hitoku.tabulation.contributor_sums import LeafSums, Ranking, State
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.database import allowed_memory, arrow_kind, codes_of
from hitoku.tabulation.engines.spark_tasks import OTHER_VERSION, SCHEMA, Work, own_version, task, unpack
from hitoku.tabulation.exact_sums import NumberFacts, Numbers, decimals_sql
from hitoku.tabulation.source import Where, filter_columns, refuse_filter
from hitoku.tabulation.text_files import require

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "decimal")
# Bits of a part of a sum: 2**32 records of one finest cell do not overflow.
LIMB, N_LIMBS = 31, 4
Who = tuple[tuple[str, str], ...]


@dataclass(eq=False)
class Spark:
    """Records of a Spark frame."""

    session: Any
    """The session of the frame."""
    frame: Any
    """The columns, by hitoku's names."""
    names: Mapping[str, str]
    """The caller's names of them."""
    types: Mapping[str, str]
    """Spark's types of them."""
    n_parts: int
    """Partitions in which contributors are ranked."""
    memory: int
    """Bytes that the state of a table may take, here and in each worker."""
    where: str = "data"
    backend: str = "pandas"
    views: list[str] = field(default_factory=list)
    records: str = ""
    leaf: str = "CAST(0 AS BIGINT)"
    joins: str = ""
    _seen: dict[str, tuple[Any, list[str | None]]] = field(default_factory=dict)

    def is_integer(self, column: str) -> bool:
        return self.types[column] in WHOLE

    def ask(self, query: str) -> Any:
        """Run a query; return an Arrow table."""
        with translate_errors(self.where):
            return self.session.sql(query).toArrow()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query that returns few rows."""
        return [tuple(row.values()) for row in self.ask(query).to_pylist()]

    def view(self, frame: Any) -> str:
        """Register a frame under a name in SQL, until the records are closed."""
        name = f"hitoku_{uuid.uuid4().hex}"
        with translate_errors(self.where):
            frame.createOrReplaceTempView(name)
        self.views.append(name)
        return name

    def facts(self) -> NumberFacts:
        bad = "isnan({0}) OR {0} IS NULL OR abs({0}) = double('inf')"
        sizes = [part for amount in ("abs(x)", "w", "abs(x) * w") for part in _size(amount)]
        found = self.rows(
            f"""
            SELECT count(*) AS a, count_if({bad.format("x")}) AS b, count_if({bad.format("w")}) AS c,
                   count_if(w < 0) AS d, min(x) AS e, max(abs(x)) AS f, min(w) FILTER (WHERE w > 0) AS g,
                   max(w) AS h, max({decimals_sql("x", "rint")}) AS i, max({decimals_sql("w", "rint")}) AS j,
                   {", ".join(f"{size} AS s{place}" for place, size in enumerate(sizes))}
            FROM (SELECT {self._x} AS x, {self._w} AS w FROM {self.records})
            """
        )[0]
        if not found[0]:
            return NumberFacts()
        high, low = found[10::2], found[11::2]
        return NumberFacts(*found[:10], *(float((h << 32) + n) for h, n in zip(high, low, strict=True)))

    @property
    def _x(self) -> str:
        return "CAST(x AS DOUBLE)" if "x" in self.names else "0.0D"

    @property
    def _w(self) -> str:
        return "CAST(w AS DOUBLE)" if "w" in self.names else "1.0D"

    def spread(self, fine: float) -> int:
        size = f"CAST(abs({self._x}) * {fine!r}D AS BIGINT) + 1"
        return int(self.rows(f"SELECT sum({size}) AS n FROM {self.records}")[0][0])

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]:
        """Count the records of each code; the first call scans all variables at once."""
        if not self._seen:
            self._look_at_codes([name for name in self.names if name.startswith("c")])
        table, codes = self._seen[column]
        counted: dict[str | None, int] = {}
        for code, n in zip(codes, table.column("n").to_pylist(), strict=True):
            counted[code] = counted.get(code, 0) + n
        return counted, arrow_kind(table.column("raw"))

    def _look_at_codes(self, columns: Sequence[str]) -> None:
        listed, sets = ", ".join(columns), ", ".join(f"({column})" for column in columns)
        table = self.ask(
            f"SELECT grouping_id({listed}) AS g, {listed}, count(*) AS n FROM {self.records} "
            f"GROUP BY {listed} GROUPING SETS ({sets})"
        )
        every = 2 ** len(columns) - 1
        which = table.column("g").to_numpy()
        for place, column in enumerate(columns):
            own = table.filter(pa.array(which == every - 2 ** (len(columns) - 1 - place)))
            raw = own.column(column).combine_chunks()
            self._seen[column] = pa.table({"raw": raw, "n": own.column("n")}), codes_of(raw)

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None:
        """Join a small table with the codes as in the data."""
        table, codes = self._seen[column]
        leaves = pa.array([leaf_of[code] for code in codes], pa.int64())
        listed = pa.table({"raw": table.column("raw"), "leaf": leaves})
        listed = listed.filter(listed.column("raw").is_valid())
        own = f"leaf_{column}.leaf"
        if None in leaf_of:
            own = f"coalesce({own}, {leaf_of[None]})"
        self.leaf = f"({self.leaf}) * {n_leaves} + {own}"
        self.joins += f" LEFT JOIN {self.small(listed)} AS leaf_{column} ON leaf_{column}.raw = r.{column}"

    def small(self, table: Any) -> str:
        """Transfer a small Arrow table to the cluster; every executor gets all of it."""
        with translate_errors(self.where):
            return self.view(self.session.createDataFrame(table).hint("broadcast"))

    def identify(self, level: str) -> Who:
        """Return columns that name a contributor, with SQL for each; the first that is not null counts."""
        columns = ["h"] if level == "holdings" else []
        columns += ["u"] if "u" in self.names else []
        return tuple((f"k{place}", self._nonblank_name(column)) for place, column in enumerate(columns))

    def _nonblank_name(self, column: str) -> str:
        kind = self.types[column]
        if kind == "string":
            return f"CASE WHEN trim(r.{column}) <> '' THEN r.{column} END"
        if kind in {"float", "double"}:
            return f"CASE WHEN NOT isnan(r.{column}) THEN r.{column} + 0 END"
        return f"CAST(r.{column} AS INT)" if kind == "boolean" else f"r.{column}"

    def rank(self, cube: Cube, who: Who, ranking: Ranking, numbers: Numbers, sums: LeafSums | None) -> State:
        x = self._x.replace("(x", "(r.x")
        if numbers.scale != 1.0 or numbers.rounded:
            x = _round(f"{x} * {numbers.scale!r}D")
        keys = "".join(f", {sql} AS {name}" for name, sql in who)
        rows = f"SELECT {self.leaf} AS leaf, {x} AS x, {self._w.replace('(w', '(r.w')} AS w{keys} "
        rows += f"FROM {self.records} AS r{self.joins}"
        if sums is not None:
            self._add_up(rows, numbers, sums)
        amounts = [("x", 0)]
        if ranking.weighted:
            amounts += [("w * abs(x)", 1), ("abs(x)", 2), ("w", 3)]
        limbs = [_limbs(amount, numbers.fine.ranks[place], f"p{place}") for amount, place in amounts]
        names = tuple(name for name, _ in who)
        work = Work(cube, ranking, numbers, names, tuple(tuple(part) for part in limbs))
        weight = ", w" if ranking.weighted else ""
        unnamed = " AND ".join(f"{name} IS NULL" for name in names) or "true"
        with translate_errors(self.where):
            own = self.session.sql(f"SELECT leaf, x{weight} FROM ({rows}) WHERE {unnamed}")
            states = own.coalesce(self.n_parts).mapInArrow(task("rank_records", work), SCHEMA)
            if who:
                # Only the first name counts: a unit with a holding is that holding.
                others = [f"CASE WHEN {names[0]} IS NULL THEN {name} END AS {name}" for name in names[1:]]
                first = [names[0], *others]
                parts = ", ".join(f"sum({sql}) AS {name}" for part in limbs for name, sql in part.items())
                grouped = self.session.sql(
                    f"SELECT leaf, {', '.join(names)}, {parts}, count(*) AS n FROM "
                    f"(SELECT leaf, x, w, {', '.join(first)} FROM ({rows}) WHERE NOT ({unnamed})) "
                    f"GROUP BY leaf, {', '.join(names)}"
                ).repartition(self.n_parts, *names)
                states = states.unionAll(grouped.mapInArrow(task("rank_contributors", work), SCHEMA))
            merged = states.repartition(self.n_parts, "part", "block").mapInArrow(
                task("merge_blocks", work), SCHEMA
            )
            blocks = merged.toArrow()
        state = State.empty(cube, ranking, numbers)
        for part, packed in zip(
            blocks.column("part").to_pylist(), blocks.column("rows").to_pylist(), strict=True
        ):
            unpack(packed, ranking, (state.leaves, state.cells)[part], 0)
        return state

    def _add_up(self, rows: str, numbers: Numbers, sums: LeafSums) -> None:
        """Add up the records of every leaf in Spark."""
        weights = "w"
        if numbers.weight_scale != 1.0 or (numbers.rounded and "sum" not in sums.amounts):
            weights = f"rint(w * {numbers.weight_scale!r}D)"
        amount = {"sum": "x", "weighted_count": weights}
        amount["weighted_sum"] = "rint(w * x)" if numbers.rounded else f"{weights} * x"
        limbs = {name: _limbs(amount[name], numbers.fine.sums[name], name) for name in sums.amounts}
        parts = "".join(f", sum({sql}) AS {name}" for own in limbs.values() for name, sql in own.items())
        table = self.ask(f"SELECT leaf, count(*) AS n{parts} FROM ({rows}) GROUP BY leaf")
        leaf = table.column("leaf").to_numpy()
        sums.records[leaf] = table.column("n").to_numpy()
        for name, own in limbs.items():
            columns = np.stack([table.column(part).to_numpy() for part in own], axis=1)
            sums.amounts[name][leaf] = fixed_point.from_limbs(columns)


@contextmanager
def open_spark(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    outside: Sequence[Where] = (),
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Spark]:
    """Open a Spark frame; its names in the session are removed at the end."""
    columns = {**columns, **filter_columns(where, outside)}
    if len(set(data.columns)) < len(data.columns):
        raise DataError(
            "duplicate_column_names", "two columns have the same name", where="data", fix="rename one of them"
        )
    require(columns.values(), data.columns, "data")
    session = data.sparkSession
    with translate_errors("data"):
        chosen = [f"`{column.replace('`', '``')}` AS {alias}" for alias, column in columns.items()]
        frame = data.selectExpr(*chosen)
        types = {name: kind.partition("(")[0] for name, kind in frame.dtypes}
    n_parts = threads or _parallelism(session)
    engine = Spark(session, frame, columns, types, n_parts, _memory(session, memory_limit))
    try:
        engine.records = engine.view(frame)
        if where or outside:
            _filter(engine, where or {}, outside)
        _refuse_text(engine)
        yield engine
    finally:
        for name in engine.views:
            with suppress(Exception):  # a closed session has no views
                session.catalog.dropTempView(name)


def count_combinations(data: Any, names: Sequence[str], count: str) -> Any:
    """Return the distinct combinations of some columns, and how many records have each, as an Arrow table."""
    with open_spark(data, {f"c{number}": name for number, name in enumerate(names)}) as engine:
        table = engine.ask(f"SELECT *, count(*) AS n FROM {engine.records} GROUP BY ALL")
        return table.rename_columns([*names, count])


def _filter(engine: Spark, where: Where, outside: Sequence[Where]) -> None:
    aliases = iter(filter_columns(where, outside))

    def kept(column: str, codes: Sequence[str]) -> tuple[str, str]:
        """Return a small table of the codes that are kept, and how it is joined."""
        alias = next(aliases)
        raw = engine.ask(f"SELECT DISTINCT {alias} AS raw FROM {engine.records}").column("raw")
        found = codes_of(raw.combine_chunks())
        refuse_filter(column, codes, found, engine.where)
        wanted = set(map(str, codes))
        chosen = raw.filter(pa.array([code in wanted for code in found], pa.bool_()))
        return f"{engine.small(pa.table({f'raw_{alias}': chosen}))}", f"raw_{alias} = r.{alias}"

    joined = f"{engine.records} AS r"
    for column, codes in where.items():
        small, tied = kept(column, codes)
        joined += f" LEFT SEMI JOIN {small} ON {tied}"
    for each in outside:
        listed, ties = zip(*(kept(column, codes) for column, codes in each.items()), strict=True)
        product = f"(SELECT * FROM {' CROSS JOIN '.join(listed)})"
        joined += f" LEFT ANTI JOIN {product} ON {' AND '.join(ties)}"
    with translate_errors(engine.where):
        engine.records = engine.view(engine.session.sql(f"SELECT r.* FROM {joined}"))


def _refuse_text(engine: Spark) -> None:
    for column in ("x", "w"):
        kind = engine.types.get(column)
        if kind is None or kind in {"void", *NUMBERS}:
            continue
        example = ""
        if kind == "string":
            number = f"try_cast({column} AS DOUBLE)"
            n_records, words = engine.rows(
                f"SELECT count(*) AS n, count_if(isnan({number}) OR abs({number}) = double('inf')) AS bad "
                f"FROM {engine.records}"
            )[0]
            if not n_records:
                continue  # an empty table is reported elsewhere
            if words:
                raise infinite(engine.names[column], words, engine.where)
            first = engine.rows(
                f"SELECT {column} AS t FROM {engine.records} WHERE {column} LIKE '%,%' LIMIT 1"
            )
            example = first[0][0] if first else ""
        raise not_numbers(engine.names[column], engine.where, example)


def _parallelism(session: Any) -> int:
    """Return the number of tasks that run at the same time."""
    query = "SELECT count(DISTINCT p) AS n FROM (SELECT spark_partition_id() AS p FROM range(10000))"
    with translate_errors("spark"):
        return int(session.sql(query).toArrow().column("n")[0].as_py())


def _memory(session: Any, memory_limit: str | None) -> int:
    """Return the memory limit: as given, or that of this machine or of a worker, if known."""
    allowed = allowed_memory(memory_limit)
    with translate_errors("spark"):
        setting = session.conf.get("spark.executor.pyspark.memory", None)
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", str(setting or "").lower())
    if found is None:
        return allowed
    # Spark reads a plain number as MiB.
    return min(allowed, int(found[1]) << {"k": 10, "": 20, "m": 20, "g": 30, "t": 40}[found[2]])


def _limbs(amount: str, fine: float, name: str) -> dict[str, str]:
    """Return SQL for the parts of a number times a power of two, the highest first; truncated.

    A remainder of doubles is exact, and a cast to BIGINT truncates, so every part is exact.
    """
    if fine == 1.0:  # whole numbers whose sum stays below 2**53
        return {name: f"CAST({amount} AS BIGINT)"}
    scaled = f"({amount}) * {fine!r}D"
    parts = {f"{name}_{N_LIMBS - 1}": f"CAST({scaled} / {2.0 ** (LIMB * (N_LIMBS - 1))!r}D AS BIGINT)"}
    for limb in range(N_LIMBS - 2, -1, -1):
        rest = f"({scaled}) % {2.0 ** (LIMB * (limb + 1))!r}D"
        parts[f"{name}_{limb}"] = f"CAST(({rest}) / {2.0 ** (LIMB * limb)!r}D AS BIGINT)"
    return parts


def _round(number: str) -> str:
    """Return SQL that rounds like DuckDB and C, halves away from zero; Spark's round uses decimals."""
    return (
        f"CASE WHEN abs(({number}) % 1.0D) = 0.5D THEN ({number}) + sign({number}) * 0.5D "
        f"ELSE rint({number}) END"
    )


def _size(amount: str) -> tuple[str, str]:
    """Return SQL for a sum rounded up, capped far above the relevant range, in two integer parts."""
    cut, word = f"least({amount}, 1e20D)", f"{2.0**32!r}D"
    high = f"CAST({cut} / {word} AS BIGINT)"
    return f"sum({high})", f"sum(CAST(ceil({cut} % {word}) AS BIGINT))"


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Convert Spark's exceptions to hitoku's, without their messages, which may quote records."""
    try:
        yield
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        if package not in {"pyspark", "py4j", "grpc", "pyarrow"}:
            raise
        text = str(error)
        other = re.search(rf"{OTHER_VERSION} (\S+)", text)
        if other is not None or "No module named 'hitoku" in text:
            found = other[1] if other is not None else "none"
            raise TableError(
                "spark_version_differs",
                "the workers of Spark have hitoku {found}, here it is {own}",
                where="Spark executors",
                fix="install the same version of hitoku in the image or environment of the executors",
                found=found,
                own=own_version(),
            ) from None
        missing = re.search(r"No module named '(\w+)", text)
        if missing is not None:
            raise TableError(
                "spark_package_missing",
                "the Python of Spark's workers ({python}) does not have the package {package}",
                where="Spark executors",
                fix="set PYSPARK_PYTHON to a Python with hitoku[spark] before the session of Spark is opened",
                python=os.environ.get("PYSPARK_PYTHON", "python3, as PYSPARK_PYTHON is not set"),
                package=missing[1],
            ) from None
        raise DataError(
            "records_not_read",
            "the records could not be read ({kind})",
            where=where,
            fix="check the frame with Spark itself, for example frame.count()",
            kind=type(error).__name__,
        ) from error
