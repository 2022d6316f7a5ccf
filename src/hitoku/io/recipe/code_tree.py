"""A hierarchy from a CSV file: one row per code with its parent."""

from __future__ import annotations

from pathlib import Path

from hitoku.errors import DataError, HierarchyError
from hitoku.messages import Text
from hitoku.model import TOTAL, Hierarchy
from hitoku.tabulation import look_at


def read_code_tree(path: str | Path, total: str = TOTAL) -> Hierarchy:
    """Read columns ``code`` and ``parent``; an empty parent means the total.

    Errors name the file and the line.
    """
    path = Path(path)
    text = look_at(path)
    columns = text.header
    rows = [dict(zip(columns, row, strict=True)) for row in text.rows()]
    if not {"code", "parent"} <= set(columns):
        raise DataError(
            "hierarchy_file_lacks_column",
            "the hierarchy {file!r} lacks a column",
            where=str(path),
            fix="its first line names the columns code and parent; an empty parent means the total",
            file=path.name,
        )
    # A row that names the total itself says nothing new.
    pairs = [(row["code"], row["parent"] or total) for row in rows if row["code"] != total]
    try:
        return Hierarchy.from_pairs(pairs, total=total)
    except HierarchyError as error:
        where = Text("{file}, {where}", file=path.name, where=error.where) if error.where else path.name
        raise error.copy_as(where=where) from error
