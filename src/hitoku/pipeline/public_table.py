"""Analysis of a published table from another source, without records and true values.

Its sums determine the intervals of suppressed cells, and the cells that can be recomputed. Whether a cell is
unsafe cannot be determined, because that depends on its contributors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.attacks import Interval, derivable_cells, null_dimension
from hitoku.errors import DataError, some
from hitoku.io import read_code_tree, read_public_cells
from hitoku.model import TOTAL, Bounds, Hierarchy, Integers, Release, Table
from hitoku.tabulation import FileFormat


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Result of the analysis of a published table: intervals and cells that follow from its sums."""

    release: Release  # The table as published.
    suppressed: Integers  # Cells with a mark instead of a value. Totals without a row are not among them.
    bounds: Bounds  # Feasibility intervals of all cells.
    recomputable: Integers  # Suppressed cells that follow exactly.
    null_dimension: int  # Null-space dimension of the suppressed cells.

    def rows(self) -> list[dict[str, Any]]:
        """Return the suppressed cells with their intervals, narrowest first."""
        cells = self.suppressed
        width = self.bounds.upper[cells] - self.bounds.lower[cells]
        return [
            {
                "cell": self.release.describe(int(cell)),
                "low": float(self.bounds.lower[cell]),
                "high": float(self.bounds.upper[cell]),
            }
            for cell in cells[np.argsort(width, kind="stable")]
        ]


def read_public_table(
    path: Path,
    by: Sequence[str],
    value: str,
    *,
    file: FileFormat | None = None,
    hierarchies: Mapping[str, Sequence[str]] | None = None,
    total: str = TOTAL,
) -> PublicTable:
    """Read a published table and infer the intervals of its suppressed cells.

    Parameters
    ----------
    path
        CSV file with one row per cell, or an Excel sheet, which may be a cross table.
    by, value
        Columns with the codes and the values. An entry that is not a number marks a suppressed cell.
    file
        Format of the file. Default: detected.
    hierarchies
        Code lists by variable.
    total
        Code of the totals. A total without a row is taken as not published; an inner cell without one as 0.
    """
    frame, numbers = read_public_cells(path, by, value, file=file, total=total)
    trees: dict[str, Hierarchy | Sequence[Hierarchy]] = {
        name: [read_code_tree(each, total) for each in files] for name, files in (hierarchies or {}).items()
    }
    # Zeros add up; the table is needed for its structure only.
    frame = frame.assign(**{value: 0})
    table = Table.from_frame(frame, list(by), value, hierarchies=trees, total=total)
    cell_of = {table.labels.codes_of(cell): cell for cell in range(table.n_cells)}
    published = np.where(table.inner, 0.0, np.nan)
    places = [cell_of[codes] for codes in zip(*(frame[name] for name in by), strict=True)]
    published[places] = numbers
    known = published[~np.isnan(published)]
    release = Release(
        published=published,
        relations=table.relations,
        labels=table.labels,
        dimensions=table.dimensions,
        lower=np.full(table.n_cells, -np.inf if np.any(known < 0) else 0.0),
        integer=bool(np.all(known == np.round(known))),
        measure=value,
    )
    _refuse_wrong_sums(release, path.name)
    suppressed = np.sort(np.array(places, dtype=np.int64)[np.isnan(numbers)])
    found = suppressed[derivable_cells(release)[suppressed]]
    return PublicTable(release, suppressed, Interval().bounds(release), found, null_dimension(release))


def _refuse_wrong_sums(release: Release, where: str) -> None:
    """Raise if published parts do not add up to their published total."""
    parts = release.relations
    whole = ~(abs(parts) @ release.withheld.astype(float) > 0)
    value = np.where(release.withheld, 0.0, release.published)
    off = np.abs(parts @ value) > 1e-9 * (1 + abs(parts) @ np.abs(value))
    wrong = np.flatnonzero(whole & off)
    if len(wrong):
        ends = zip(parts.indptr[wrong[:3]], parts.indptr[wrong[:3] + 1], strict=True)
        totals = [release.describe(int(parts.indices[start:end].max())) for start, end in ends]
        raise DataError(
            "public_totals_wrong",
            "{n} total(s) are not the sums of their published parts",
            where="{place}, cells {cells}",
            fix="check the variables, the code of totals and the hierarchies; rounded values do not add up",
            n=len(wrong),
            place=where,
            cells=some(totals, 3),
        )
