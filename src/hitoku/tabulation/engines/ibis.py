"""Ibis as the engine, for warehouses that cannot run Python: their SQL does the work, and cells are returned.

Contributions are integers on their scale, with a total below 2**53, so that every database adds, divides
by powers of two and squares them in parts without rounding. Other data are rejected by name, and so
are the ranks of weighted contributors, which SQL does not express.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from hitoku.errors import DataError, HitokuError, ParameterError
from hitoku.kernels import cell_rows, fixed_point
from hitoku.model import LARGEST_WHOLE, Floats, Integers, not_numbers
from hitoku.tabulation.contributor_sums import LeafSums, Ranking, State
from hitoku.tabulation.cube import Cube
from hitoku.tabulation.database import allowed_memory, arrow_kind, codes_of
from hitoku.tabulation.exact_sums import MAX_DECIMALS, NumberFacts, Numbers
from hitoku.tabulation.source import Where, filter_columns, records_changed, refuse_filter
from hitoku.tabulation.text_files import require

WORD = 2.0**32
# Contributions are squared in three parts of this many bits: products of two stay below 2**37.
PART = 18


@dataclass(eq=False)
class Ibis:
    """Records of an Ibis table."""

    table: Any
    """The columns, by hitoku's names."""
    names: Mapping[str, str]
    """The caller's names of the columns."""
    memory: int
    """Bytes that the state of a table may use on this machine."""
    where: str = "data"
    backend: str = "pandas"
    _seen: dict[str, tuple[Any, list[str | None]]] = field(default_factory=dict)
    _places: dict[str, tuple[Any, int | None, int]] = field(default_factory=dict)

    @property
    def _leaves(self) -> list[str]:
        return [f"leaf_{column}" for column in self._places]

    def is_integer(self, column: str) -> bool:
        return bool(self.table[column].type().is_integer())

    def ask(self, expression: Any) -> Any:
        """Run a query; return an Arrow table."""
        with translate_errors(self.where):
            return expression.to_pyarrow()

    def facts(self) -> NumberFacts:
        rows = self.table.select(x=self._number("x", 0.0), w=self._number("w", 1.0), c=self.table["c0"])
        bad = {name: _is_bad(rows[name]) for name in ("x", "w")}
        kept = {name: ibis.ifelse(bad[name], 0.0, rows[name]) for name in bad}
        rows = rows.select(bad_x=bad["x"].cast("int64"), bad_w=bad["w"].cast("int64"), **kept)
        x, w, size = rows["x"], rows["w"], rows["x"].abs()
        high, low = _size(size)
        high_w, low_w = _size(w)
        found = self.ask(
            rows.aggregate(
                n=rows.count(),
                bad_x=rows["bad_x"].sum(),
                bad_w=rows["bad_w"].sum(),
                below=(w < 0).cast("int64").sum(),
                smallest=x.min(),
                largest=size.max(),
                smallest_w=w.min(where=w > 0),
                largest_w=w.max(),
                digits=_digits(size).max(),
                digits_w=_digits(w.abs()).max(),
                high=high.sum(),
                low=low.sum(),
                high_w=high_w.sum(),
                low_w=low_w.sum(),
            )
        ).to_pylist()[0]
        if not found["n"]:
            return NumberFacts()
        amount, weights = (
            float((int(found[h]) << 32) + int(found[n])) for h, n in (("high", "low"), ("high_w", "low_w"))
        )
        weighted = 0.0 if "w" in self.names else amount
        facts: list[Any] = [*list(found.values())[:-4], amount, weights, weighted]
        return NumberFacts(*facts)

    def _number(self, column: str, otherwise: float) -> Any:
        if column in self.names:
            return self.table[column].cast("float64")
        return ibis.literal(otherwise, "float64")

    def spread(self, fine: float) -> int:  # noqa: ARG002 - used only if contributions are not integers
        raise self._not_whole("x")

    def _not_whole(self, column: str) -> ParameterError:
        return ParameterError(
            "too_many_decimals_for_warehouse",
            "column {column!r} has numbers of more than {most} decimals, or sums beyond 2^53: a "
            "warehouse adds those in no fixed order",
            column=self.names[column],
            where="value" if column == "x" else "weight",
            fix="give decimals=2 to round every record first, or bring the records to DuckDB or Spark",
            most=MAX_DECIMALS,
        )

    def codes(self, column: str) -> tuple[Mapping[str | None, int], str]:
        table = self.ask(self.table.group_by(column).aggregate(n=lambda t: t.count()))
        raw = table.column(column).combine_chunks()
        self._seen[column] = raw, codes_of(raw)
        counted: dict[str | None, int] = {}
        for code, n in zip(self._seen[column][1], table.column("n").to_pylist(), strict=True):
            counted[code] = counted.get(code, 0) + n
        return counted, arrow_kind(raw)

    def place(self, column: str, leaf_of: Mapping[str | None, int], n_leaves: int) -> None:
        """Store a small table with the codes as in the data, and the leaf of records without one."""
        raw, codes = self._seen[column]
        leaf, given = f"leaf_{column}", f"given_{column}"
        listed = pa.table({given: raw, leaf: pa.array([leaf_of[code] for code in codes], pa.int64())})
        small = ibis.memtable(listed.filter(listed.column(given).is_valid()))
        self._places[column] = small, leaf_of.get(None), n_leaves

    def identify(self, level: str) -> tuple[str, ...]:
        """Return columns that name a contributor; the first that is not null counts."""
        return ("h",) * (level == "holdings") + ("u",) * ("u" in self.names)

    def rank(
        self, cube: Cube, who: tuple[str, ...], ranking: Ranking, numbers: Numbers, sums: LeafSums | None
    ) -> State:
        rows = self._rows(who, numbers)
        if sums is not None:
            self._add_up(rows, numbers, sums)
        state = State.empty(cube, ranking, numbers)
        keys = [name for name in rows.columns if name.startswith("k")]
        unnamed = ibis.and_(*(rows[name].isnull() for name in keys)) if keys else ibis.literal(True)
        alone = rows.filter(unnamed).select(place=rows["leaf"], amount=rows["amount"])
        if keys:
            named = rows.filter(~unnamed).group_by([*self._leaves, "leaf", *keys])
            spread = named.aggregate(amount=lambda t: t["amount"].sum().cast("int64"))
            met = spread.mutate(n=spread.count().over(group_by=keys))
            once = met.filter(met["n"] == 1)
            alone = alone.union(once.select(place=once["leaf"], amount=once["amount"]))
            self._collect(self._above(met.filter(met["n"] > 1), cube, keys), ranking, state.cells)
        self._collect(alone, ranking, state.leaves)
        return state

    def _rows(self, who: Sequence[str], numbers: Numbers) -> Any:
        """Return records with leaves, integer contribution, weight, and first name of a contributor."""
        table, columns, leaf = self.table, {}, None
        # All joins in one query: a nested query for each would be too deep for some databases.
        for column, (small, _, _) in self._places.items():
            table = table.left_join(small, table[column] == small[f"given_{column}"])
        for column, (_, missing, n_leaves) in self._places.items():
            own = table[f"leaf_{column}"]
            columns[f"leaf_{column}"] = own = own if missing is None else own.fill_null(missing)
            leaf = own if leaf is None else leaf * n_leaves + own
        columns["leaf"] = leaf
        if "x" in self.names:
            columns["amount"] = _nearest(table["x"].cast("float64") * numbers.scale, even=False)
        else:
            columns["amount"] = ibis.literal(0, "int64")
        if "w" in self.names:
            columns["weight"] = _nearest(table["w"].cast("float64") * numbers.weight_scale, even=True)
        before: list[Any] = []
        for place, column in enumerate(who):
            name = _name(table[column])
            columns[f"k{place}"] = ibis.ifelse(ibis.and_(*before), name, None) if before else name
            before.append(name.isnull())
        return table.select(**columns)

    def _add_up(self, rows: Any, numbers: Numbers, sums: LeafSums) -> None:
        columns = {"sum": "amount", "weighted_count": "weight"}
        if "weighted_count" in sums.amounts and numbers.fine.sums["weighted_count"] != 1.0:
            raise self._not_whole("w")
        asked = {name: rows[columns[name]].sum() for name in sums.amounts}
        found = self.ask(rows.group_by("leaf").aggregate(n=rows.count(), **asked))
        if found.column("leaf").null_count:
            raise records_changed(self.where)
        leaf = _whole(found.column("leaf"))
        sums.records[leaf] = _whole(found.column("n"))
        if sums.records.sum() != numbers.n_records:
            raise records_changed(self.where)
        for name in asked:
            total = _whole(found.column(name))
            sums.amounts[name][leaf] = np.stack([total >> fixed_point.BITS, total & fixed_point.LOW], axis=1)

    def _above(self, rows: Any, cube: Cube, keys: Sequence[str]) -> Any:
        """Join contributors with every cell above one of their leaves, and sum their contributions."""
        cell, stride = ibis.literal(0, "int64"), cube.n_cells
        for name, dimension in zip(self._leaves, cube.dimensions, strict=True):
            stride //= len(dimension)
            closure = dimension.closure.tocoo()
            below, step = f"below_{name}", f"step_{name}"
            listed = {below: closure.col.astype(np.int64), step: closure.row.astype(np.int64) * stride}
            small = ibis.memtable(pa.table(listed))
            rows = rows.inner_join(small, rows[name] == small[below])
        for name in self._leaves:
            cell = cell + rows[f"step_{name}"]
        there = rows.select(place=cell, amount=rows["amount"], **{key: rows[key] for key in keys})
        grouped = there.group_by(["place", *keys]).aggregate(amount=lambda t: t["amount"].sum().cast("int64"))
        return grouped.select("place", "amount")

    def _collect(self, rows: Any, ranking: Ranking, target: Floats) -> None:
        """Add contributors to a state: their number, squares and largest contributions in every cell."""
        size = rows["amount"].abs()
        rows = rows.select("place", size=size, ranked=size if ranking.absolute else rows["amount"])
        parts = _parts(rows["size"])
        rows = rows.mutate(
            rank=ibis.row_number().over(group_by="place", order_by=rows["ranked"].desc()), **parts
        )
        high, middle, low = (rows[name] for name in parts)
        squares = [high * high, 2 * high * middle, 2 * high * low + middle * middle]
        squares += [2 * middle * low, low * low]
        asked = {f"s{place}": square.sum() for place, square in enumerate(squares)}
        asked |= {
            f"t{place}": rows["ranked"].max(where=rows["rank"] == place) for place in range(ranking.top)
        }
        found = self.ask(rows.group_by("place").aggregate(n=rows.count(), sizes=rows["size"].sum(), **asked))
        place, words = _whole(found.column("place")), target.view(np.int64)
        target[place, cell_rows.COUNT] = _whole(found.column("n"))
        words[place, cell_rows.SQUARES : cell_rows.PENDING] = _two_words(
            [found.column(f"s{place}").to_pylist() for place in range(len(squares))]
        )
        for rank in range(ranking.top):
            target[place, cell_rows.FIRST + rank] = np.maximum(_whole(found.column(f"t{rank}")), 0)
        if ranking.absolute:
            words[place, ranking.end + 1] = _whole(found.column("sizes"))  # below 2**53


@contextmanager
def open_ibis(
    data: Any,
    columns: Mapping[str, str],
    *,
    where: Where | None = None,
    outside: Sequence[Where] = (),
    memory_limit: str | None = None,
) -> Iterator[Ibis]:
    """Open an Ibis table; Ibis keeps the small tables of codes until it is closed."""
    if "x" in columns and "w" in columns:
        raise ParameterError(
            "weights_not_for_warehouse",
            "contributors of different weights cannot be ranked by a warehouse",
            where="weight",
            fix="leave weight or value out, or bring the records to DuckDB or Spark, which rank them",
        )
    columns = {**columns, **filter_columns(where, outside)}
    require(columns.values(), data.columns, "data")
    table = data.select(**{alias: _as_code(data[column], alias) for alias, column in columns.items()})
    engine = Ibis(table, columns, allowed_memory(memory_limit))
    if where or outside:
        _filter(engine, where or {}, outside)
    _refuse_text(engine)
    yield engine


def count_combinations(data: Any, names: Sequence[str], count: str) -> Any:
    """Return the distinct combinations of some columns, and how many records have each, as an Arrow table."""
    with open_ibis(data, {f"c{number}": name for number, name in enumerate(names)}) as engine:
        grouped = engine.table.group_by(list(engine.names)).aggregate(n=lambda t: t.count())
        return engine.ask(grouped).rename_columns([*names, count])


def _as_code(column: Any, alias: str) -> Any:
    """Convert codes to a type that can be joined by equality: no NaN, one zero, text for unusual types."""
    kind = column.type()
    if alias[0] not in "cf":
        return column
    if kind.is_floating():
        return ibis.ifelse(column != column, None, column + 0)  # noqa: PLR0124 - NaN
    usual = kind.is_integer() or kind.is_string() or kind.is_boolean() or kind.is_decimal()
    return column if usual or kind.is_date() or kind.is_timestamp() else column.cast("string")


def _filter(engine: Ibis, where: Where, outside: Sequence[Where]) -> None:
    everything = kept_rows = engine.table
    aliases = iter(filter_columns(where, outside))

    def kept(column: str, codes: Sequence[str]) -> tuple[str, pa.Array]:
        """Return hitoku's name of a column, and the codes that are kept, as in the data."""
        alias = next(aliases)
        raw = engine.ask(everything.select(alias).distinct()).column(alias).combine_chunks()
        found = codes_of(raw)
        refuse_filter(column, codes, found, engine.where)
        wanted = set(map(str, codes))
        return alias, raw.filter(pa.array([code in wanted for code in found], pa.bool_()))

    for column, codes in where.items():
        alias, chosen = kept(column, codes)
        small = ibis.memtable(pa.table({f"kept_{alias}": chosen}))
        joined = kept_rows.inner_join(small, kept_rows[alias] == small[f"kept_{alias}"])
        kept_rows = joined.drop(f"kept_{alias}")
    for each in outside:
        left_out = dict(kept(column, codes) for column, codes in each.items())
        crossed = np.indices([len(chosen) for chosen in left_out.values()]).reshape(len(left_out), -1)
        small = ibis.memtable(
            pa.table(
                {
                    f"kept_{a}": c.take(pa.array(n))
                    for (a, c), n in zip(left_out.items(), crossed, strict=True)
                }
            )
        )
        kept_rows = kept_rows.anti_join(small, [kept_rows[a] == small[f"kept_{a}"] for a in left_out])
    engine.table = kept_rows


def _refuse_text(engine: Ibis) -> None:
    for column in ("x", "w"):
        if column not in engine.names:
            continue
        kind = engine.table[column].type()
        if kind.is_integer() or kind.is_floating() or kind.is_decimal() or kind.is_null():
            continue
        example = ""
        if kind.is_string():
            texts = engine.table.filter(engine.table[column].contains(","))
            first = engine.ask(texts.select(column).limit(1)).column(column).to_pylist()
            example = first[0] if first else ""
        raise not_numbers(engine.names[column], engine.where, example)


def _name(column: Any) -> Any:
    """Return a column of contributor names, null if the name is blank."""
    kind = column.type()
    if kind.is_string():
        return ibis.ifelse(column.strip() != "", column, None)
    if kind.is_floating():
        return ibis.ifelse(column != column, None, column + 0)  # noqa: PLR0124 - NaN
    return column


def _is_bad(number: Any) -> Any:
    """Return whether a number is missing, NaN or infinite; in some databases NaN equals itself."""
    return number.isnull() | (number != number) | (number.abs() > sys.float_info.max)  # noqa: PLR0124 - NaN


def _nearest(number: Any, *, even: bool) -> Any:
    """Round to an integer: halves away from zero, or to the even one."""
    size = number.abs()
    floor = size.floor().cast("int64")
    rest = size - floor.cast("float64")
    up = rest >= 0.5
    if even:
        half = (floor.cast("float64") / 2).floor().cast("int64")
        up = (rest > 0.5) | ((rest == 0.5) & (floor != half * 2))
    nearest = floor + up.cast("int64")
    return ibis.ifelse(number < 0, -nearest, nearest)


def _digits(size: Any) -> Any:
    """Return the fewest decimals that represent a number of this size exactly; 99 if there are too many."""
    cases = []
    for digits in range(MAX_DECIMALS + 1):
        large = size * 10.0**digits
        nearest = _nearest(ibis.least(large, float(LARGEST_WHOLE)), even=False).cast("float64")
        cases.append(((large < float(LARGEST_WHOLE)) & (nearest / 10.0**digits == size), digits))
    return ibis.cases(*cases, else_=99)


def _size(amount: Any) -> tuple[Any, Any]:
    """Return a contribution, capped far above the relevant range and rounded up, in two integer parts."""
    cut = ibis.least(amount, 1e20)
    high = (cut / WORD).floor().cast("int64")
    return high, (cut - high.cast("float64") * WORD).ceil().cast("int64")


def _parts(size: Any) -> dict[str, Any]:
    """Return three parts of an integer below 2**53, the highest first."""
    low = 2**PART - 1
    return {"high": size >> (2 * PART), "middle": (size >> PART) & low, "low": size & low}


def _whole(column: Any) -> Integers:
    """Return a column of integers, of any type that a database gives its sums; nulls are zero."""
    return np.array([0 if each is None else int(each) for each in column.to_pylist()], dtype=np.int64)


def _two_words(parts: Sequence[Sequence[Any]]) -> Integers:
    """Combine sums of squares in parts, the highest first; see :mod:`hitoku.kernels.fixed_point`."""
    totals = []
    for row in zip(*parts, strict=True):
        total = 0
        for part in row:
            total = (total << PART) + int(part)
        totals.append((total >> fixed_point.BITS, total & fixed_point.LOW))
    return np.array(totals, dtype=np.int64).reshape(-1, 2)


@contextmanager
def translate_errors(where: str) -> Iterator[None]:
    """Convert exceptions of Ibis and its database to hitoku's, without messages, which may quote records."""
    try:
        yield
    except HitokuError:
        raise
    except Exception as error:
        raise DataError(
            "records_not_read",
            "the records could not be read ({kind})",
            where=where,
            fix="check the table with Ibis itself, for example table.count().execute(), and that small "
            "temporary tables may be made",
            kind=type(error).__name__,
        ) from error
