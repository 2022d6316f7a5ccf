"""Layout of a table for display: order of codes, sheets, two-way sections and lists of cells.

Rows are the first variable and columns the second. Tables that are not crossed are lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.model import Dimension, Labels, Release, Table


@dataclass(frozen=True, slots=True)
class StubLine:
    """Displayed code: its index, its depth, and whether it is a sum of others."""

    place: int
    code: str
    depth: int = 0
    is_sum: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {"code": self.code, "depth": self.depth, "sum": self.is_sum}


def lines_of(labels: Labels, variable: int, dimensions: Sequence[Dimension]) -> list[StubLine]:
    """Return the codes of a variable in reading order.

    A flat variable is listed from its first code to its total. A hierarchy is listed from the total down,
    parts below their sum; groups of additional hierarchies come last, because their parts are listed
    elsewhere.

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


# Maximum number of sheets; more become blocks of rows on one.
MAX_SHEETS = 40


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """Row of a layout, with its codes and cells."""

    heads: tuple[StubLine, ...]
    cells: tuple[int, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(line.code for line in self.heads)

    @property
    def depth(self) -> int:
        """Indentation level of the last code."""
        return self.heads[-1].depth

    @property
    def is_sum(self) -> bool:
        return self.heads[-1].is_sum


@dataclass(frozen=True, slots=True)
class LayoutSection:
    """Table of a page, or sheet of a workbook."""

    stubs: tuple[str, ...]  # Names of the row variables.
    across: str  # Name of the column variable; empty for a list.
    # columns, rows: columns and rows.
    columns: tuple[StubLine, ...]
    rows: tuple[LayoutRow, ...]
    # Names and codes of the other variables, constant within the section.
    further: tuple[tuple[str, StubLine], ...] = ()

    @property
    def title(self) -> str:
        """Codes of the other variables; empty if there are none."""
        return ", ".join(f"{name}: {line.code}" for name, line in self.further)

    @property
    def depth(self) -> int:
        """Depth of the title's code, if it is a single one."""
        return self.further[0][1].depth if len(self.further) == 1 else 0

    @property
    def cells(self) -> list[int]:
        return [cell for row in self.rows for cell in row.cells]

    def only(self, kept: Collection[int]) -> LayoutSection:
        """Return the section without rows and columns that have none of the given cells."""
        width = range(len(self.columns))
        columns = [at for at in width if any(row.cells[at] in kept for row in self.rows)]
        if len(columns) == len(width) and all(cell in kept for cell in self.cells):
            return self
        rows = (replace(row, cells=tuple(row.cells[at] for at in columns)) for row in self.rows)
        return replace(
            self,
            columns=tuple(self.columns[at] for at in columns),
            rows=tuple(row for row in rows if any(cell in kept for cell in row.cells)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {
            "title": self.title,
            "stubs": list(self.stubs),
            "across": self.across,
            "columns": [line.to_dict() for line in self.columns],
            "rows": [
                {"heads": [line.to_dict() for line in row.heads], "cells": list(row.cells)}
                for row in self.rows
            ],
        }


def sections(table: Table) -> tuple[LayoutSection, ...]:
    """Return the layout of all cells of a table for a page.

    Rows are the first variable and columns the second, unless there are too many columns for paper: then the
    variable with the fewest codes is on top. Hierarchies are indented.

    Examples
    --------
    >>> (only,) = sections(Table.from_array([[20, 15], [72, 1]]))
    >>> [line.code for line in only.columns], only.rows[1].cells
    (['1', '2', 'Total'], (3, 4, 5))
    """
    if table.labels.positions is not None:
        return (listing(table, np.flatnonzero(table.shown).tolist()),)
    # Maximum number of columns that fit side by side on paper.
    return _cross_sections(table, 14)


def sheets_of(release: Release) -> tuple[LayoutSection, ...]:
    """Return the layout of a release for a workbook or a static page: layers are sheets or row blocks.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> [sheet] = sheets_of(Release.of(table, Protection.withhold(table, table.value == 1)))
    >>> sheet.stubs, [line.code for line in sheet.columns], sheet.rows[-1].cells
    (('row',), ['1', '2', 'Total'], (6, 7, 8))
    """
    if release.labels.positions is not None:
        return (listing(release, range(len(release.labels))),)
    found = _cross_sections(release)
    if len(found) <= MAX_SHEETS:
        return found
    layers = tuple(name for name, _ in found[0].further)
    rows = tuple(
        LayoutRow((*(line for _, line in layer.further), *row.heads), row.cells)
        for layer in found
        for row in layer.rows
    )
    return (replace(found[0], stubs=(*layers, *found[0].stubs), rows=rows, further=()),)


def _cross_sections(shown: Table | Release, most_across: int | None = None) -> tuple[LayoutSection, ...]:
    """Cross two variables for every combination of the others; list a single variable."""
    labels = shown.labels
    lines = [lines_of(labels, variable, shown.dimensions) for variable in range(len(labels.names))]
    if len(lines) == 1:
        return (listing(shown, (line.place for line in lines[0])),)
    row, column, *further = _places([len(codes) for codes in lines], most_across)
    cells = np.arange(shown.n_cells).reshape(labels.shape)
    cells = cells[np.ix_(*([line.place for line in codes] for codes in lines))]
    cells = cells.transpose([row, column, *further])
    found = []
    for place in itertools.product(*(range(len(lines[v])) for v in further)):
        here: Any = (slice(None), slice(None), *place)
        found.append(
            LayoutSection(
                stubs=(labels.names[row],),
                across=labels.names[column],
                columns=tuple(lines[column]),
                rows=tuple(
                    LayoutRow((line,), tuple(along.tolist()))
                    for line, along in zip(lines[row], cells[here], strict=True)
                ),
                further=tuple((labels.names[v], lines[v][p]) for v, p in zip(further, place, strict=True)),
            )
        )
    return tuple(found)


def listing(shown: Table | Release, cells: Iterable[int]) -> LayoutSection:
    """Return a list with one row per cell."""
    labels = shown.labels
    # With a single variable, cells are codes, and its hierarchy can be shown.
    alone = len(labels.names) == 1 and labels.positions is None
    lines = {line.place: line for line in lines_of(labels, 0, shown.dimensions)} if alone else {}
    rows = tuple(
        LayoutRow(
            (lines[cell],) if alone else tuple(StubLine(0, code) for code in labels.codes_of(cell)), (cell,)
        )
        for cell in cells
    )
    return LayoutSection(labels.names, "", (StubLine(0, shown.measure),), rows)


def list_rows(
    stubs: Sequence[str], labels: Mapping[int, Sequence[str]], columns: Sequence[str]
) -> LayoutSection:
    """Return a list of rows with several numbers each, numbered consecutively as cells.

    Examples
    --------
    >>> list_rows(["region"], {0: ["N"], 2: ["S"]}, ["count", "mean"]).cells
    [0, 1, 4, 5]
    """
    wide = len(columns)
    rows = (
        LayoutRow(tuple(StubLine(0, code) for code in codes), tuple(range(at * wide, (at + 1) * wide)))
        for at, codes in labels.items()
    )
    return LayoutSection(tuple(stubs), "", tuple(StubLine(0, name) for name in columns), tuple(rows))


def cross_codes(names: Sequence[str], labels: Sequence[Sequence[str]]) -> LayoutSection | None:
    """Cross a list of cells by two variables; None unless every combination of codes occurs once.

    Examples
    --------
    >>> cross_codes(["region", "sex"], [["N", "f"], ["S", "f"], ["N", "m"], ["S", "m"]]).rows[1].cells
    (1, 3)
    """
    place = {tuple(codes): at for at, codes in enumerate(labels)}
    if len(names) != 2 or not place or len(place) != len(labels):
        return None
    down, across = (list(dict.fromkeys(codes)) for codes in zip(*place, strict=True))
    if len(place) != len(down) * len(across):
        return None
    rows = (LayoutRow((StubLine(0, row),), tuple(place[row, column] for column in across)) for row in down)
    columns = tuple(StubLine(0, column) for column in across)
    return LayoutSection((names[0],), names[1], columns, tuple(rows))


def margins(table: Table) -> LayoutSection | None:
    """List the totals over all variables but one; None if there are too many.

    Examples
    --------
    >>> margins(Table.from_array([[20, 15], [72, 1]])).cells
    [2, 5, 6, 7, 8]
    """
    shape = table.shape
    # Maximum number of margins in a useful overview.
    if len(table.dimensions) < 2 or sum(shape) > 2_000:
        return None
    found: set[int] = set()
    for variable, size in enumerate(shape):
        # The total is the last code of every variable.
        places = np.tile(np.array(shape) - 1, (size, 1))
        places[:, variable] = np.arange(size)
        found.update(np.ravel_multi_index(tuple(places.T), shape).tolist())
    return listing(table, sorted(found))


def _places(sizes: Sequence[int], most_across: int | None) -> list[int]:
    """Return the variables in the order rows, columns, others."""
    if most_across is None or sizes[1] <= most_across:
        return list(range(len(sizes)))
    column = min(range(len(sizes)), key=lambda variable: sizes[variable])
    row, *further = (variable for variable in range(len(sizes)) if variable != column)
    return [row, column, *further]
