"""A table that somebody suppressed by hand: one row per cell, with its true value and a mark.

The first row names the columns. A cell is withheld where its mark says so; the words are those people use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, some
from hitoku.model import Labels, Mask, Table, opened, texts
from hitoku.tabulation import READING, FileFormat, look_at, shape_of, style_of, whole

WITHHELD = {"withheld", "primary", "secondary", "true", "yes", "1", "x", "c", "u", "m"}
PUBLISHED = {"", "published", "false", "no", "0", "s", "z", "v", "nan", "."}


def read_marked_cells(
    path: str | Path,
    by: Sequence[str],
    value: str,
    mark: str | None,
    *,
    file: FileFormat | None = None,
    **columns: Any,
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
    file
        How the file is written; what is left out is found.
    **columns
        What :meth:`Table.from_frame` takes: ``frequency``, ``hierarchies``, ``largest``, ``cost``, ...
    """
    named = [columns.get(name) for name in ("frequency", "cost", "fixed")]
    numbers = [value, *filter(None, named), *columns.get("largest", ())]
    frame = read_cell_file(path, [*by, *filter(None, [mark])], numbers=numbers, file=file)
    table = Table.from_frame(frame, list(by), value, **columns)
    return table, marked_cells(frame, table.labels, mark, Path(path).name)


def read_cell_file(
    path: str | Path, codes: Sequence[str], numbers: Sequence[str] = (), file: FileFormat | None = None
) -> Any:
    """Read a CSV file with one row per cell; codes stay as they are written."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    path = Path(path)
    text = look_at(path, file)
    columns = dict(zip(text.header, map(list, zip(*text.rows(), strict=True)), strict=False))
    styles: dict[str, None] = {}
    frame = pd.DataFrame(
        {name: pd.Series(columns.get(name, []), dtype=object) for name in text.header if name}
    )
    for name in dict.fromkeys(numbers):
        if name not in frame.columns or name in codes:
            continue
        entries = columns.get(name, [])
        shapes = list(dict.fromkeys(map(shape_of, entries)))
        style = style_of(shapes, name, path.name, file) if any(shapes) else None
        if style is not None:
            styles[str(style)] = None
            plain = [style.plain(entry) or "nan" for entry in entries]
            exact = whole(shapes, style) and "nan" not in plain
            frame[name] = pd.Series(plain, dtype=object).astype("int64" if exact else "float64")
        elif {entry.lower() for entry in entries} <= {"true", "false"}:
            frame[name] = [entry.lower() == "true" for entry in entries]
    READING.info("%s: read as %s", path.name, ", ".join([str(text), *styles]))
    return frame


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
            "marks_not_understood",
            "column {column!r} has {n} mark(s) that are not understood",
            column=mark,
            where="{place}, marks {strange}",
            fix="write 'withheld' or leave the mark empty",
            n=len(strange),
            place=where,
            strange=some(repr(word) for word in strange),
        )
    places = [texts(wrapped, name) for name in labels.names]
    cell_of = {labels.codes_of(cell): cell for cell in range(len(labels))}
    for row in np.flatnonzero(np.isin(words, list(WITHHELD))):
        codes = tuple(str(column[row]) for column in places)
        if codes not in cell_of:
            named = ", ".join(f"{name}={code}" for name, code in zip(labels.names, codes, strict=True))
            raise DataError(
                "marked_cell_not_in_table",
                "a cell is marked that the table does not have",
                where="{place}, {named}",
                fix="use the table's own codes; totals are written as the table writes them",
                place=where,
                named=named,
            )
        withheld[cell_of[codes]] = True
    return withheld
