"""Fingerprints of the records behind cells, kept beside the evidence of a release; confidential."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hitoku.errors import DataError

FILE = "fingerprints.json"


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
