"""Cross tables in workbooks: codes down the side and across the top, one number per cell, often with totals.

A cross table is recognised from the names of the variables: their number is that of the columns of codes at
the side and the rows of codes on top, together. The table becomes a list of cells, and what was recognised is
logged, so that the person who runs the command can confirm it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hitoku.errors import DataError, some
from hitoku.tabulation.number_styles import NOT_FINITE, shape_of
from hitoku.tabulation.record_columns import WORDS_FOR_TOTALS
from hitoku.tabulation.sheets import read_sheet
from hitoku.tabulation.text_files import FileFormat, TextFile, look_at

# A number in any style, as its shape.
NUMBER = re.compile(r"[-+]?[09][09., ']*%?")


@dataclass(frozen=True, slots=True)
class CrossLayout:
    """A cross table as a list of cells."""

    text: TextFile  # The list: codes in columns named like the variables, and the entries.
    layout: str  # Where the variables were found, for the person who runs the command.


def read_cross_table(
    path: Path, by: Sequence[str], value: str, total: str, file: FileFormat | None = None
) -> CrossLayout | None:
    """Read the cross table on a sheet; None if the sheet has columns named like the variables.

    Parameters
    ----------
    path
        Workbook, with sheet and range if needed.
    by
        Variables: those at the side first, then those on top, unless a heading names them.
    value
        Name of the column of entries.
    total
        Code that replaces words for totals, such as "計".
    file
        Format of numbers. Default: detected.
    """
    file = file or FileFormat()
    sheet = read_sheet(path, file.decimal or ".", header=False)
    grid = [row for _, row in sheet.rows]
    start = _first_of_body(grid)
    if not grid or value in grid[0] or (start == 1 and set(by) <= set(grid[0])):
        return None
    side = next((n for n in range(1, len(by)) if _is_body(grid, start, n)), 0)
    rows = [row[side:] for row in grid[:start]]
    # A row with the name of the variable below it, or with one text over all columns, holds no codes.
    coded = [row for row in rows if len(set(row) - {"", *by}) > 1] or rows[-1:]
    top = len(coded)
    if not side or side + top != len(by):
        return None
    names = _names(grid[:start], by, side)
    heads = [_fill_merged_cells(list(row), fill=place < top - 1) for place, row in enumerate(coded)]
    lines: list[tuple[int, tuple[str, ...]]] = []
    above = [""] * side
    codes: dict[str, dict[str, None]] = {name: {} for name in names}
    for number, row in sheet.rows[start:]:
        above = [
            entry or (before if place < side - 1 else "")
            for place, (entry, before) in enumerate(zip(row[:side], above, strict=True))
        ]
        for column, entry in enumerate(row[side:]):
            found = [*above, *(head[column] for head in heads)]
            if not any(found[side:]) or not any(found[:side]):
                continue
            found = [total if not code or _is_total(code) else code for code in found]
            for name, code in zip(names, found, strict=True):
                codes[name][code] = None
            lines.append((number, (*found, entry)))
    text = TextFile(
        path,
        "utf-8",
        ",",
        (*names, value),
        file if file.decimal is not None else replace(file, decimal="."),
        tuple(lines),
        sheet.sheets,
    )
    described = [
        f"{name!r} {'at the side' if place < side else 'on top'} ({_describe_codes(codes[name], total)})"
        for place, name in enumerate(names)
    ]
    return CrossLayout(text, f"cross table with {', '.join(described)}")


def read_beside(path: Path, sheet: str, by: Sequence[str], total: str, file: FileFormat) -> TextFile:
    """Read a cross table on another sheet of the same workbook; ``sheet`` begins with the sign ``#``."""
    other = Path(f"{str(path).partition('#')[0]}{sheet}")
    found = read_cross_table(other, by, sheet, total, file)
    if found is None:
        raise DataError(
            "no_cross_table",
            "the sheet is not a cross table of {variables}",
            where=other.name,
            fix="lay it out like the sheet of values",
            variables=some(by),
        )
    return found.text


def _first_of_body(grid: Sequence[Sequence[str]]) -> int:
    """Return the first row below the heading with a code at the side, followed by numbers."""
    for place, row in enumerate(grid):
        numbers = [is_number(entry) for entry in row[1:] if entry.strip()]
        if place and row[0].strip() and sum(numbers) > len(numbers) / 2:
            return place
    return len(grid)


def _is_body(grid: Sequence[Sequence[str]], start: int, side: int) -> bool:
    """Return whether all columns after the codes contain numbers, and the last column of codes does not."""
    body = [row[side:] for row in grid[start:]]
    if not body or len(grid[0]) <= side + 1:
        return False
    marked = [
        [bool(entry.strip()) and not is_number(entry) for entry in column]
        for column in zip(*body, strict=True)
    ]
    heads = [row[side - 1] for row in grid[start:]]
    coded = side == 1 or any(entry.strip() and not is_number(entry) for entry in heads)
    # A column of numbers may hold fewer markers, such as x, than this share.
    return coded and all(sum(column) < 0.6 * len(column) for column in marked)


def is_number(entry: str) -> bool:
    """Return whether an entry is a number in some style."""
    shape = shape_of(entry)
    return bool(NUMBER.fullmatch(shape) or NOT_FINITE.fullmatch(shape))


def _names(head: Sequence[Sequence[str]], by: Sequence[str], side: int) -> list[str]:
    """Return the variables at the side and on top; headings in the corner decide, else the order given."""
    corner = [next((row[place] for row in head if row[place] in by), "") for place in range(side)]
    left = [name for name in by if name not in corner]
    return [*(name or left.pop(0) for name in corner), *left]


def _fill_merged_cells(row: list[str], *, fill: bool) -> list[str]:
    """Repeat the text of merged cells; an empty cell in the last row of codes stands for a total."""
    last = ""
    for place, entry in enumerate(row):
        last = entry.strip() or (last if fill else "")
        row[place] = last
    return row


def _is_total(code: str) -> bool:
    return code.strip().lower() in WORDS_FOR_TOTALS


def _describe_codes(codes: dict[str, None], total: str) -> str:
    n = len(codes) - (total in codes)
    return f"{n} codes and total" if total in codes else f"{n} codes, no total"


def look_at_cells(
    path: Path, by: Sequence[str], value: str, total: str, file: FileFormat | None = None
) -> tuple[TextFile, str]:
    """Return a list of cells, or a cross table as one, and how it was read."""
    if "#" in str(path) or path.name.lower().endswith((".xlsx", ".xlsm")):
        found = read_cross_table(path, by, value, total, file)
        if found is not None:
            return found.text, f"{found.text}, {found.layout}"
    text = look_at(path, file)
    return text, str(text)
