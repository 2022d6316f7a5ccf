"""Cells as CSV: one row per cell, codes first."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.evidence.grid import texts
from hitoku.model.arrays import Floats
from hitoku.model.labels import Labels
from hitoku.model.release import Release


def printed(value: Floats, *, integer: bool) -> list[str]:
    """Print numbers so that reading them back gives the same numbers; NaN is left empty.

    Examples
    --------
    >>> printed(np.array([3.0, np.nan, np.inf]), integer=True), printed(np.array([0.1]), integer=False)
    (['3', '', 'inf'], ['0.1'])
    """
    return [_print(float(v), integer=integer) for v in value]


def write_cells(path: Path, labels: Labels, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write the codes of every cell and further columns."""
    codes = [np.array(c, dtype=object)[labels.column(v)].tolist() for v, c in enumerate(labels.codes)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*labels.names, *columns])
        writer.writerows(zip(*codes, *columns.values(), strict=True))


def write_release(path: Path, release: Release, *, adjusted: bool = False) -> None:
    """Write what an outsider may see: codes, value (empty where withheld), status.

    Of adjusted values the status says so, of every one alike: which ones were changed is confidential.

    Values are printed as the certificate holds them. The file does not tell unsafe cells from those
    withheld with them: that is confidential.
    """
    status = np.where(release.withheld, "withheld", "adjusted" if adjusted else "published").tolist()
    write_cells(path, release.labels, {"value": texts(release.published), "status": status})


def _print(value: float, *, integer: bool) -> str:
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if integer and value == int(value) else repr(value)
