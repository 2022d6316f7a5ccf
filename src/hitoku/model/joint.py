"""Links between tables of the same records, found by comparing the records behind their cells.

A cell is a set of records. Two cells with the same records are one cell, whatever their codes: section E of a
table by section is the node E of a table by division. Sets of records are compared by **atoms**, groups of
records that are in the same cell of every table.

Cells can be the same in two ways. *By definition*: their codes and filters stand for the same sets of
records, variable by variable; this includes empty cells. *In these data*: their records are the same because
some other category is empty; this joins cells that have no partner by definition. A cell that is the sum of
cells of another table gets a relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import sparse

from hitoku.model.arrays import Floats, Integers, Mask
from hitoku.model.dimension import Labels
from hitoku.model.link import assemble
from hitoku.model.record_sets import Placement, RecordSets, leaves_of, unions
from hitoku.model.table import Table

# Key of a variable that does not restrict the cell.
ANY = -1
# Name of the variable that distinguishes cells of tables with the same codes.
TABLE = "table"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Joint:
    """Links of several tables: which cells are the same, and which are sums of others."""

    cell: tuple[Integers, ...]
    """For each table, the number of each cell in the linked table. Equal numbers are the same cell."""
    n_cells: int
    """Number of cells of the linked table."""
    sums: sparse.csr_array
    """Further relations over the cells of the linked table: parts minus sum."""
    in_these_data: int
    """Cells joined because their records are the same, not by definition."""


def join(
    tables: Sequence[Table], placements: Sequence[Placement], divisions: Sequence[Sequence[int]] = ()
) -> Joint:
    """Find cells that are the same, and cells that are sums of others, by the records behind them.

    Parameters
    ----------
    tables
        Cross tables of the same records. Cells of different measures are never the same.
    placements
        Cell of every atom in each of the tables.
    divisions
        Tables, by index, whose filters partition all records or those of a wider filter, such as one legal
        form and all others.

    Examples
    --------
    >>> from hitoku.model import Placement
    >>> town = Table.from_array([3, 1, 5], names=["town"], codes=[["a", "b", "c"]], measure="n")
    >>> county = Table.from_array([4, 5], names=["county"], codes=[["A", "B"]], measure="n")
    >>> records = np.array([3, 1, 5])
    >>> places = [Placement(leaves=np.array([[0], [1], [2]]), records=records),
    ...           Placement(leaves=np.array([[0], [0], [1]]), records=records)]
    >>> found = join([town, county], places)
    >>> [numbers.tolist() for numbers in found.cell], found.sums.toarray().tolist()
    ([[0, 1, 2, 3], [4, 2, 3]], [[1.0, 1.0, 0.0, 0.0, -1.0]])
    """
    sets = [RecordSets.of(table, placement) for table, placement in zip(tables, placements, strict=True)]
    measures = list(dict.fromkeys(table.measure for table in tables))
    measures_of = [measures.index(table.measure) for table in tables]
    keys, plain = _definitions(tables, placements, measures_of)
    numbers, in_these_data = _number_cells(keys, sets)
    ends = np.cumsum([table.n_cells for table in tables])[:-1]
    cell = np.split(numbers, ends)
    rows = list(_division_relations(divisions, cell, np.split(plain, ends), placements, measures_of))
    for one, other in permutations(range(len(tables)), 2):
        if tables[one].measure == tables[other].measure:
            rows += unions(sets[one], sets[other], cell[one], cell[other])
    n_cells = int(numbers.max()) + 1
    return Joint(
        cell=tuple(cell),
        n_cells=n_cells,
        sums=_matrix(rows, n_cells),
        in_these_data=in_these_data,
    )


def whole(
    tables: Sequence[Table], found: Joint, names: Sequence[str], shown: Sequence[bool] | None = None
) -> Table:
    """Link several tables with the result of :func:`join`.

    A cell has the codes of the first table that contains it.

    Parameters
    ----------
    tables
        Tables to link.
    found
        Result of :func:`join` for them.
    names
        Names of the tables, used if codes alone do not distinguish their cells.
    shown
        Whether each table is published. Default: all.
    """
    numbers = np.concatenate(found.cell)
    first = np.unique(numbers, return_index=True)[1]
    variables = list(dict.fromkeys(d.name for table in tables for d in table.dimensions))
    codes: list[tuple[str, ...]] = []
    columns: list[Integers] = []
    for name in variables:
        same = [d for table in tables for d in table.dimensions if d.name == name]
        top = same[0].total
        listed = (*(code for code in dict.fromkeys(c for d in same for c in d.codes) if code != top), top)
        place = {code: number for number, code in enumerate(listed)}
        column = []
        for table in tables:
            own = [axis for axis, d in enumerate(table.dimensions) if d.name == name]
            if own:
                translate = np.array([place[code] for code in table.dimensions[own[0]].codes])
                column.append(translate[table.labels.column(own[0])])
            else:
                column.append(np.full(table.n_cells, place[top]))
        codes.append(listed)
        columns.append(np.concatenate(column)[first])
    positions = np.stack(columns, axis=1).astype(np.int32)
    if len(np.unique(positions, axis=0)) < len(positions):
        origin = np.repeat(np.arange(len(tables)), [table.n_cells for table in tables])[first]
        positions = np.column_stack([positions, origin.astype(np.int32)])
        variables, codes = [*variables, TABLE], [*codes, tuple(names)]
    labels = Labels(tuple(variables), tuple(codes), positions)
    hidden = None
    if shown is not None and not all(shown):
        hidden = np.ones(found.n_cells, dtype=bool)
        for positions_of, public in zip(found.cell, shown, strict=True):
            if public:
                hidden[positions_of] = False
    return Table(**assemble(tables, numbers, labels, found.sums, hidden))


def _definitions(
    tables: Sequence[Table], placements: Sequence[Placement], measures: Sequence[int]
) -> tuple[Integers, Integers]:
    """Assign numbers to the cells of all tables, so that equal numbers are the same cell by definition.

    There are two numberings: with and without the filters of the tables.
    """
    known: dict[tuple[object, ...], int] = {}

    def number(members: Mask, name: tuple[object, ...]) -> int:
        # A code without records is identified by its name.
        key = ("set", np.packbits(members).tobytes()) if members.any() else name
        return known.setdefault(key, len(known))

    blocks, bare = [], []
    for table, placement, measure in zip(tables, placements, measures, strict=True):
        shape = tuple(len(d) for d in table.dimensions)
        columns = [np.full(table.n_cells, -2 - measure, dtype=np.int64)]
        for axis, dimension in enumerate(table.dimensions):
            own = np.full(len(dimension), ANY, dtype=np.int64)
            for place, code in enumerate(dimension.codes):
                if code != dimension.total:
                    below = np.zeros(len(dimension.leaves) + 1, dtype=bool)
                    below[leaves_of(dimension, place)] = True
                    own[place] = number(below[placement.leaves[:, axis]], (dimension.name, code))
            columns.append(np.broadcast_to(_along(own, axis, len(shape)), shape).ravel())
        bare.append(columns)
        kept = [number(mask, ("filter", name)) for name, mask in placement.filters.items() if not mask.all()]
        blocks.append([*columns, *(np.full(table.n_cells, each) for each in kept)])
    width = max(len(columns) for columns in blocks)
    rows = np.concatenate([_sort_restrictions(columns, width) for columns in (*blocks, *bare)])
    _, key = np.unique(rows, axis=0, return_inverse=True)
    keys, plain = np.split(np.asarray(key, dtype=np.int64).ravel(), 2)
    return keys, plain


def _sort_restrictions(columns: Sequence[Integers], width: int) -> Integers:
    """Sort the restrictions of a cell independently of its table, with the measure first."""
    block = np.full((len(columns[0]), width), ANY, dtype=np.int64)
    block[:, : len(columns)] = np.stack(columns, axis=1)
    block[:, 1:] = _without_repeats(np.sort(block[:, 1:], axis=1))
    return block


def _along(values: Integers, axis: int, n_axes: int) -> Integers:
    return values.reshape([-1 if place == axis else 1 for place in range(n_axes)])


def _without_repeats(ordered: Integers) -> Integers:
    """Drop repeated restrictions of a cell, by two variables or by a variable and a filter."""
    again = np.zeros(ordered.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return np.sort(np.where(again, ANY, ordered), axis=1)


def _number_cells(keys: Integers, sets: Sequence[RecordSets]) -> tuple[Integers, int]:
    """Assign numbers to the distinct cells of all tables, in order of first appearance."""
    table = np.repeat(np.arange(len(sets)), [len(s.records) for s in sets])
    own = np.concatenate([np.arange(len(s.records)) for s in sets])
    hashes = np.concatenate([s.hashes for s in sets])
    records = np.concatenate([s.records for s in sets])
    extent = np.concatenate([s.extent for s in sets])
    root = keys.copy()
    joined = 0
    occupied = np.flatnonzero(records > 0)
    _, group = np.unique(hashes[occupied], axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(group.ravel()[order], append=-1)) + 1
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        alike = occupied[order[start:stop]]
        if len(np.unique(keys[alike])) > 1 and len(np.unique(table[alike])) > 1:
            for one, other in _partners(alike, keys, table, extent):
                if np.array_equal(sets[table[one]].members(own[one]), sets[table[other]].members(own[other])):
                    root[root == root[other]] = root[one]
                    joined += 1
    _, first, number = np.unique(root, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[number.ravel()], joined


def _partners(
    alike: Integers, keys: Integers, table: Integers, extent: Integers
) -> Iterator[tuple[int, int]]:
    """Pair cells with equal records and different codes, the widest first, never two of the same table.

    Two cells of one table with the same records are linked by its own relations, provided that the attacker
    knows that the other cells are empty.
    """
    classes: dict[int, list[int]] = {}
    for cell in sorted(alike.tolist(), key=lambda c: (-extent[c], c)):
        classes.setdefault(int(keys[cell]), []).append(cell)
    kept: list[tuple[int, set[int]]] = []
    for cells in classes.values():
        tables = {int(table[cell]) for cell in cells}
        for first, taken in kept:
            if not taken & tables:
                taken.update(tables)
                yield first, cells[0]
                break
        else:
            kept.append((cells[0], tables))


def _division_relations(
    divisions: Sequence[Sequence[int]],
    cells: Sequence[Integers],
    plain: Sequence[Integers],
    placements: Sequence[Placement],
    measures: Sequence[int],
) -> Iterator[tuple[Integers, Floats]]:
    """Return relations between cells under a filter and cells under the filters that partition it."""
    under: dict[tuple[int, bytes], dict[int, int]] = {}
    for place, (own, numbers) in enumerate(zip(plain, cells, strict=True)):
        known = under.setdefault((measures[place], placements[place].kept.tobytes()), {})
        for key, number in zip(own.tolist(), numbers.tolist(), strict=True):
            known.setdefault(key, number)
    seen: set[tuple[int, tuple[bytes, ...]]] = set()
    for places in divisions:
        masks, whole = _division(places, placements)
        measure = measures[places[0]]
        if (measure, masks) in seen:
            continue
        seen.add((measure, masks))
        parts = [under[measure, mask] for mask in masks]
        for key, number in under.get((measure, whole), {}).items():
            if all(key in part for part in parts):
                added = list(dict.fromkeys(part[key] for part in parts))
                yield np.array([*added, number]), np.array([1.0] * len(added) + [-1.0])


def _division(places: Sequence[int], placements: Sequence[Placement]) -> tuple[tuple[bytes, ...], bytes]:
    """Return the atoms kept by filters in sorted order, and the set that they partition."""
    kept = [placements[place].kept for place in places]
    masks = tuple(sorted({mask.tobytes() for mask in kept}))
    return masks, np.logical_or.reduce(kept).tobytes()


def _matrix(rows: Sequence[tuple[Integers, Floats]], n_cells: int) -> sparse.csr_array:
    lengths = np.cumsum([0, *(len(cells) for cells, _ in rows)])
    cells = np.concatenate([cells for cells, _ in rows]) if rows else np.zeros(0, dtype=np.int64)
    data = np.concatenate([data for _, data in rows]) if rows else np.zeros(0)
    return sparse.csr_array((data, cells, lengths), shape=(len(rows), n_cells))
