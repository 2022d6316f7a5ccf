"""DuckDB as the engine: SQL reads and recodes on this machine, kernels rank and count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hitoku.kernels import record_order
from hitoku.model import Floats
from hitoku.tabulation.contributor_sums import LeafSums, Ranking, State, by_contributor, leaf_bits
from hitoku.tabulation.cube import FLOATS, Cube
from hitoku.tabulation.database import translate_errors
from hitoku.tabulation.exact_sums import NumberFacts, Numbers, decimals_sql
from hitoku.tabulation.source import (
    Identity,
    Source,
    identify_column,
    identify_holdings,
    identify_records,
    records_changed,
)

# Limits on the rows that are sorted at a time; also as many as fit into half of the memory, with two copies
# of key, value and weight.
ROWS_PER_BATCH, FEWEST_ROWS = 2**25, 2**16
BYTES_PER_ROW = 48
ROWS_PER_READ = 2**20


@dataclass(eq=False)
class DuckDB:
    """Records inside DuckDB."""

    source: Source
    """The database with the table ``records``."""
    leaf: str = "0"
    joins: str = ""
    """SQL for the number of the leaf cell of a record ``r``, row-major over the leaves, and the joins that it
    needs after ``FROM records AS r``."""
    n_leaves: int = 1
    _named: dict[str, Identity] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[str, str]:
        return self.source.names

    @property
    def where(self) -> str:
        return self.source.where

    @property
    def backend(self) -> str:
        return self.source.backend

    @property
    def memory(self) -> int:
        return self.source.memory

    def is_integer(self, column: str) -> bool:
        return self.source.is_integer(column)

    def facts(self) -> NumberFacts:
        x = "CAST(x AS DOUBLE)" if "x" in self.names else "0.0::DOUBLE"
        w = "CAST(w AS DOUBLE)" if "w" in self.names else "1.0::DOUBLE"
        query = f"""
            SELECT count(*), count(*) FILTER (WHERE x IS NULL OR NOT isfinite(x)),
                   count(*) FILTER (WHERE w IS NULL OR NOT isfinite(w)),
                   count(*) FILTER (WHERE w < 0), min(x), max(abs(x)), min(w) FILTER (WHERE w > 0), max(w),
                   max({decimals_sql("x", "round")}), max({decimals_sql("w", "round")}),
                   {_size("abs(x)")}, {_size("w")}, {_size("abs(x) * w")}
            FROM (SELECT {x} AS x, {w} AS w FROM records)
            """
        if not self.source.rows("SELECT count(*) FROM (SELECT 1 FROM records LIMIT 1)")[0][0]:
            return NumberFacts()  # columns of an empty file may have any type
        return NumberFacts(*self.source.rows(query)[0])

    def spread(self, fine: float) -> int:
        size = f"CAST(trunc(abs(CAST(x AS DOUBLE)) * {fine!r}::DOUBLE) AS HUGEINT)"
        return int(self.source.rows(f"SELECT sum({size} + 1) FROM records")[0][0])

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]:
        """Count the records of each code; keeps the codes in their own type in ``seen_<column>``."""
        kind = self.source.types[column]
        # Adding zero merges the floats 0.0 and -0.0, which are equal but not written alike.
        raw = f"({column} + 0)" if kind in FLOATS else column
        self.source.run(
            f"CREATE TABLE seen_{column} AS SELECT {raw} AS raw, CAST({raw} AS VARCHAR) AS code, "
            "count(*) AS n FROM records GROUP BY ALL"
        )
        counted = self.source.rows(f"SELECT code, sum(n)::BIGINT FROM seen_{column} GROUP BY code")
        return dict(counted), kind

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None:
        """Create a small table ``leaf_of_<column>`` with the codes as in the data."""
        pairs = [(raw, leaf) for raw, leaf in leaf_of.items() if raw is not None]
        listed = pa.table(
            {
                "code": pa.array([raw for raw, _ in pairs], pa.string()),
                "leaf": pa.array([leaf for _, leaf in pairs], pa.int64()),
            }
        )
        self.source.connection.register(f"listed_{column}", listed)
        # Joined on the raw code in its own type: converting ten million integers to text would take longer.
        self.source.run(
            f"CREATE TABLE leaf_of_{column} AS "
            f"SELECT raw, leaf FROM seen_{column} JOIN listed_{column} USING (code)"
        )
        self.source.connection.unregister(f"listed_{column}")
        own = f"leaf_{column}.leaf"
        if None in leaf_of:
            own = f"coalesce({own}, {leaf_of[None]})"
        self.leaf = f"({self.leaf}) * {n_leaves} + CAST({own} AS BIGINT)"
        self.joins += f" LEFT JOIN leaf_of_{column} AS leaf_{column} ON leaf_{column}.raw = r.{column}"
        self.n_leaves *= n_leaves

    def identify(self, level: str) -> Identity:
        if level == "holdings":
            units = self._of_column("u") if "u" in self.names else None
            return identify_holdings(self.source, self._of_column("h"), units)
        if "u" in self.names:
            return self._of_column("u")
        return identify_records(int(self.source.rows("SELECT count(*) FROM records")[0][0]))

    def _of_column(self, column: str) -> Identity:
        if column not in self._named:
            self._named[column] = identify_column(self.source, column, self.n_leaves)
        return self._named[column]

    def rank(
        self, cube: Cube, who: Identity, ranking: Ranking, numbers: Numbers, sums: LeafSums | None
    ) -> State:
        state = State.empty(cube, ranking, numbers)
        bits = leaf_bits(cube)
        for key, x, w in self._named_rows(bits, who, numbers):
            if sums is not None:
                sums.watch(key, x, w)
            rows = by_contributor(key, x, w, state.fine, bits + (who.size - 1).bit_length())
            state.add_contributors(*rows, self.source.threads)
        for key, x, w in self._own_rows(who, numbers):
            if sums is not None:
                sums.watch(key, x, w)
            state.add_records(key, x, w)
        return state

    @property
    def _rows_per_batch(self) -> int:
        return min(ROWS_PER_BATCH, max(FEWEST_ROWS, self.memory // 2 // BYTES_PER_ROW))

    def _named_rows(
        self, bits: int, who: Identity, numbers: Numbers
    ) -> Iterator[tuple[record_order.Keys, Floats, Floats]]:
        """Read the records whose contributor has a name: contributor and leaf in one number, the leaf low."""
        n_rows = numbers.n_records - who.n_own
        if n_rows == 0:
            return
        key = f"({who.who}) * {1 << bits} + ({self.leaf})"
        # All records of a contributor are in one batch: only then may batches be merged.
        n_batches = math.ceil(n_rows / self._rows_per_batch)
        for batch in range(n_batches):
            chosen = f"({who.who}) % {n_batches} = {batch}" if n_batches > 1 else "TRUE"
            where = f"({who.who}) IS NOT NULL AND {chosen}" if who.n_own or n_batches > 1 else chosen
            joins = who.joins(batch, n_batches)
            yield self._read(key, joins, where, numbers, n_rows if n_batches == 1 else None)

    def _own_rows(
        self, who: Identity, numbers: Numbers
    ) -> Iterator[tuple[record_order.Keys, Floats, Floats]]:
        """Read the records that are contributors by themselves, with their leaf."""
        if who.n_own == 0:
            return
        n_batches = math.ceil(who.n_own / self._rows_per_batch)
        for batch in range(n_batches):
            chosen = f"({self.leaf}) % {n_batches} = {batch}" if n_batches > 1 else "TRUE"
            n_rows = who.n_own if n_batches == 1 else None
            yield self._read(self.leaf, "", f"({who.given}) IS NULL AND {chosen}", numbers, n_rows)

    def _read(
        self, key: str, joins: str, where: str, numbers: Numbers, n_rows: int | None
    ) -> tuple[record_order.Keys, Floats, Floats]:
        source = self.source
        x = "CAST(r.x AS DOUBLE)" if "x" in self.names else "0.0::DOUBLE"
        weight = "w" in self.names
        if numbers.scale != 1.0 or numbers.rounded:
            x = f"round({x} * {numbers.scale!r}::DOUBLE)"
        w = ", CAST(r.w AS DOUBLE) AS w" if weight else ""
        tail = f"FROM records AS r{self.joins}{joins} WHERE {where}"
        columns = ["key", "x", "w"][: 2 + weight]
        blocks: dict[str, list[Any]] = {
            "key": [np.empty(0, np.uint64)],
            "x": [np.empty(0)],
            "w": [np.empty(0)],
        }
        with translate_errors(source.where):
            query = f"SELECT CAST({key} AS UBIGINT) AS key, {x} AS x{w} {tail}"
            for part in source.connection.sql(query).to_arrow_reader(ROWS_PER_READ):
                for name in columns:
                    blocks[name].append(part.column(name).to_numpy())
        keys, xs, ws = (np.concatenate(blocks.pop(name)) for name in ("key", "x", "w"))
        if n_rows is not None and len(keys) != n_rows:
            raise records_changed(source.where)
        return keys, xs, ws


def _size(amount: str) -> str:
    """Return SQL for a sum rounded up, capped far above the relevant range.

    Integers are added: a sum of doubles could differ between runs, and with it the scale.
    """
    return f"sum(CAST(least(ceil({amount}), 1e20) AS HUGEINT))::DOUBLE"
