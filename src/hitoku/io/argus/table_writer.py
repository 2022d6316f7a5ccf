"""Write tables for τ-ARGUS: cells (``.tab``), metadata (``.rda``), hierarchies (``.hrc``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hitoku.errors import OutputError, TableError
from hitoku.io.argus.columns import Part, digits
from hitoku.io.argus.metadata import Metadata, Variable, write_metadata
from hitoku.io.argus.table_file import EMPTY, PROTECTED, SAFE, UNSAFE, Letters
from hitoku.io.argus.text import quote, write_text
from hitoku.io.argus.tree import LEAD, write_tree
from hitoku.model import Dimension, Floats, Hierarchy, Need, Table

SEPARATOR = ";"
STATUSES = {SAFE, UNSAFE, PROTECTED, EMPTY}


class _Column(NamedTuple):
    variable: Variable
    entries: Sequence[str]


def write_table(
    path: str | Path, table: Table, need: Need | None = None, *, status: Letters | None = None
) -> list[Path]:
    """Write all cells with full precision.

    Contributors are written as numbers of respondents and largest contributions. Public bounds
    (``table.lower``, ``table.upper``) are not written, because the format has none.

    Parameters
    ----------
    path
        Path of the file; metadata have the suffix ``.rda``, hierarchies are ``<name>_<variable>.hrc``.
    table
        The table; its dimensions have one hierarchy each.
    need
        Protection levels, and unsafe cells, which get the letter U. Default: none.
    status
        Letters per cell instead: S, U, P or E. Default: from ``need``.

    Returns
    -------
    list
        Paths of the written files.
    """
    path = Path(path)
    if not table.dimensions:
        raise OutputError(
            "no_variables_for_argus_table",
            "a table without variables cannot be written as a τ-ARGUS table",
            where=path.name,
            fix="write a JJ file, which needs no codes",
        )
    if need is not None and len(need) != table.n_cells:
        raise TableError(
            "need_of_other_table",
            "need has {n_need} cells, table has {n_table}",
            fix="assess this table",
            n_need=len(need),
            n_table=table.n_cells,
        )
    trees = {dimension.name: only_tree(dimension) for dimension in table.dimensions}
    columns = [*_codes(table, path), *_numbers(table), *_judgement(table, need, status)]
    metadata = Metadata(
        "table", tuple(_unique([column.variable for column in columns])), SEPARATOR, folder=path.parent
    )
    lines = [SEPARATOR.join(record) for record in zip(*(column.entries for column in columns), strict=True)]
    written = [path, path.with_suffix(".rda")]
    for name, tree in trees.items():
        written.append(path.with_name(f"{path.stem}_{name}.hrc"))
        write_tree(written[-1], tree, LEAD)
    write_metadata(written[1], metadata)
    write_text(path, lines, "table")
    return written


def only_tree(dimension: Dimension) -> Hierarchy:
    """Return the only hierarchy of a variable; τ-ARGUS supports one per variable."""
    if len(dimension.hierarchies) > 1:
        raise OutputError(
            "several_groupings",
            "variable {variable!r} has {n} groupings, τ-ARGUS knows one",
            where="variable {variable!r}",
            fix="write one table for each grouping; a JJ file holds them all",
            variable=dimension.name,
            n=len(dimension.hierarchies),
        )
    return dimension.hierarchies[0]


def _codes(table: Table, path: Path) -> list[_Column]:
    columns = []
    for place, dimension in enumerate(table.dimensions):
        total = dimension.total.strip().casefold()
        for code in dimension.codes:
            if SEPARATOR in code or (code != dimension.total and code.strip().casefold() == total):
                raise OutputError(
                    "code_not_writable",
                    "code {code!r} of {variable!r} cannot be written",
                    where=path.name,
                    fix="a code holds no {separator!r} and differs from the total in more than case",
                    code=code,
                    variable=dimension.name,
                    separator=SEPARATOR,
                )
        names = [quote(code, "code") for code in dimension.codes]
        variable = Variable(
            dimension.name,
            recodable=True,
            total=dimension.total,
            hierarchy_file=f"{path.stem}_{dimension.name}.hrc",
            lead=LEAD,
        )
        columns.append(_Column(variable, [names[p] for p in table.labels.column(place)]))
    return columns


def _quantity(name: str, part: Part, values: Floats) -> _Column:
    entries = [digits(value) for value in values.tolist()]
    decimals = max(len(entry.partition(".")[2]) for entry in entries)
    return _Column(Variable(name, numeric=True, decimals=decimals, part=part), entries)


def _numbers(table: Table) -> list[_Column]:
    columns = [_quantity(table.measure, "value", table.value)]
    who = table.contributors
    frequency = who.count if table.frequency is None and who is not None else table.frequency
    if frequency is not None:
        columns.append(_Column(Variable("Freq", part="frequency"), [str(n) for n in frequency.tolist()]))
    if who is not None and not np.array_equal(who.total, table.value):
        columns.append(_quantity("Shadow", "shadow", who.total))
    if table.cost is not None:
        columns.append(_quantity("Cost", "cost", table.cost))
    if who is not None:
        for rank, values in enumerate(who.largest.T, 1):
            entries = [digits(value) for value in values.tolist()]
            columns.append(_Column(Variable(f"Top{rank}", part="largest"), entries))
    return columns


def _judgement(table: Table, need: Need | None, status: Letters | None) -> list[_Column]:
    """Return the columns of statuses and levels, if any."""
    letters = np.full(table.n_cells, SAFE) if status is None else np.asarray(status)
    if letters.shape != (table.n_cells,) or not set(letters.tolist()) <= STATUSES:
        raise TableError(
            "statuses_invalid",
            "statuses are one letter per cell",
            where="status",
            fix="use {statuses}",
            statuses=", ".join(sorted(STATUSES)),
        )
    columns = []
    if status is None:
        letters[table.fixed if table.fixed is not None else []] = PROTECTED
        letters[need.unsafe if need is not None else []] = UNSAFE
    if status is not None or need is not None or table.fixed is not None:
        columns.append(_Column(Variable("Status", part="status"), letters.tolist()))
    if need is not None:
        columns.append(_quantity("LowerPL", "lower", need.lower))
        columns.append(_quantity("UpperPL", "upper", need.upper))
    return columns


def _unique(variables: Sequence[Variable]) -> list[Variable]:
    """Rename generated columns that have the name of a variable."""
    taken: set[str] = set()
    named = []
    for variable in variables:
        name = variable.name
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        named.append(replace(variable, name=name))
    return named
