"""Empty cells that a recipe withholds in its counts, and must not print as zero in its sums.

Where nobody has less than nothing, a sum of zero says that nobody is there, or that whoever is there has
nothing. Counts that withhold an empty cell, so that some of a group could be there, are of no use beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hitoku.evidence import Outcome
from hitoku.io.recipe import Recipe
from hitoku.model import Integers, Mask, Table
from hitoku.pipeline.recipe_tables import Built
from hitoku.rules import FROM_COUNTS, Given

# The file and the filter of a table, and the codes of a cell that are no totals.
Key = tuple[Any, ...]


class EmptyInCounts(Given):
    """Empty cells that are withheld in the counts: not to be worked out in the sums either."""

    __slots__ = ()
    name: ClassVar[str] = FROM_COUNTS


def sums_beside_counts(recipe: Recipe, groups: Sequence[Built]) -> Mask:
    """Return which groups of tables are sums of records that other groups count: they wait for these."""
    every = [list(_tables(group)) for group in groups]
    counted = {_records(recipe, name) for names in every for name in names if _counts(recipe, name)}
    waits = [
        not any(_counts(recipe, name) for name in names)
        and any(_records(recipe, name) in counted for name in names)
        for names in every
    ]
    return np.array(waits, dtype=np.bool_)


def withheld_empty_cells(
    recipe: Recipe, groups: Sequence[Built], done: Mapping[int, Mapping[str, Outcome]], sums: Built
) -> list[EmptyInCounts]:
    """Return a rule for the cells of a group of sums that are empty and withheld in counts; none without any.

    Parameters
    ----------
    recipe, groups
        The recipe and its groups of tables.
    done
        What came of the groups of counts, by their place.
    sums
        The group of sums.
    """
    withheld: set[Key] = set()
    for place, outcomes in done.items():
        release = outcomes["table"].release
        for name, (table, cells) in _tables(groups[place]).items():
            if _counts(recipe, name) and table.frequency is not None:
                empty = (table.frequency == 0) & release.withheld[cells]
                withheld |= set(_keys(recipe, name, table, np.flatnonzero(empty)))
    marked = np.zeros(sums.table.n_cells, dtype=np.bool_)
    for name, (table, cells) in _tables(sums).items():
        possible = np.flatnonzero((table.value == 0) & (table.lower >= 0))
        for cell, key in zip(possible, _keys(recipe, name, table, possible), strict=True):
            marked[cells[cell]] |= key in withheld
    return [EmptyInCounts(marked, percent=None)] if marked.any() else []


def _tables(group: Built) -> Mapping[str, tuple[Table, Integers]]:
    return group.parts or {group.name: (group.table, np.arange(group.table.n_cells))}


def _counts(recipe: Recipe, name: str) -> bool:
    keys = recipe.tables[name]
    return keys.data is not None and keys.value is None


def _records(recipe: Recipe, name: str) -> Key:
    keys = recipe.tables[name]
    kept = tuple(sorted((column, *sorted(codes)) for column, codes in (keys.where or {}).items()))
    return keys.data, kept


def _keys(recipe: Recipe, name: str, table: Table, cells: Integers) -> Iterator[Key]:
    totals = {dimension.name: dimension.total for dimension in table.dimensions}
    for cell in cells.tolist():
        codes = zip(table.labels.names, table.labels.codes_of(cell), strict=True)
        yield *_records(recipe, name), frozenset((v, code) for v, code in codes if code != totals.get(v))
