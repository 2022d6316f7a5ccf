"""A table that somebody suppressed by hand: one row per cell, with its true value and a mark.

The first row names the columns. A cell is withheld where its mark says so; the words are those people use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, some
from hitoku.model.arrays import Mask
from hitoku.model.frames import opened, texts
from hitoku.model.labels import Labels
from hitoku.model.table import Table

WITHHELD = {"withheld", "primary", "secondary", "true", "yes", "1", "x", "c", "u", "m"}
PUBLISHED = {"", "published", "false", "no", "0", "s", "z", "v", "nan", "."}


def read_marked_cells(
    path: str | Path, by: Sequence[str], value: str, mark: str | None, **columns: Any
) -> tuple[Table, Mask]:
    """Read the table and the cells that are marked as withheld.

    Parameters
    ----------
    path
        A CSV file, one row per cell, with or without totals.
    by, value
        Columns with the codes and the true values.
    mark
        Column that tells what is withheld: "withheld", "x", "c", "u", "m", "1", ...; empty, "published",
        "s", "0", ... where it is not. None: nothing is.
    **columns
        What :meth:`Table.from_frame` takes: ``frequency``, ``hierarchies``, ``largest``, ``cost``, ...
    """
    frame = read_cell_file(path, [*by, *filter(None, [mark])], numbers=[value])
    table = Table.from_frame(frame, list(by), value, **columns)
    return table, marked_cells(frame, table.labels, mark, Path(path).name)


def read_cell_file(path: str | Path, codes: Sequence[str], numbers: Sequence[str] = ()) -> Any:
    """Read a CSV file with one row per cell; codes stay as they are written."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    try:
        return pd.read_csv(
            path,
            dtype=dict.fromkeys(codes, str),
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
        )
    except (OSError, ValueError, pd.errors.ParserError) as error:
        # Not "from error": its message may hold a line of the file.
        raise DataError(
            f"cannot read {Path(path).name!r} as CSV: {type(error).__name__}",
            where=str(path),
            fix="give a UTF-8 file with a header, commas between columns",
        ) from None


def marked_cells(frame: Any, labels: Labels, mark: str | None, where: str) -> Mask:
    """Return the cells that a frame marks as withheld; it has a column for every variable."""
    withheld = np.zeros(len(labels), dtype=bool)
    if mark is None:
        return withheld
    wrapped = opened(frame)
    words = np.char.lower(np.char.strip(texts(wrapped, mark)))
    strange = sorted(set(words.tolist()) - WITHHELD - PUBLISHED)
    if strange:
        raise DataError(
            f"column {mark!r} has {len(strange)} mark(s) that are not understood",
            where=f"{where}, marks {some(repr(word) for word in strange)}",
            fix="write 'withheld' or leave the mark empty",
        )
    places = [texts(wrapped, name) for name in labels.names]
    cell_of = {labels.codes_of(cell): cell for cell in range(len(labels))}
    for row in np.flatnonzero(np.isin(words, list(WITHHELD))):
        codes = tuple(str(column[row]) for column in places)
        if codes not in cell_of:
            named = ", ".join(f"{name}={code}" for name, code in zip(labels.names, codes, strict=True))
            raise DataError(
                "a cell is marked that the table does not have",
                where=f"{where}, {named}",
                fix="use the table's own codes; totals are written as the table writes them",
            )
        withheld[cell_of[codes]] = True
    return withheld
