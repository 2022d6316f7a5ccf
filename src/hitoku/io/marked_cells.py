"""Read hand-suppressed tables: one row per cell with true value and mark, or a cross table.

The first row names the columns. Marks are the words in common use for suppressed and published cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.errors import DataError, join_errors, some
from hitoku.model import TOTAL, Floats, Labels, Mask, Table, open_frame, texts
from hitoku.tabulation import (
    READING,
    FileFormat,
    TextFile,
    is_number,
    look_at_cells,
    read_beside,
    shape_of,
    style_of,
    text_in_numbers,
    whole,
)

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
    """Read a table and the cells marked as suppressed.

    Parameters
    ----------
    path
        CSV file with one row per cell, with or without totals.
    by, value
        Columns of codes, and column of true values.
    mark
        Column of marks: "withheld", "x", "c", "u", "m", "1", ... for suppressed cells; empty, "published",
        "s", "0", ... for others. None: no cell is suppressed.
    file
        Format of the file. Default: detected.
    **columns
        Further arguments of :meth:`Table.from_frame`: ``frequency``, ``hierarchies``, ``largest``, ``cost``,
        ...
    """
    named = [columns.get(name) for name in ("frequency", "cost", "fixed")]
    numbers = [value, *filter(None, named), *columns.get("largest", ())]
    total = columns.get("total", TOTAL)
    frame = read_cell_file(path, by, [value, *numbers], mark, file, total=total)
    table = Table.from_frame(frame, list(by), value, **columns)
    return table, marked_cells(frame, table.labels, mark, Path(path).name)


def read_cell_file(
    path: str | Path,
    by: Sequence[str],
    numbers: Sequence[str] = (),
    mark: str | None = None,
    file: FileFormat | None = None,
    *,
    total: str = TOTAL,
) -> Any:
    """Read a file with one row per cell, or a cross table on a sheet; codes are not converted.

    Columns of a cross table can be on other sheets of the workbook, laid out alike: "#Counts". Their entries
    are marks or numbers. A number among marks says that the cell is published.
    """
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    path = Path(path)
    numbers = [name for name in dict.fromkeys(numbers) if name not in by]
    text, layout = look_at_cells(path, by, numbers[0] if numbers else "", total, file)
    beside = [name for name in (*numbers, mark) if name is not None and name.startswith("#")]
    text.require([name for name in (*by, *numbers, mark) if name is not None and name not in beside])
    rows = list(text.rows())
    columns = {name: [row[place] for row in rows] for place, name in enumerate(text.header) if name}
    codes = list(zip(*(columns[name] for name in by), strict=True))
    others = {name: read_beside(path, name, by, total, text.file) for name in beside}
    for name, other in others.items():
        entries = {tuple(row[:-1]): row[-1] for row in other.rows()}
        columns[name] = [entries.get(code, "") for code in codes]
    if mark in beside:
        columns[mark] = ["" if is_number(entry) else entry for entry in columns[mark]]
    frame = pd.DataFrame({name: pd.Series(entries, dtype=object) for name, entries in columns.items()})
    styles: dict[str, None] = {}
    problems: list[DataError] = []
    for name in numbers:
        problem = _read_numbers(frame, name, others.get(name, text), styles)
        problems += [] if problem is None else [problem]
    if problems:
        raise join_errors(problems)
    READING.info("%s: read as %s", path.name, ", ".join([layout, *styles]))
    return frame


def read_public_cells(
    path: str | Path,
    by: Sequence[str],
    value: str,
    *,
    file: FileFormat | None = None,
    total: str = TOTAL,
) -> tuple[Any, Floats]:
    """Read a published table: its codes, and its values with NaN where an entry is not a number."""
    import pandas as pd  # noqa: PLC0415 - loaded when a file is read

    text, layout = look_at_cells(Path(path), by, value, total, file)
    text.require([*by, value])
    places = [text.header.index(name) for name in (*by, value)]
    rows = [[row[place] for place in places] for row in text.rows()]
    entries = [row[-1] if is_number(row[-1]) else "" for row in rows]
    shapes = [shape_of(entry) for entry in entries if entry]
    style = style_of(shapes, value, text.path.name, text.file)
    plain = [style.plain(entry) if entry and style else "nan" for entry in entries]
    marks = Counter(row[-1].strip() for row, entry in zip(rows, entries, strict=True) if not entry)
    suppressed = some((f"{mark!r} ({n:,})" for mark, n in marks.most_common()), 5) or "none"
    READING.info("%s: read as %s; suppressed: %s", text.path.name, layout, suppressed)
    frame = pd.DataFrame([row[:-1] for row in rows], columns=list(by))
    return frame, np.array(plain, dtype=np.float64)


def _read_numbers(frame: Any, name: str, text: TextFile, styles: dict[str, None]) -> DataError | None:
    """Turn a column of texts into numbers; return what is wrong with it."""
    na = {marker.strip() for marker in text.file.na}
    entries = ["" if entry.strip() in na else entry for entry in frame[name]]
    shapes = list(dict.fromkeys(map(shape_of, entries)))
    if {entry.lower() for entry in entries} <= {"true", "false"}:
        frame[name] = [entry.lower() == "true" for entry in entries]
        return None
    style = style_of(shapes, name, text.path.name, text.file) if any(shapes) else None
    if style is None:
        return text_in_numbers(text, [name]) if any(shapes) and name in text.header else None
    styles[str(style)] = None
    empty = "0" if name in text.file.zero_missing else "nan"
    plain = [style.plain(entry) or empty for entry in entries]
    exact = whole(shapes, style) and "nan" not in plain
    frame[name] = frame[name].__class__(plain, dtype=object).astype("int64" if exact else "float64")
    return None


def marked_cells(frame: Any, labels: Labels, mark: str | None, where: str) -> Mask:
    """Return the mask of cells marked as suppressed in a frame with a column for every variable."""
    withheld = np.zeros(len(labels), dtype=bool)
    if mark is None:
        return withheld
    wrapped = open_frame(frame)
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
