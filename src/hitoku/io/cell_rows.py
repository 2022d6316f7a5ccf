"""Cells as rows of a CSV file: codes first, then further columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.files import write_csv
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
    disarmed: bool = True,
) -> None:
    """Write the codes of every cell, or of some, and further columns.

    ``disarmed`` is that of :func:`hitoku.files.write_csv`.
    """
    chosen: Any = slice(None) if cells is None else cells
    codes = [np.array(c, dtype=object)[labels.column(v)[chosen]].tolist() for v, c in enumerate(labels.codes)]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = zip(*codes, *columns.values(), strict=True)
        write_csv(file, chain([[*labels.names, *columns]], rows), disarmed=disarmed)


def _print(value: float, *, integer: bool) -> str:
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if integer and value == int(value) else repr(value)
