"""One line for each of several linked tables: what it withholds, and which others it shares cells with."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hitoku.model.arrays import Integers
from hitoku.model.release import Release


def write_overview(path: Path, tables: Mapping[str, Release], places: Mapping[str, Integers]) -> None:
    """Write the lines as a CSV file.

    Parameters
    ----------
    path
        The file.
    tables
        The tables as their readers see them.
    places
        The same keys; for each of their cells its position in the whole.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", "measure", "variables", "cells", "withheld", "shares_cells_with"])
        for name, own in places.items():
            release = tables[name]
            common = {
                other: int(np.isin(own, cells).sum()) for other, cells in places.items() if other != name
            }
            writer.writerow(
                [
                    name,
                    release.measure,
                    " x ".join(release.labels.names),
                    release.n_cells,
                    int(release.withheld.sum()),
                    "; ".join(f"{other} {n}" for other, n in common.items() if n),
                ]
            )
