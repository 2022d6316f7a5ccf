"""A hierarchy from columns of the records: each town stands beside its county."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hitoku.errors import DataError, HierarchyError, some
from hitoku.model import TOTAL, Hierarchies, Hierarchy
from hitoku.tabulation.placement import RecordAtoms
from hitoku.tabulation.text_files import FileFormat

# Code trees by variable, or columns of the data that group its codes, fine to coarse.
Groupings = Mapping[str, Hierarchy | Sequence[Hierarchy] | Sequence[str]]


def read_column_tree(
    data: Any, name: str, groups: Sequence[str], total: str = TOTAL, file: FileFormat | None = None
) -> Hierarchy:
    """Make the hierarchy of a column from others that group its codes.

    Parameters
    ----------
    data, file
        What :func:`hitoku.tabulate` takes.
    name
        The column with the finest codes.
    groups
        Columns that group it, fine to coarse: each code of one comes with one code of the next.
    total
        The code of the total.

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
    """Name codes that come with more than one group."""
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
    """Return hierarchies by variable, those that are named by columns made from the data."""
    trees: dict[str, Any] = {}
    for name, tree in given.items():
        if isinstance(tree, list | tuple) and tree and all(isinstance(column, str) for column in tree):
            top = total if isinstance(total, str) else total.get(name, TOTAL)
            trees[name] = read_column_tree(data, name, [str(column) for column in tree], top, file)
        else:
            trees[name] = tree
    return trees
