"""A release folder read back: truth and requirements from ``checker/``, what leaves from ``public/``."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from hitoku.errors import DataError
from hitoku.io.jj import read_jj
from hitoku.model.arrays import Floats
from hitoku.model.dimension import Dimension
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.labels import Labels
from hitoku.model.need import Need
from hitoku.model.relations import cross_relations
from hitoku.model.release import Release
from hitoku.model.table import Table


def read_release_folder(path: str | Path) -> tuple[Table, Need, Release]:
    """Read a release folder for a new audit.

    The release is what ``public/table.csv`` shows now: what was changed there by hand is audited as it is.
    """
    folder = Path(path)
    table_file, summary_file, public_file = (
        folder / "checker" / "table.jj.gz",
        folder / "checker" / "summary.json",
        folder / "public" / "table.csv",
    )
    for file in (table_file, summary_file, public_file):
        if not file.is_file():
            raise DataError(
                f"{folder.name!r} is not a whole release folder",
                where=f"{file.relative_to(folder)} is missing",
                fix="give the folder as hitoku wrote it, with public/ and checker/",
            )
    summary = _summary(summary_file)
    labels, published = _shown(public_file)
    table, need = read_jj(table_file, integer=bool(summary.get("integer", False)))
    if len(published) != table.n_cells:
        raise DataError(
            f"{public_file.name} has {len(published)} cells, the audited table {table.n_cells}",
            where=str(public_file),
            fix="take both files from the same release",
        )
    dimensions = _flat(labels, table)
    if dimensions:
        labels = Labels.cross(dimensions)
    table = replace(
        table, dimensions=dimensions, labels=labels, measure=str(summary.get("measure", table.measure))
    )
    release = Release(
        published=published,
        relations=table.relations,
        labels=labels,
        dimensions=dimensions,
        lower=table.lower,
        upper=table.upper,
        integer=table.integer,
        measure=table.measure,
    )
    return table, need, release


def _flat(labels: Labels, table: Table) -> tuple[Dimension, ...]:
    """Return the variables of a table that crosses flat ones, totals last; of any other table nothing."""
    sizes = [len(codes) for codes in labels.codes]
    if min(sizes) < 3 or np.prod(sizes, dtype=np.float64) != table.n_cells:
        return ()
    dimensions = tuple(
        Dimension.of(name, Hierarchy.flat(codes[:-1], total=codes[-1]))
        for name, codes in zip(labels.names, labels.codes, strict=True)
    )
    cross, expected = Labels.cross(dimensions), cross_relations(dimensions)
    same = all(np.array_equal(cross.column(v), labels.column(v)) for v in range(len(sizes)))
    if not same or expected.shape != table.relations.shape or (expected != table.relations).nnz:
        return ()
    return dimensions


def _summary(path: Path) -> dict[str, object]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            "cannot read the summary", where=str(path), fix="take it from the release again"
        ) from error


def _shown(path: Path) -> tuple[Labels, Floats]:
    """Read what an outsider sees: codes of every cell, and its value, NaN where withheld."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        names = head[: head.index("value")]
        columns = list(zip(*rows, strict=True))
        published = np.array([float(text) if text else np.nan for text in columns[len(names)]])
    except (OSError, ValueError, IndexError, csv.Error):
        # Not "from error": its message may hold a line of the file.
        raise DataError(
            "cannot read the published table",
            where=str(path),
            fix="it has a column per variable, then value (empty where withheld) and status",
        ) from None
    codes = [tuple(dict.fromkeys(column)) for column in columns[: len(names)]]
    positions = [
        [place[code] for code in column]
        for column, known in zip(columns, codes, strict=False)
        for place in [{code: number for number, code in enumerate(known)}]
    ]
    return Labels(tuple(names), tuple(codes), np.array(positions, dtype=np.int32).T), published
