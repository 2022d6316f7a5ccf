"""Cells as rows of a CSV file: codes first, then further columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import disarm
from hitoku.model.arrays import Floats, Integers
from hitoku.model.labels import Labels


def printed(value: Floats, *, integer: bool) -> list[str]:
    """Print numbers so that reading them back gives the same numbers; NaN is left empty.

    Examples
    --------
    >>> printed(np.array([3.0, np.nan, np.inf]), integer=True), printed(np.array([0.1]), integer=False)
    (['3', '', 'inf'], ['0.1'])
    """
    return [_print(float(v), integer=integer) for v in value]


def write_cells(
    path: Path,
    labels: Labels,
    columns: Mapping[str, Sequence[Any]],
    cells: Integers | None = None,
    *,
    harmless: bool = False,
) -> None:
    """Write the codes of every cell, or of some, and further columns.

    In a ``harmless`` file, codes that a spreadsheet would run as formulas have a quote before them.
    """
    chosen: Any = slice(None) if cells is None else cells
    told = disarm if harmless else str
    listed = [[told(code) for code in own] for own in labels.codes]
    codes = [np.array(c, dtype=object)[labels.column(v)[chosen]].tolist() for v, c in enumerate(listed)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*map(told, labels.names), *columns])
        writer.writerows(zip(*codes, *columns.values(), strict=True))


def _print(value: float, *, integer: bool) -> str:
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if integer and value == int(value) else repr(value)
