"""A table laid out on sheets: which cell stands in which row and column, before anything is written.

The first variable goes down the side and the second across the top. Each combination of further ones is a
sheet of its own or, where that makes too many, a block of rows. What does not cross variables is a listing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.io.code_order import StubLine, lines_of
from hitoku.model.release import Release

# More sheets than this nobody leafs through.
MOST_SHEETS = 40
# What Excel allows in the name of a sheet.
LONGEST_NAME = 31
FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
RESERVED = ("history", "notes")  # one of Excel's, one of ours


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row: its texts in the stub, how far the last of them is indented, the cells beside it."""

    texts: tuple[str, ...]
    depth: int
    is_sum: bool
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Sheet:
    """One sheet of a table.

    Parameters
    ----------
    name
        As Excel allows it.
    caption
        The codes of further variables that hold for the whole sheet.
    stub
        Headings of the columns with codes.
    across
        Name of the variable in the columns; empty for a listing.
    columns
        What stands above each column of values.
    rows
        From top to bottom.
    """

    name: str
    caption: str
    stub: tuple[str, ...]
    across: str
    columns: tuple[StubLine, ...]
    rows: tuple[SheetRow, ...]


def sheets_of(release: Release) -> list[Sheet]:
    """Lay a release out.

    Examples
    --------
    >>> from hitoku.model.protection import Protection
    >>> from hitoku.model.table import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> [sheet] = sheets_of(Release.of(table, Protection.withhold(table, table.value == 1)))
    >>> sheet.stub, [line.code for line in sheet.columns], sheet.rows[-1].cells
    (('row',), ['1', '2', 'Total'], (6, 7, 8))
    """
    labels = release.labels
    if labels.positions is not None or len(labels.names) == 1:
        return [_listing(release)]
    lines = [lines_of(labels, v, release.dimensions) for v in range(len(labels.names))]
    cells = np.arange(release.n_cells).reshape(labels.shape)
    columns, across = tuple(lines[1]), [line.place for line in lines[1]]

    def rows(further: tuple[StubLine, ...], *, named: bool) -> Iterator[SheetRow]:
        before = tuple(line.code for line in further) if named else ()
        places = tuple(line.place for line in further)
        for line in lines[0]:
            here: Any = (line.place, across, *places)
            yield SheetRow((*before, line.code), line.depth, line.is_sum, tuple(cells[here].tolist()))

    head, further = (labels.names[0],), list(itertools.product(*lines[2:]))
    if len(further) > MOST_SHEETS:
        every = tuple(itertools.chain.from_iterable(rows(place, named=True) for place in further))
        return [Sheet("Table", "", (*labels.names[2:], *head), labels.names[1], columns, every)]
    names = sheet_names([", ".join(line.code for line in place) or "Table" for place in further])
    return [
        Sheet(
            name,
            ", ".join(f"{v}: {line.code}" for v, line in zip(labels.names[2:], place, strict=True)),
            head,
            labels.names[1],
            columns,
            tuple(rows(place, named=False)),
        )
        for name, place in zip(names, further, strict=True)
    ]


def _listing(release: Release) -> Sheet:
    """One row per cell."""
    labels = release.labels
    if len(labels.names) == 1:
        lines = lines_of(labels, 0, release.dimensions)
        rows = tuple(SheetRow((line.code,), line.depth, line.is_sum, (line.place,)) for line in lines)
    else:
        rows = tuple(
            SheetRow(labels.codes_of(cell), depth=0, is_sum=False, cells=(cell,))
            for cell in range(len(labels))
        )
    return Sheet("Table", "", labels.names, "", (StubLine(0, release.measure),), rows)


def sheet_names(wanted: list[str]) -> list[str]:
    """Make names that Excel accepts, each once.

    Examples
    --------
    >>> sheet_names(["1/2", "1:2", "History", "x" * 40])
    ['1 2', '1 2 (2)', 'History (2)', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    taken = set(RESERVED)
    names = []
    for text in wanted:
        plain = FORBIDDEN.sub(" ", text).strip(" '")[:LONGEST_NAME].strip(" '") or "Table"
        name, number = plain, 1
        while name.lower() in taken:
            number += 1
            tail = f" ({number})"
            name = plain[: LONGEST_NAME - len(tail)] + tail
        taken.add(name.lower())
        names.append(name)
    return names
