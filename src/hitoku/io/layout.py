"""Layout of a table for people: the order of codes, sheets, two-way sections and lists of cells.

The first variable goes down the side and the second across the top. What does not cross variables is a list.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.model import Dimension, Labels, Release, Table


@dataclass(frozen=True, slots=True)
class StubLine:
    """One code as it is printed: its position among the codes, its depth, whether it is a sum of others."""

    place: int
    code: str
    depth: int = 0
    is_sum: bool = False


def lines_of(labels: Labels, variable: int, dimensions: Sequence[Dimension]) -> list[StubLine]:
    """List the codes of a variable in the order in which a person reads them.

    A flat variable is read from its first code to its total. A tree is read from the total down, parts below
    their sum; groups of further groupings come last, for their parts stand elsewhere already.

    Examples
    --------
    >>> from hitoku.model import Hierarchy
    >>> regions = Dimension.of("region", Hierarchy.from_tree({"North": ["N1", "N2"], "South": None}))
    >>> [(line.code, line.depth) for line in lines_of(Labels.cross([regions]), 0, [regions])]
    [('Total', 0), ('North', 1), ('N1', 2), ('N2', 2), ('South', 1)]
    """
    codes = labels.codes[variable]
    if not dimensions:
        return [StubLine(place, code) for place, code in enumerate(codes)]
    dimension = dimensions[variable]
    sums = {code for code, _ in dimension.groups}
    if len(sums) == 1:
        return [StubLine(place, code, 0, code in sums) for place, code in enumerate(codes)]
    depth: dict[str, int] = {}
    for number, tree in enumerate(dimension.hierarchies):
        for code, above in zip(tree.codes, tree.parents.tolist(), strict=True):
            below = 0 if above < 0 else depth[tree.codes[above]] + 1
            depth.setdefault(code, below if number == 0 else 1)
    return [StubLine(dimension.position[code], code, level, code in sums) for code, level in depth.items()]


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
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
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


# More columns than this do not fit beside each other on paper.
MOST_ACROSS = 14
# A list of margins that is longer than this is no overview any more.
MOST_MARGINS = 2_000


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One line: its codes and its cells."""

    heads: tuple[StubLine, ...]
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayoutSection:
    """One table of the page.

    Parameters
    ----------
    title
        Codes of the further variables, empty where there are none.
    stubs
        Names of the variables at the side.
    across
        Name of the variable on top; empty for a list.
    columns, rows
        What is on top, and the lines.
    depth
        How deep the code of the title stands, where it is a single one.
    """

    title: str
    stubs: tuple[str, ...]
    across: str
    columns: tuple[StubLine, ...]
    rows: tuple[LayoutRow, ...]
    depth: int = 0

    @property
    def cells(self) -> list[int]:
        return [cell for row in self.rows for cell in row.cells]


def sections(table: Table) -> tuple[LayoutSection, ...]:
    """Lay out all cells of a table.

    Rows are the first variable and columns the second, as everywhere in hitoku, unless there are too many
    columns for paper: then the variable with the fewest codes goes on top. Trees are shown as trees.

    Examples
    --------
    >>> (only,) = sections(Table.from_array([[20, 15], [72, 1]]))
    >>> [line.code for line in only.columns], only.rows[1].cells
    (['1', '2', 'Total'], (3, 4, 5))
    """
    labels = table.labels
    if labels.positions is not None:
        return (listing(table, np.flatnonzero(table.shown).tolist()),)
    lines = [lines_of(labels, variable, table.dimensions) for variable in range(len(labels.names))]
    if len(lines) == 1:
        return (listing(table, (line.place for line in lines[0])),)
    row, column, *further = _places([len(codes) for codes in lines])
    cells = np.arange(table.n_cells).reshape(labels.shape)
    shown = cells[np.ix_(*([line.place for line in codes] for codes in lines))]
    shown = shown.transpose([row, column, *further])
    found = []
    for place in itertools.product(*(range(len(lines[v])) for v in further)):
        named = [(labels.names[v], lines[v][p]) for v, p in zip(further, place, strict=True)]
        here: Any = (slice(None), slice(None), *place)
        found.append(
            LayoutSection(
                title=", ".join(f"{name}: {line.code}" for name, line in named),
                stubs=(labels.names[row],),
                across=labels.names[column],
                columns=tuple(lines[column]),
                rows=tuple(
                    LayoutRow((line,), tuple(along.tolist()))
                    for line, along in zip(lines[row], shown[here], strict=True)
                ),
                depth=named[0][1].depth if len(named) == 1 else 0,
            )
        )
    return tuple(found)


def listing(table: Table, cells: Iterable[int]) -> LayoutSection:
    """One line per cell."""
    labels = table.labels
    # With a single variable cells are codes, and their tree can be shown.
    alone = len(labels.names) == 1 and labels.positions is None
    lines = {line.place: line for line in lines_of(labels, 0, table.dimensions)} if alone else {}
    rows = tuple(
        LayoutRow(
            (lines[cell],) if alone else tuple(StubLine(0, code) for code in labels.codes_of(cell)), (cell,)
        )
        for cell in cells
    )
    return LayoutSection("", labels.names, "", (StubLine(0, table.measure),), rows)


def margins(table: Table) -> LayoutSection | None:
    """List the cells that are totals of all variables but one at most; None where that is no overview.

    Examples
    --------
    >>> margins(Table.from_array([[20, 15], [72, 1]])).cells
    [2, 5, 6, 7, 8]
    """
    shape = table.shape
    if len(table.dimensions) < 2 or sum(shape) > MOST_MARGINS:
        return None
    found: set[int] = set()
    for variable, size in enumerate(shape):
        # The total is the last code of every variable.
        places = np.tile(np.array(shape) - 1, (size, 1))
        places[:, variable] = np.arange(size)
        found.update(np.ravel_multi_index(tuple(places.T), shape).tolist())
    return listing(table, sorted(found))


def _places(sizes: Sequence[int]) -> list[int]:
    """Variables in the order rows, columns, further ones."""
    if sizes[1] <= MOST_ACROSS:
        return list(range(len(sizes)))
    column = min(range(len(sizes)), key=lambda variable: sizes[variable])
    row, *further = (variable for variable in range(len(sizes)) if variable != column)
    return [row, column, *further]
