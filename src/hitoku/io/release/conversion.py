"""A release folder in a format that it was not written in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hitoku.errors import DataError, OutputError, ParameterError
from hitoku.files import new_file, refuse_existing
from hitoku.io.formats import known_format, write_transmission
from hitoku.io.release.read import read_cells, read_publication, read_release

TRANSMITTED = ("sdmx-csv", "parquet")


def convert(
    release: str | Path,
    to: str,
    out: str | Path | None = None,
    *,
    table: str = "table",
    confidential: bool = False,
) -> Path:
    """Write what a release shows in another format, with nothing confidential in it; return the file.

    Parameters
    ----------
    release
        A release folder as it was written; a public table that was changed since is refused.
    to
        Name of the format, see :data:`hitoku.io.formats.FORMATS`.
    out
        File to write, which must not exist; the name of the table and the format's suffix where left out.
    table
        Which of several linked tables; all their cells where left out.
    confidential
        Instead, for a partner who may see everything (``sdmx-csv`` and ``parquet``): all true values, with
        ``CONF_STATUS`` telling unsafe cells (C) from those withheld to protect them (D).
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
            "format {format} cannot tell what is confidential",
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
    secondary = decided == "secondary"
    write_transmission(
        file,
        shown.labels,
        truth.value,
        secondary | (decided == "primary"),
        secondary,
        parquet=to == "parquet",
    )
