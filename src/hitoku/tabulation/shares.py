"""From microdata to shares: who has how much in which leaf cell of a table that exists already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hitoku.errors import DataError
from hitoku.model.arrays import Integers
from hitoku.model.contributors import Shares
from hitoku.model.dimension import Dimension
from hitoku.tabulation.cube import FLOATS
from hitoku.tabulation.database import translate_errors
from hitoku.tabulation.file_format import FileFormat
from hitoku.tabulation.placement import NOWHERE, Coded
from hitoku.tabulation.source import Where, open_source


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
    """Read records and put each into its leaf cell.

    Parameters
    ----------
    data
        The records, as :func:`hitoku.tabulate` takes them.
    dimensions
        Variables of the table, named like the columns with their codes.
    value, unit, holding, where, decimals, file
        As for :func:`hitoku.tabulate`. Contributors are holdings where there are any, else units, else
        records, which are called by their number in the data, from 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.tabulation.tabulate import tabulate
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
    """Name contributors and say whose each record is: the first level that names somebody decides."""
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
