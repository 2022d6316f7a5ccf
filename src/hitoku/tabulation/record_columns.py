"""Columns of a file: their content, in counts, and hierarchies made of nested columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Any, Literal

from hitoku.errors import DataError, HierarchyError, some
from hitoku.files import spill_folder
from hitoku.model import TOTAL, Hierarchies, Hierarchy
from hitoku.tabulation.database import connect, literal, quote_name, translate_errors
from hitoku.tabulation.placement import RecordAtoms
from hitoku.tabulation.records import attach_whole
from hitoku.tabulation.source import NUMERIC
from hitoku.tabulation.text_files import FileFormat

# As statistical offices write them, in lower case.
WORDS_FOR_TOTALS = (
    *("total", "totals", "tot", "tot.", "_t", "grand total", "all", "ensemble", "insgesamt", "gesamt"),
    *(
        "zusammen",
        "totale",
        "totaal",
        "totalt",
        "i alt",
        "yhteens\u00e4",
        "razem",
        "og\u00f3\u0142em",
        "celkem",
        "spolu",
    ),
    *("\u5408\u8a08", "\u7dcf\u6570", "\u7dcf\u8a08", "\u8a08", "\u5168\u4f53", "\u5168\u56fd"),
)
Kind = Literal["text", "whole", "number", "other"]
Ask = Callable[[str], list[Any]]
# The open file, and the function that queries it; see kept_open.
OPEN: ContextVar[tuple[Path, Ask] | None] = ContextVar("open_file", default=None)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a file."""

    name: str
    """Its heading."""
    kind: Kind
    """"text", "whole" (numbers without decimals), "number", or "other" (dates, lists, ...)."""
    n_distinct: int
    n_missing: int
    """Different entries; records without one, or with a number that is not finite."""
    negative: bool
    """Whether some number is negative."""
    total: str = ""
    """An entry that is a word for totals, "" if there is none."""


def columns_of(path: str | Path) -> tuple[int, tuple[Column, ...]]:
    """Count the records of a CSV or Parquet file, and describe its columns."""
    with _asking(Path(path)) as ask:
        types = {row[0]: _kind(row[1]) for row in ask("DESCRIBE records")}
        texts = [name for name, kind in types.items() if kind == "text"]
        dated = [f"count(TRY_CAST({quote_name(name)} AS DATE)) = count({quote_name(name)})" for name in texts]
        for name, dates in zip(
            texts, ask(f"SELECT {', '.join([*dated, '1'])} FROM records")[0], strict=False
        ):
            types[name] = "other" if dates else "text"
        asked = ["count(*)"]
        for name, kind in types.items():
            column = quote_name(name)
            numeric = kind in {"whole", "number"}
            usable = f"isfinite({column}::DOUBLE)" if numeric else f"{column} IS NOT NULL"
            below = f"coalesce(min({column}) < 0, false)" if numeric else "false"
            word = f"lower(trim({column})) IN ({', '.join(map(literal, WORDS_FOR_TOTALS))})"
            total = f"coalesce(min({column}) FILTER (WHERE {word}), '')" if kind == "text" else "''"
            asked += [f"count(DISTINCT {column})", f"count(*) - count_if({usable})", below, total]
        n_records, *found = ask(f"SELECT {', '.join(asked)} FROM records")[0]
    if not n_records:
        where = Path(path).name
        raise DataError(
            "data_empty", "the data are empty", where=where, fix="check the file or the filter before it"
        )
    columns = [
        Column(name, kind, *found[4 * place : 4 * place + 4])
        for place, (name, kind) in enumerate(types.items())
    ]
    return int(n_records), tuple(columns)


def find_totals(path: str | Path, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Find codes that are the sum of all others of their column, with any name.

    In a column of texts the code with the largest sum is the total if, in every combination of the other
    texts, its number is the sum of the numbers of all other codes. One column of numbers suffices.
    """
    # Columns with more codes are not searched for totals.
    texts = [c for c in columns if c.kind == "text" and not c.n_missing and c.n_distinct <= 2_000]
    amounts = [c for c in columns if c.kind in {"whole", "number"} and not c.n_missing and not c.negative]
    found: dict[str, str] = {}
    with _asking(Path(path)) as ask:
        for column, amount in product(texts, amounts):
            if column.name in found or column.n_distinct < 3:
                continue
            code, value = quote_name(column.name), quote_name(amount.name)
            others = [quote_name(other.name) for other in texts if other is not column]
            top = ask(f"SELECT {code} FROM records GROUP BY 1 ORDER BY sum({value}) DESC, 1 LIMIT 1")[0][0]
            own = f"FILTER (WHERE {code} = {literal(str(top))})"
            group = f" GROUP BY {', '.join(others)}" if others else ""
            rows = ask(
                f"SELECT count(*) {own} = 1 AND abs(sum({value}) - 2 * coalesce(sum({value}) {own}, 0)) "
                f"<= 1e-9 * sum({value}) FROM records{group} HAVING sum({value}) > 0"
            )
            if rows and all(row[0] for row in rows):
                found[column.name] = str(top)
    return tuple(replace(c, total=found.get(c.name, c.total)) for c in columns)


def determined_pairs(path: str | Path, columns: Sequence[Column]) -> set[tuple[str, str]]:
    """Return pairs of columns of which the first determines the second: a town its county."""
    pairs = list(permutations(columns, 2))
    if not pairs:
        return set()
    asked = [
        f"count(DISTINCT ({quote_name(fine.name)}, {quote_name(coarse.name)}))" for fine, coarse in pairs
    ]
    with _asking(Path(path)) as ask:
        found = ask(f"SELECT {', '.join(asked)} FROM records")[0]
    return {
        (fine.name, coarse.name)
        for (fine, coarse), n in zip(pairs, found, strict=True)
        if n == fine.n_distinct + (fine.n_missing > 0)
    }


def n_combinations(path: str | Path, columns: Sequence[Column]) -> int:
    """Count the different combinations of entries in some columns."""
    names = ", ".join(quote_name(column.name) for column in columns)
    with _asking(Path(path)) as ask:
        return int(ask(f"SELECT count(*) FROM (SELECT DISTINCT {names} FROM records)")[0][0])


@contextmanager
def kept_open(path: str | Path) -> Iterator[None]:
    """Answer all queries about a file in this context from one database, so that it is read once."""
    with _asking(Path(path)) as ask:
        before = OPEN.set((Path(path), ask))
        try:
            yield
        finally:
            OPEN.reset(before)


@contextmanager
def _asking(path: Path) -> Iterator[Ask]:
    """Yield a function that queries the records of a file."""
    known = OPEN.get()
    if known is not None and known[0] == path:
        yield known[1]
        return
    with spill_folder() as spill:
        connection = connect(spill)

        def ask(query: str) -> list[Any]:
            with translate_errors(path.name):
                rows: list[Any] = connection.sql(query).fetchall()
            return rows

        try:
            attach_whole(connection, path, spill)
            yield ask
        finally:
            connection.close()


def _kind(type_name: str) -> Kind:
    name = type_name.lstrip("U")
    if name.startswith(NUMERIC):
        return "whole" if name in NUMERIC[:5] else "number"
    return "text" if name == "VARCHAR" or name.startswith("ENUM") else "other"


# Hierarchies by variable, or columns of the data that group its codes, fine to coarse.
Groupings = Mapping[str, Hierarchy | Sequence[Hierarchy] | Sequence[str]]


def read_column_tree(
    data: Any, name: str, groups: Sequence[str], total: str = TOTAL, file: FileFormat | None = None
) -> Hierarchy:
    """Make the hierarchy of a column from others that group its codes.

    Parameters
    ----------
    data, file
        As for :func:`hitoku.tabulate`.
    name
        The column with the finest codes.
    groups
        Columns that group it, fine to coarse: each code of one belongs to one code of the next.
    total
        Code of the total.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"town": ["a", "b", "c"], "county": ["A", "A", "B"]})
    >>> read_column_tree(firms, "town", ["county"]).codes
    ('Total', 'A', 'a', 'b', 'B', 'c')
    """
    atoms = RecordAtoms.of(data, [name, *groups], file)
    for fine, coarse in zip([name, *groups], groups, strict=False):
        if not atoms.determines(fine, coarse):
            raise DataError(
                "columns_not_nested",
                "column {coarse!r} does not group the codes of {fine!r}: {examples}",
                where="hierarchies",
                fix="correct these records, or leave the column out; columns are named fine to coarse",
                coarse=coarse,
                fine=fine,
                examples=_torn(atoms, fine, coarse),
            )
    levels = [
        [column.codes[n] for n in column.number]
        for column in map(atoms.columns.get, [*groups[::-1], name])
        if column
    ]
    rows = sorted(set(zip(*levels, strict=True)), key=lambda row: [code or "" for code in row])
    try:
        return Hierarchy.from_levels([row for row in rows if row[-1] is not None], total=total)
    except HierarchyError as error:
        where = f"columns {some([name, *groups])}, {error.where}".rstrip(", ")
        raise error.copy_as(where=where, fix="give groups codes of their own") from error


def _torn(atoms: RecordAtoms, fine: str, coarse: str) -> str:
    """List codes that belong to more than one group."""
    one, other = atoms.columns[fine], atoms.columns[coarse]
    seen: dict[Any, set[Any]] = {}
    for code, group in zip(one.number.tolist(), other.number.tolist(), strict=True):
        seen.setdefault(one.codes[code], set()).add(other.codes[group])
    return some((repr(code) for code in sorted(map(str, (c for c, g in seen.items() if len(g) > 1)))), 3) + (
        " have several groups"
    )


def grown(
    data: Any, given: Groupings, total: str | Mapping[str, str], file: FileFormat | None
) -> Hierarchies:
    """Return hierarchies by variable; those given as column names are built from the data."""
    trees: dict[str, Any] = {}
    for name, tree in given.items():
        if isinstance(tree, list | tuple) and tree and all(isinstance(column, str) for column in tree):
            top = total if isinstance(total, str) else total.get(name, TOTAL)
            trees[name] = read_column_tree(data, name, [str(column) for column in tree], top, file)
        else:
            trees[name] = tree
    return trees
