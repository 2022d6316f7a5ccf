"""Sheets of Excel workbooks as lines of texts: ``book.xlsx`` or ``book.xlsx#Sheet1!A3:H40``.

Without a range the table on a sheet is found: titles above it, notes below it and empty columns are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Any

from hitoku.errors import DataError, did_you_mean
from hitoku.files import split_sheet

RANGE = re.compile(r"\$?[A-Z]{1,3}\$?\d+:\$?[A-Z]{1,3}\$?\d+", re.IGNORECASE)
# Numbers shown with this many digits: 7 stands as 007.
PADDED = re.compile("00+")

Line = tuple[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The table on a sheet."""

    rows: tuple[Line, ...]  # Number and entries of every row that is not empty.
    sheets: tuple[str, ...]  # All sheets of the workbook; the one that was read comes first.


def read_sheet(path: str | Path, decimal: str = ".", *, indents: bool = False, header: bool = True) -> Sheet:
    """Read a sheet of a workbook.

    Parameters
    ----------
    path
        The workbook; after the sign ``#`` a sheet and a range, if not the first and the table on it.
    decimal
        Sign before the decimals of numbers.
    indents
        Put two blanks before a text for each step by which its cell is indented.
    header
        The table begins with a row in which every column has a name. Otherwise it may begin with empty cells.
    """
    file, part = split_sheet(path)
    try:
        import openpyxl  # noqa: PLC0415 - loaded when a workbook is read
    except ImportError:
        raise DataError(
            "excel_package_missing",
            "a package that reads Excel files is missing",
            where=file.name,
            fix="install hitoku[excel], or save the sheet as CSV",
        ) from None
    try:
        book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # noqa: BLE001 - readers raise anything on a broken file, and may quote it
        raise DataError(
            "cannot_read",
            "cannot read {file!r}: {reason}",
            where=str(file),
            fix="check that the file opens in the program that wrote it",
            file=file.name,
            reason=type(error).__name__,
        ) from None
    try:
        names = [sheet.title for sheet in book.worksheets]
        wanted, cells = _sheet_and_range(part, names, file.name)
        page = book[wanted]
        page.reset_dimensions()  # some programs write wrong ones
        rows = [
            (number, tuple(_text(cell, decimal, indents=indents) for cell in row))
            for number, row in enumerate(page[cells] if cells else page.iter_rows(), _first_row(cells))
        ]
    finally:
        book.close()
    others = (name for name in names if name != wanted)
    return Sheet(_table(rows, given=bool(cells), header=header), (wanted, *others))


def _sheet_and_range(part: str, names: Sequence[str], where: str) -> tuple[str, str]:
    """Split the sheet from the range; either may be left out."""
    wanted, _, cells = part.rpartition("!") if "!" in part else ("", "", part)
    if not wanted and not RANGE.fullmatch(part):
        wanted, cells = part, ""
    wanted = wanted.strip("'") or names[0]
    if wanted not in names:
        raise DataError(
            "no_sheet", "no sheet {sheet!r}", where=where, fix=did_you_mean(wanted, names), sheet=wanted
        )
    if cells and not RANGE.fullmatch(cells):
        raise DataError(
            "range_invalid",
            "{range!r} is not a range of cells",
            where=where,
            fix="write it like {file}#{sheet}!A3:H40",
            sheet=wanted,
            range=cells,
            file=where,
        )
    return wanted, cells.replace("$", "").upper()


def _first_row(cells: str) -> int:
    found = re.search(r"\d+", cells)
    return int(found[0]) if found else 1


def _text(cell: Any, decimal: str, *, indents: bool) -> str:
    value = cell.value
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    # Whole numbers above this are not exact in a sheet.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, int):
        shown = PADDED.fullmatch(cell.number_format or "")
        return f"{value:0{len(shown[0])}d}" if shown and value >= 0 else str(value)
    if isinstance(value, float):
        return repr(value).replace(".", decimal)
    text = str(value.date() if isinstance(value, datetime) and value.time() == time() else value)
    return "  " * int(cell.alignment.indent or 0) + text if indents and cell.alignment else text


def _table(rows: Sequence[Line], *, given: bool, header: bool) -> tuple[Line, ...]:
    """Return the rows of the table, without titles, notes and columns that are empty or have no name."""
    width = max((len(row) for _, row in rows), default=0)
    full = [(number, (*row, *[""] * (width - len(row)))) for number, row in rows]
    full = [(number, row) for number, row in full if any(entry.strip() for entry in row)]
    if not given:
        full = _without_titles(full)
    if not full:
        return ()
    named = full[0][1]
    kept = [
        place
        for place in range(width)
        if (named[place].strip() if header else any(row[place].strip() for _, row in full))
    ]
    return tuple((number, tuple(row[place] for place in kept)) for number, row in full)


def _without_titles(rows: list[Line]) -> list[Line]:
    """Leave out rows with a single entry above a wider table, and notes with a single entry below it."""

    def n_entries(row: tuple[str, ...]) -> int:
        return sum(bool(entry.strip()) for entry in row)

    if max((n_entries(row) for _, row in rows), default=0) < 2:
        return rows
    first = next(place for place, (_, row) in enumerate(rows) if n_entries(row) > 1)
    rows = rows[first:]
    last = max(place for place, (_, row) in enumerate(rows) if n_entries(row) > 1)
    return rows[: last + 1]
