"""How cells are laid out on the page: two-way tables one after another, or a list."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.io.code_order import StubLine, lines_of
from hitoku.model.table import Table

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
