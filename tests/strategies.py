"""Random tables for property tests: counts, magnitudes with their contributors, hierarchies, protections.

Tables are small, so that reference implementations are fast enough, and varied: empty cells, single
contributors and crowds occur side by side, so that a rule finds safe and unsafe cells in the same table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st

from hitoku.model import Contributors, Dimension, Hierarchy, Protection, Table, add_up


@dataclass(frozen=True)
class Record:
    """One line of microdata: the leaf code per variable, who it belongs to, and a value."""

    leaf: tuple[str, ...]
    unit: int
    holding: int
    value: float


@st.composite
def hierarchies(draw, max_leaves: int = 4, *, nested: bool = True) -> Hierarchy:
    """Draw a code tree of two levels or three; branches may have different depths, or a single child."""
    groups = draw(st.lists(st.integers(0, 3 if nested else 0), min_size=2, max_size=max(2, max_leaves)))
    tree: dict[str, list[str] | None] = {}
    spare = max_leaves - len(groups)
    for place, wanted in enumerate(groups):
        # A group with one child costs no more leaves than a group with none.
        children = min(wanted, spare + 1)
        spare -= max(children - 1, 0)
        name = chr(ord("A") + place)
        tree[name] = [f"{name}{child + 1}" for child in range(children)] or None
    return Hierarchy.from_tree(tree)


@st.composite
def dimension_tuples(
    draw, dims: int = 2, max_side: int = 4, *, hierarchical: bool = False
) -> tuple[Dimension, ...]:
    """Draw the variables of a table; with ``hierarchical`` the first has groups below its total."""
    trees = [draw(hierarchies(max_side, nested=hierarchical and axis == 0)) for axis in range(dims)]
    return tuple(Dimension.of(f"v{axis + 1}", tree) for axis, tree in enumerate(trees))


@st.composite
def count_tables(
    draw, max_side: int = 4, max_count: int = 12, dims: int = 2, *, hierarchical: bool = False
) -> Table:
    """Draw a table of counts with all its margins; zeros and small counts are common."""
    dimensions = draw(dimension_tuples(dims, max_side, hierarchical=hierarchical))
    shape = tuple(len(d.leaves) for d in dimensions)
    size = int(np.prod(shape))
    small = st.integers(0, min(2, max_count))
    cells = draw(st.lists(small | st.integers(0, max_count), min_size=size, max_size=size))
    value = add_up(np.array(cells).reshape(shape), dimensions)
    return Table(value=value, dimensions=dimensions, frequency=value, integer=True, measure="count")


@st.composite
def record_lists(
    draw, dimensions: Sequence[Dimension], max_contributors: int = 6, *, integer: bool = True
) -> list[Record]:
    """Draw microdata: a few lines per inner cell, skewed values, some units active in several cells."""
    records: list[Record] = []
    crowd = st.sampled_from([0, 1, 2, 3, *range(3, max_contributors + 1)])
    size = st.sampled_from([0, 1, 2, 3, 5, 8, 13, 40, 100, 700]) | st.integers(1, 50)
    for leaf in product(*(d.leaves for d in dimensions)):
        for value in draw(crowd.flatmap(lambda n: st.lists(size, min_size=n, max_size=n))):
            # One line in four belongs to a unit that has had a line before.
            unit = len(records)
            if records and draw(st.integers(0, 3)) == 0:
                unit = draw(st.integers(0, len(records) - 1))
            records.append(Record(leaf, unit, unit // 3, float(value) if integer else value * 0.1))
    return records


@st.composite
def magnitude_tables(
    draw,
    max_side: int = 3,
    dims: int = 2,
    *,
    max_contributors: int = 6,
    top: int = 3,
    hierarchical: bool = False,
    integer: bool = False,
    holdings: bool = False,
) -> Table:
    """Draw a table of magnitudes whose counts, largest contributions and totals come from records."""
    dimensions = draw(dimension_tuples(dims, max_side, hierarchical=hierarchical))
    records = draw(record_lists(dimensions, max_contributors, integer=integer))
    return table_from_records(dimensions, records, top=top, integer=integer, holdings=holdings)


def table_from_records(
    dimensions: Sequence[Dimension],
    records: Sequence[Record],
    *,
    top: int = 3,
    integer: bool = False,
    holdings: bool = False,
) -> Table:
    """Tabulate records the slow way: every line goes to every cell it belongs to."""
    units = contributions(dimensions, records, "unit")
    value = np.zeros([len(d.leaves) for d in dimensions])
    for record in records:
        value[tuple(d.leaves.index(c) for d, c in zip(dimensions, record.leaf, strict=True))] += record.value
    return Table(
        value=add_up(value, dimensions),
        dimensions=tuple(dimensions),
        frequency=np.array([len(cell) for cell in units]),
        units=_ranked(units, top),
        holdings=_ranked(contributions(dimensions, records, "holding"), top) if holdings else None,
        integer=integer,
    )


def contributions(
    dimensions: Sequence[Dimension], records: Sequence[Record], who: str
) -> list[dict[int, float]]:
    """For every cell, in the order of the table, what each unit or holding contributes."""
    leaves = [
        {code: {d.leaves[i] for i in d.closure[[row]].indices} for row, code in enumerate(d.codes)}
        for d in dimensions
    ]
    cells: list[dict[int, float]] = []
    for codes in product(*(d.codes for d in dimensions)):
        cell: dict[int, float] = defaultdict(float)
        for record in records:
            if all(leaf in below[code] for leaf, below, code in zip(record.leaf, leaves, codes, strict=True)):
                cell[getattr(record, who)] += record.value
        cells.append(dict(cell))
    return cells


def _ranked(cells: Sequence[dict[int, float]], top: int) -> Contributors:
    ranked = [(sorted(cell.values(), reverse=True) + [0.0] * top)[:top] for cell in cells]
    return Contributors(
        count=np.array([len(cell) for cell in cells]),
        largest=np.array(ranked),
        total=np.array([sum(cell.values()) for cell in cells]),
        negative=any(value < 0 for cell in cells for value in cell.values()),
    )


@st.composite
def protections(draw, table: Table, *, inner_only: bool = False) -> Protection:
    """Draw a pattern of withheld cells; with ``inner_only`` every margin stays published."""
    free = table.inner if inner_only else np.ones(table.n_cells, dtype=bool)
    if table.fixed is not None:
        free = free & ~table.fixed
    places = np.flatnonzero(free)
    marks = draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places)))
    withheld = np.zeros(table.n_cells, dtype=bool)
    withheld[places] = marks
    return Protection.withhold(table, withheld)
