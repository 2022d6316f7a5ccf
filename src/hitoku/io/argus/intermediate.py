"""The intermediate file of τ-ARGUS (type 5): every cell with all that is known about it, and its metadata.

It can be read again with its ``.rda``, also where cells are withheld (letter M). Confidential.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hitoku.errors import OutputError
from hitoku.io.argus.judged import UNSAFE, ArgusStatus
from hitoku.io.argus.metadata import Metadata, Variable, write_metadata
from hitoku.io.argus.safe_table import SafeTable, codes_of
from hitoku.io.argus.table_writer import SEPARATOR, only_tree
from hitoku.io.argus.text import write_text
from hitoku.io.argus.tree import LEAD, write_tree
from hitoku.io.argus.variable import Part

LETTERS = {
    **dict.fromkeys(UNSAFE, "U"),
    ArgusStatus.PROTECTED: "P",
    ArgusStatus.SECONDARY: "M",
    ArgusStatus.SECONDARY_BY_HAND: "M",
    ArgusStatus.EMPTY: "E",
}


def write_intermediate(
    path: Path, table: SafeTable, options: frozenset[str] = frozenset({"QU"})
) -> list[Path]:
    """Write all cells, the metadata that describe the columns, and the tree of every variable.

    Parameters
    ----------
    path
        The file; the metadata are called the same but ``.rda``, trees ``_variable.hrc``.
    table
        What to write.
    options
        SE without empty cells, QU quotes, AR what an attack proves.

    Returns
    -------
    list
        The files that were written.
    """
    source, status = table.judged.table, table.status
    columns = [*_numbers(table), *_levels(table)]
    audit = _audit(table) if "AR" in options else []
    names = [*source.labels.names, *(variable.name for variable, _ in (*columns, *audit))]
    if len({name.casefold() for name in names}) < len(names):
        raise OutputError(
            "two columns of the file would have the same name",
            where=path.name,
            fix="rename the variable or the measure that is called like another column",
        )
    rows = list(zip(*(texts for _, texts in (*columns, *audit)), strict=True))
    lines = [
        SEPARATOR.join([*codes_of(table, cell, options, SEPARATOR), *rows[cell]])
        for cell in table.order.tolist()
        if status[cell] != ArgusStatus.EMPTY or "SE" not in options
    ]
    write_text(path, lines, "intermediate file")
    spanning, trees = [], []
    for dimension in source.dimensions:
        tree = path.with_name(tree_name(path.name, dimension.name))
        write_tree(tree, only_tree(dimension), LEAD)
        trees.append(tree)
        spanning.append(
            Variable(
                dimension.name, recodable=True, total=dimension.total, hierarchy_file=tree.name, lead=LEAD
            )
        )
    described = path.with_suffix(".rda")
    own = [variable for variable, _ in (*columns, *audit)]
    write_metadata(described, Metadata("table", (*spanning, *own), separator=SEPARATOR, folder=path.parent))
    return [path, described, *trees]


def tree_name(file: str, variable: str) -> str:
    """Name the file with the tree of a variable.

    Examples
    --------
    >>> tree_name("safe.txt", "region")
    'safe_region.hrc'
    """
    return f"{Path(file).stem}_{variable}.hrc"


Column = tuple[Variable, Sequence[str]]


def _numbers(table: SafeTable) -> list[Column]:
    """Return value, respondents, shadow variable, cost, largest contributions, as far as they are known."""
    source, decimals = table.judged.table, table.judged.decimals

    def quantity(name: str, part: Part, numbers: Sequence[str]) -> Column:
        return Variable(name, numeric=True, decimals=decimals, part=part), numbers

    columns = [quantity(source.measure, "value", [table.text(value) for value in table.value.tolist()])]
    if source.frequency is not None:
        columns.append((Variable("Freq", part="frequency"), [str(n) for n in source.frequency.tolist()]))
    who = source.contributors
    if who is not None and not np.array_equal(who.total, source.value):
        columns.append(quantity(f"{source.measure}_Shadow", "shadow", _texts(who.total)))
    if source.cost is not None:
        columns.append(quantity(f"{source.measure}_Cost", "cost", _texts(source.cost)))
    if who is not None and not who.negative:
        columns += [
            (Variable(f"Top{rank + 1}", part="largest"), _texts(who.largest[:, rank]))
            for rank in range(who.largest.shape[1])
        ]
    return columns


def _levels(table: SafeTable) -> list[Column]:
    need, decimals = table.judged.need, table.judged.decimals
    letters = [LETTERS.get(ArgusStatus(int(status)), "S") for status in table.status]
    return [
        (Variable("Status", part="status"), letters),
        (Variable("LowerPL", numeric=True, decimals=decimals, part="lower"), _texts(need.lower)),
        (Variable("UpperPL", numeric=True, decimals=decimals, part="upper"), _texts(need.upper)),
    ]


def _audit(table: SafeTable) -> list[Column]:
    """Return what an attack proves: the interval, its width, and all three in percent of the value.

    Where there is no end, and in percent of zero, nothing is written.
    """
    if table.bounds is None:
        raise OutputError("no attack was run on this table", where="option AR", fix="suppress it first")
    value = table.judged.table.value
    low, high = table.bounds.lower, table.bounds.upper
    size = np.where(value == 0, np.nan, np.abs(value))
    numbers = {
        "AuditLower": low,
        "AuditUpper": high,
        "AuditWidth": high - low,
        "AuditLowerPct": 100 * (value - low) / size,
        "AuditUpperPct": 100 * (high - value) / size,
        "AuditWidthPct": 100 * (high - low) / size,
    }
    return [
        (
            Variable(name, numeric=True, decimals=2, part="value"),
            [f"{n:.2f}" if np.isfinite(n) else "" for n in column],
        )
        for name, column in numbers.items()
    ]


def _texts(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    return [f"{number:.15g}" for number in numbers.tolist()]
