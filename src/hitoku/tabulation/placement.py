"""Atoms: records that no table of a publication distinguishes, and their cell in each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.errors import DataError
from hitoku.model import Dimension, Integers, Mask, Placement, Shares, Table
from hitoku.tabulation.cube import FLOATS, MISSING, OTHER, texts
from hitoku.tabulation.database import translate_errors
from hitoku.tabulation.engines import count_combinations
from hitoku.tabulation.source import Where, open_source
from hitoku.tabulation.text_files import FileFormat

NOWHERE = -1


@dataclass(frozen=True, eq=False)
class RecordAtoms:
    """Distinct combinations of codes in some columns of the records.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.tabulation import tabulate
    >>> firms = pd.DataFrame({"town": ["a", "b", "c", "c"], "county": ["A", "A", "B", "B"]})
    >>> atoms = RecordAtoms.of(firms, ["town", "county"])
    >>> [atoms.place(tabulate(firms, by=[name])).leaves.ravel().tolist() for name in firms.columns]
    [[0, 1, 2], [0, 0, 1]]
    >>> atoms.determines("town", "county"), atoms.determines("county", "town")
    (True, False)
    """

    columns: Mapping[str, Coded]
    """By name, the codes of a column and the code of every atom."""
    records: Integers
    """Records of each atom."""

    @classmethod
    def of(cls, data: Any, names: Sequence[str], file: FileFormat | None = None) -> RecordAtoms:
        """Find the atoms of these columns; ``data`` and ``file`` are what :func:`hitoku.tabulate` takes."""
        aliases = {f"c{number}": name for number, name in enumerate(dict.fromkeys(names))}
        count, columns = "count(*)", dict(aliases)
        times = "".join(aliases.values()) + " of them"  # a name that no column has
        counted = count_combinations(data, list(aliases.values()), times)
        if counted is not None:
            data, count, columns = counted, "sum(n)::BIGINT", aliases | {"n": times}
        with open_source(data, columns, file=file) as source:
            read = ", ".join(
                f"CAST({alias + ' + 0' if source.types[alias] in FLOATS else alias} AS VARCHAR) AS {alias}"
                for alias in aliases
            )
            with translate_errors(source.where):
                query = f"SELECT {read}, {count} AS n FROM records GROUP BY ALL ORDER BY ALL"
                rows = source.connection.sql(query).to_arrow_table()
            coded = {
                name: Coded.of(rows.column(alias), source.types[alias]) for alias, name in aliases.items()
            }
        return cls(coded, rows.column("n").to_numpy())

    def place(self, table: Table, where: Where | None = None, outside: Sequence[Where] = ()) -> Placement:
        """Return the cell of every atom in a table made from these records, with filters."""
        return Placement(
            leaves=np.stack([self.columns[d.name].leaves(d) for d in table.dimensions], axis=1),
            records=self.records,
            filters={name: self.columns[name].kept(codes) for name, codes in (where or {}).items()}
            | {f"outside {number}": ~self.kept(each) for number, each in enumerate(outside)},
        )

    def kept(self, where: Where | None, outside: Sequence[Where] = ()) -> Mask:
        """Return which atoms filters keep."""
        masks = [self.columns[name].kept(codes) for name, codes in (where or {}).items()]
        masks += [~self.kept(each) for each in outside]
        return np.asarray(np.logical_and.reduce([np.ones(len(self.records), dtype=bool), *masks]))

    def only(self, kept: Mask) -> RecordAtoms:
        """Return some of the atoms, without codes that only the others have."""
        return RecordAtoms(
            {name: column.only(kept) for name, column in self.columns.items()}, self.records[kept]
        )

    def determines(self, fine: str, coarse: str) -> bool:
        """Return whether every code of one column belongs to one code of another."""
        one, other = self.columns[fine].number, self.columns[coarse].number
        with_it = np.zeros(len(self.columns[fine].raw), dtype=np.int64)
        with_it[one] = other
        return bool(np.all(with_it[one] == other))


@dataclass(frozen=True, eq=False)
class Coded:
    """A column over atoms."""

    raw: list[str | None]
    codes: list[str | None]
    """Distinct codes as the data and as tables write them; None where one is missing."""
    number: Integers
    """For every atom the position of its code."""

    @classmethod
    def of(cls, column: Any, kind: str) -> Coded:
        """Read an Arrow column of texts whose DuckDB type was ``kind``."""
        listed = column.combine_chunks().dictionary_encode(null_encoding="encode")
        raw = listed.dictionary.to_pylist()
        written = texts(dict.fromkeys(raw, 0), kind)
        return cls(raw, [written[each] for each in raw], listed.indices.to_numpy().astype(np.int64))

    def only(self, kept: Mask) -> Coded:
        """Return the column of some atoms."""
        left, number = np.unique(self.number[kept], return_inverse=True)
        raw, codes = ([listed[place] for place in left] for listed in (self.raw, self.codes))
        return Coded(raw, codes, number.astype(np.int64))

    def leaves(self, dimension: Dimension) -> Integers:
        """Return the leaf of every atom; :data:`NOWHERE` for a code that the table lacks."""
        place = {code: number for number, code in enumerate(dimension.leaves)}
        missing, other = place.get(MISSING, NOWHERE), place.get(OTHER, NOWHERE)
        found = [missing if code is None else place.get(code, other) for code in self.codes]
        return np.array(found, dtype=np.int64)[self.number]

    def kept(self, codes: Sequence[str]) -> Mask:
        """Return which atoms a filter keeps."""
        wanted = set(map(str, codes))
        return np.array([each in wanted for each in self.raw], dtype=np.bool_)[self.number]


def shares_in(
    data: Any,
    dimensions: Sequence[Dimension],
    *,
    value: str | None = None,
    unit: str | None = None,
    holding: str | None = None,
    where: Where | None = None,
    decimals: int | None = None,
    file: FileFormat | None = None,
) -> Shares:
    """Read records and assign each to its leaf cell.

    Parameters
    ----------
    data
        The records, as for :func:`hitoku.tabulate`.
    dimensions
        Variables of the table, named like the columns with their codes.
    value, unit, holding, where, decimals, file
        As for :func:`hitoku.tabulate`. Contributors are holdings if there are any, else units, else
        records, which are named by their number in the data, from 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.tabulation import tabulate
    >>> firms = pd.DataFrame({"region": ["N", "N", "S"], "firm": ["a", "a", "b"], "sales": [3, 4, 5]})
    >>> table = tabulate(firms, by=["region"], value="sales", unit="firm")
    >>> shares = shares_in(firms, table.dimensions, value="sales", unit="firm")
    >>> shares, shares.amount.tolist()
    (Shares(2 contributors, 2 shares), [7.0, 5.0])
    """
    given = {
        name: f"c{number}" for number, name in enumerate((*(d.name for d in dimensions), *(where or {})))
    }
    columns = {alias: name for name, alias in given.items()}
    columns |= {role: name for role, name in (("x", value), ("u", unit), ("h", holding)) if name is not None}
    # One thread: then records come in the order of the file, and their numbers can be found there.
    with open_source(data, columns, file=file, again=True, threads=1) as source:
        texts = [
            f"CAST({alias + ' + 0' if source.types[alias] in FLOATS else alias} AS VARCHAR) AS {alias}"
            for alias in columns
            if alias != "x"
        ]
        amount = "CAST(x AS DOUBLE)" if "x" in columns else "1.0::DOUBLE"
        query = f"SELECT {', '.join(texts)}, {amount} AS amount FROM records"
        with translate_errors(source.where):
            rows = source.connection.sql(query).to_arrow_table()
        coded = {
            alias: Coded.of(rows.column(alias), source.types[alias]) for alias in columns if alias != "x"
        }
        place = source.where
    kept = np.ones(rows.num_rows, dtype=np.bool_)
    for name, codes in (where or {}).items():
        kept &= coded[given[name]].kept(codes)
    leaves = [coded[given[d.name]].leaves(d) for d in dimensions]
    if any(np.any(leaf[kept] == NOWHERE) for leaf in leaves):
        raise DataError(
            "codes_not_in_table",
            "records have codes that the table lacks",
            where=place,
            fix="give the records from which the table was made",
        )
    amounts = rows.column("amount").to_numpy()[kept]
    if decimals is not None:
        amounts = np.round(amounts, decimals)
    leaf = np.ravel_multi_index([each[kept] for each in leaves], [len(d.leaves) for d in dimensions])
    names, who = _contributors([coded[role] for role in ("h", "u") if role in coded], rows.num_rows)
    who = who[kept]
    n_leaves = int(np.prod([len(d.leaves) for d in dimensions], dtype=np.int64))
    keys, pair = np.unique(who * n_leaves + leaf, return_inverse=True)
    seen, number = np.unique(keys // n_leaves, return_inverse=True)
    called = [names[each] for each in seen.tolist()]
    summed = np.asarray(np.bincount(pair, weights=amounts), dtype=np.float64)
    return Shares(called, number, keys % n_leaves, summed)


def _contributors(levels: Sequence[Coded], n_records: int) -> tuple[list[str], Integers]:
    """Return names of contributors and the contributor of each record, by the first level with a name."""
    who = np.full(n_records, -1, dtype=np.int64)
    names: list[str] = []
    for level in levels:
        named = np.array([bool(code and code.strip()) for code in level.codes], dtype=np.bool_)[level.number]
        mine = (who < 0) & named
        who[mine] = len(names) + level.number[mine]
        names += [code or "" for code in level.codes]
    alone = np.flatnonzero(who < 0)
    who[alone] = len(names) + np.arange(len(alone))
    word = "record " if levels else ""
    return names + [f"{word}{number + 1}" for number in alone.tolist()], who
