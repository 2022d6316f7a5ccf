"""A hierarchy from a CSV file: one row per code with its parent."""

from __future__ import annotations

import csv
from pathlib import Path

from hitoku.errors import DataError, HierarchyError
from hitoku.model.hierarchy import TOTAL, Hierarchy


def read_code_tree(path: str | Path, total: str = TOTAL) -> Hierarchy:
    """Read columns ``code`` and ``parent``; an empty parent means the total.

    Errors name the file and the line.
    """
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
            columns = list(rows[0]) if rows else []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"cannot read the hierarchy {path.name!r}: {type(error).__name__}",
            where=str(path),
            fix="give a UTF-8 file with the columns code and parent",
        ) from None
    if not {"code", "parent"} <= set(columns):
        raise DataError(
            f"the hierarchy {path.name!r} lacks a column",
            where=str(path),
            fix="its columns are code and parent, separated by a comma; an empty parent means the total",
        )
    # A row that names the total itself says nothing new.
    pairs = [(row["code"], row["parent"] or total) for row in rows if row["code"] != total]
    try:
        return Hierarchy.from_pairs(pairs, total=total)
    except HierarchyError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise HierarchyError(error.what, where=where, fix=error.fix) from error
