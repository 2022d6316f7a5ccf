"""Read release folders, and convert them to other formats.

True values and requirements come from ``checker/``, published values from ``public/``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import DataError, OutputError, ParameterError, did_you_mean
from hitoku.files import new_file, read_csv, refuse_existing, sha256
from hitoku.io.formats import known_format, write_transmission
from hitoku.io.jj import read_jj
from hitoku.io.publication import Publication
from hitoku.io.release.evidence_files import read_groups, read_hierarchies
from hitoku.model import Dimension, Floats, Hierarchy, Labels, Mask, Need, Release, Table, cross_relations


def read_release(path: str | Path) -> tuple[Table, Need, Release]:
    """Read a release folder for a new audit.

    The release is the current content of ``public/table.csv``, including manual changes.
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
                "not_a_release_folder",
                "{folder!r} is not a whole release folder",
                where="{relative_to} is missing",
                fix="give the folder as hitoku wrote it, with public/ and checker/",
                folder=folder.name,
                relative_to=file.relative_to(folder),
            )
    summary = _summary(summary_file)
    labels, published = _read_published(public_file)
    table, need = read_jj(table_file, integer=bool(summary.get("integer", False)))
    hidden = None
    if summary.get("hidden"):
        labels, published, hidden = _with_hidden(folder / "checker" / "cells.csv", labels, published)
    if len(published) != table.n_cells:
        raise DataError(
            "published_cells_differ",
            "{file} has {n_published} cells, the audited table {n_audited}",
            where=str(public_file),
            fix="take both files from the same release",
            file=public_file.name,
            n_published=len(published),
            n_audited=table.n_cells,
        )
    trees = read_hierarchies(folder / "checker" / "hierarchies.json")
    dimensions = _fitting(trees.get("table") or _flat(labels), labels, table)
    if dimensions:
        labels = Labels.cross(dimensions)
    table = replace(
        table,
        dimensions=dimensions,
        labels=labels,
        measure=str(summary.get("measure", table.measure)),
        hidden=hidden,
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
    learnt = read_groups(folder / "checker" / "groups.json", table.n_cells)
    return table, replace(need, attributions=learnt), release


def read_publication(path: str | Path, name: str = "table") -> Publication:
    """Read the published table with its texts, to write it in another format.

    Raises DataError if the public file was changed since its release, because it has not been audited.

    Parameters
    ----------
    path
        Release folder.
    name
        Name of a linked table; "table" is all of them.
    """
    folder = Path(path)
    truth, _, whole = read_release(folder)
    whole = whole if truth.shown.all() else whole.only(truth.shown)
    summary = _summary(folder / "checker" / "summary.json")
    hashes = summary.get("sha256", {})
    known = {Path(file).stem: file for file in hashes if file.endswith(".csv")}
    known = {one: file for one, file in known.items() if not one.endswith(".sdmx")}
    if name not in known:
        fix = did_you_mean(name, list(known))
        raise DataError(
            "table_not_in_release",
            "the release has no table {table!r}",
            where=str(folder / "public"),
            fix=fix,
            table=name,
        )
    file = folder / known[name]
    if not file.is_file() or sha256(file) != hashes[known[name]]:
        raise OutputError(
            "not_the_released_file",
            "{file} is not the file that was released",
            where=str(file),
            fix="run hitoku protect again; what was changed by hand has not been audited",
            file=known[name],
        )
    words = summary.get("words", {})
    return Publication(
        release=whole if name == "table" else _part(folder, name, file, whole, summary),
        title=words.get("title", ""),
        adjusted=bool(summary.get("adjusted", False)),
        warning=words.get("warning", ""),
        source=words.get("source", ""),
        footnotes=tuple(words.get("footnotes", ())),
    )


def read_cells(folder: Path, labels: Labels) -> dict[str, list[str]]:
    """Read the evidence about every cell: columns by name, in the order of a table.

    Codes come first, because a variable may have the name of another column.
    """
    path, n_codes = folder / "checker" / "cells.csv", len(labels.names)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = read_csv(file)
        known = {tuple(row[:n_codes]): row for row in rows}
        ordered = [known[labels.codes_of(cell)] for cell in range(len(labels))]
        columns = list(zip(*ordered, strict=True))
        return {name: list(columns[place]) for place, name in enumerate(head) if place >= n_codes}
    except (OSError, ValueError, LookupError, csv.Error):
        # Not "from error": its message may contain parts of the file.
        raise DataError(
            "release_cells_unreadable",
            "cannot read the cells of the release",
            where=str(path),
            fix="take the folder as hitoku wrote it",
        ) from None


def read_numbers(folder: Path, labels: Labels, name: str) -> Floats | None:
    """Read a numeric column of the evidence, zero if empty; None if there is no such column."""
    column = read_cells(folder, labels).get(name)
    try:
        return None if column is None else np.array([float(text or 0.0) for text in column])
    except ValueError:
        raise DataError(
            "release_cells_hold_text",
            "the cells of the release have a text in column {column}",
            where=str(folder / "checker" / "cells.csv"),
            fix="take the folder as hitoku wrote it",
            column=name,
        ) from None


def _part(folder: Path, name: str, file: Path, whole: Release, summary: dict[str, Any]) -> Release:
    """Read a linked table as published."""
    labels, published = _read_published(file)
    dimensions = read_hierarchies(folder / "checker" / "hierarchies.json").get(name, ())
    cross = Labels.cross(dimensions)
    if (cross.names, cross.codes, len(cross)) == (labels.names, labels.codes, len(labels)):
        labels = cross
    else:
        dimensions = ()
    return Release(
        published=published,
        relations=cross_relations(dimensions) if dimensions else sparse.csr_array((0, len(published))),
        labels=labels,
        dimensions=dimensions,
        lower=-np.inf,  # type: ignore[arg-type]  # a scalar is repeated
        integer=whole.integer,
        measure=summary.get("measures", {}).get(name, whole.measure),
    )


def _with_hidden(path: Path, labels: Labels, published: Floats) -> tuple[Labels, Floats, Mask]:
    """Add the cells that no public file shows, in the order of the evidence."""
    n_codes = len(labels.names)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = read_csv(file)
        decision = head.index("decision", n_codes)
        hidden = np.array([row[decision] == "hidden" for row in rows])
        shown = {labels.codes_of(cell): cell for cell in range(len(labels))}
        places = [shown.pop(tuple(row[:n_codes])) for row, gone in zip(rows, hidden, strict=True) if not gone]
        # Hidden cells are found by their place only, so that sorted rows could not be put in order again.
        same = not shown and places == sorted(places) and head[:n_codes] == list(labels.names)
    except (OSError, ValueError, LookupError, csv.Error):
        same = False
    if not same:
        raise DataError(
            "evidence_of_other_cells",
            "the published table and the evidence are not about the same cells, or not in the same order",
            where=str(path),
            fix="take both files from the same release, as hitoku wrote them",
        )
    every = np.full(len(rows), np.nan)
    every[~hidden] = published[places]
    return _labels(labels.names, list(zip(*rows, strict=True))), every, hidden


def _flat(labels: Labels) -> tuple[Dimension, ...]:
    """Return every variable as flat with its total last; empty if that is impossible."""
    if min(len(codes) for codes in labels.codes) < 3:
        return ()
    return tuple(
        Dimension.of(name, Hierarchy.flat(codes[:-1], total=codes[-1]))
        for name, codes in zip(labels.names, labels.codes, strict=True)
    )


def _fitting(dimensions: tuple[Dimension, ...], labels: Labels, table: Table) -> tuple[Dimension, ...]:
    """Return the variables if the table is their full cross; otherwise an empty tuple."""
    sizes = [len(dimension) for dimension in dimensions]
    if not sizes or np.prod(sizes, dtype=np.float64) != table.n_cells:
        return ()
    cross, expected = Labels.cross(dimensions), cross_relations(dimensions)
    same = cross.names == labels.names and cross.codes == labels.codes
    same = same and all(np.array_equal(cross.column(v), labels.column(v)) for v in range(len(sizes)))
    if not same or expected.shape != table.relations.shape or (expected != table.relations).nnz:
        return ()
    return dimensions


def _summary(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            "summary_unreadable",
            "cannot read the summary",
            where=str(path),
            fix="take it from the release again",
        ) from error


def _read_published(path: Path) -> tuple[Labels, Floats]:
    """Read the published table: codes of every cell, and its value, NaN where suppressed."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = read_csv(file)
        names = head[: head.index("value")]
        columns = list(zip(*rows, strict=True))
        published = np.array([float(text) if text else np.nan for text in columns[len(names)]])
    except (OSError, ValueError, IndexError, csv.Error):
        # Not "from error": its message may contain a line of the file.
        raise DataError(
            "published_table_unreadable",
            "cannot read the published table",
            where=str(path),
            fix="it has a column per variable, then value (empty where withheld) and status",
        ) from None
    return _labels(names, columns), published


def _labels(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Labels:
    """Return labels from columns of codes, which come first."""
    codes = [tuple(dict.fromkeys(column)) for column in columns[: len(names)]]
    positions = [
        [place[code] for code in column]
        for column, known in zip(columns, codes, strict=False)
        for place in [{code: number for number, code in enumerate(known)}]
    ]
    return Labels(tuple(names), tuple(codes), np.array(positions, dtype=np.int32).T)


TRANSMITTED = ("sdmx-csv", "parquet")


def convert(
    release: str | Path,
    to: str,
    out: str | Path | None = None,
    *,
    table: str = "table",
    confidential: bool = False,
) -> Path:
    """Write the published table of a release in another format; return the path.

    Parameters
    ----------
    release
        Release folder; its public table must be unchanged.
    to
        Name of the format, see :data:`hitoku.io.formats.FORMATS`.
    out
        File to write, which must not exist. Default: name of the table with the format's suffix.
    table
        Name of a linked table. Default: all their cells.
    confidential
        Whether to write all true values for an authorised partner (``sdmx-csv`` and ``parquet``), with
        ``CONF_STATUS`` for primary (C) and secondary (D) suppressions. Default: False.
    """
    chosen = known_format(to)
    file = Path(out) if out is not None else Path(f"{table}{'-confidential' * confidential}{chosen.suffix}")
    refuse_existing(file)
    with new_file(file) as draft:
        if confidential:
            _transmit(Path(release), to, draft, table)
        else:
            chosen.write(draft, read_publication(release, table))
    return file


def _transmit(release: Path, to: str, file: Path, table: str) -> None:
    if to not in TRANSMITTED:
        raise ParameterError(
            "format_cannot_mark_confidential",
            "format {format} cannot mark confidential cells",
            where="confidential",
            fix="use {transmitted}",
            format=to,
            transmitted=" or ".join(TRANSMITTED),
        )
    if table != "table":
        raise ParameterError(
            "confidential_file_holds_all_tables",
            "a confidential file holds all linked tables together",
            where="table",
            fix="leave the table out",
        )
    if "public" in file.resolve().parts:
        raise OutputError(
            "true_values_in_public_folder",
            "a file with true values does not go into a folder called public",
            where=str(file),
            fix="write it elsewhere",
        )
    truth, _, shown = read_release(release)
    decided = np.array(read_cells(release, shown.labels).get("decision", ()))
    if not decided.size:
        raise DataError(
            "secondary_cells_unknown",
            "the release does not say which cells are secondary",
            where=str(release / "checker" / "cells.csv"),
            fix="give the folder as hitoku wrote it",
        )
    secondary = (decided == "secondary")[truth.shown]
    write_transmission(
        file,
        shown.labels if truth.shown.all() else shown.labels.only(truth.shown),
        truth.value[truth.shown],
        secondary | (decided == "primary")[truth.shown],
        secondary,
        parquet=to == "parquet",
    )
