"""What releases made apart are compared by, kept beside the evidence of a release; confidential.

Fingerprints of the records behind cells, and columns of the records that group the codes of variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hitoku.errors import DataError

FILE, NESTED = "fingerprints.json", "nested.json"
Nested = Mapping[str, Mapping[str, Mapping[str, str]]]


def write_fingerprints(checker: Path, cells: Sequence[str]) -> None:
    """Write the fingerprint of every cell, in the order of the table; empty where there is none."""
    (checker / FILE).write_text(json.dumps(list(cells), indent=0) + "\n", encoding="utf-8")


def read_fingerprints(folder: Path, n_cells: int) -> list[str]:
    """Read them back; a folder without the file has none."""
    path = folder / "checker" / FILE
    if not path.is_file():
        return [""] * n_cells
    try:
        cells = json.loads(path.read_text("utf-8"))
        fits = isinstance(cells, list) and len(cells) == n_cells and all(isinstance(c, str) for c in cells)
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise DataError(
            "the fingerprints are not those of this table",
            where=str(path),
            fix="take the folder as hitoku wrote it, or remove the file: then names, codes and totals decide",
        )
    return list(cells)


def write_nested(checker: Path, nested: Nested) -> None:
    """Write, by variable, the columns that group its codes, with the entry of each code."""
    told = json.dumps(nested, indent=0, ensure_ascii=False, sort_keys=True)
    (checker / NESTED).write_text(told + "\n", encoding="utf-8")


def read_nested(folder: Path) -> Nested:
    """Read them back; a folder without the file has none."""
    path = folder / "checker" / NESTED
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text("utf-8"))
        return {
            str(name): {
                str(column): {str(code): str(entry) for code, entry in entries.items()}
                for column, entries in columns.items()
            }
            for name, columns in told.items()
        }
    except (OSError, ValueError, AttributeError):
        raise DataError(
            "the file does not say which columns group the codes of a variable",
            where=str(path),
            fix="take the folder as hitoku wrote it, or remove the file: then such columns are not known",
        ) from None
