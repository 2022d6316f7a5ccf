"""Cells of releases made apart that have the same records, by their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hitoku.model import ADDITIVITY, Integers
from hitoku.tabulation import LinkedTables

# For each group positions of cells, and numbers that mean the same in all groups.
Shared = list[tuple[Integers, Integers]]


def same_records(groups: Sequence[LinkedTables], prints: Sequence[Sequence[str]], shared: Shared) -> Shared:
    """Pair cells of different groups that have the same records and the same quantity.

    Two cells of one group with the same records are tied by its own sums, as far as a reader knows that the
    others are empty; so one of them is chosen: one that has its like by name, else the widest.

    Parameters
    ----------
    groups
        The groups, each with its tables.
    prints
        For each group the fingerprints of its cells, empty where there is none.
    shared
        For each group cells with names, and numbers that mean the same name in all groups.

    Returns
    -------
    list
        For each group positions of cells, and numbers: equal ones have the same records.
    """
    named: list[dict[int, set[int]]] = [{} for _ in groups]
    for own_names, (known_cells, keys) in zip(named, shared, strict=True):
        for cell, key in zip(known_cells.tolist(), keys.tolist(), strict=True):
            own_names.setdefault(cell, set()).add(key)
    classes: dict[tuple[str, str], dict[int, list[int]]] = {}
    for number, (group, own) in enumerate(zip(groups, prints, strict=True)):
        for cell, each in enumerate(own):
            if each:
                known = classes.setdefault((group.table.measure, each), {})
                known.setdefault(number, []).append(cell)
    extents = [_extents(group) for group in groups]
    found: list[list[tuple[int, int]]] = [[] for _ in groups]
    for place, of_class in enumerate(cells for cells in classes.values() if len(cells) > 1):
        names = {
            number: set().union(*(named[number].get(cell, set()) for cell in cells))
            for number, cells in of_class.items()
        }
        chosen: dict[int, int] = {}
        for number, cells in of_class.items():
            elsewhere = set().union(*(own for other, own in names.items() if other != number))
            by_name = [cell for cell in cells if named[number].get(cell, set()) & elsewhere]
            candidates = np.array(by_name or cells)
            chosen[number] = int(candidates[np.argmax(extents[number][candidates])])
        values = np.array([groups[number].table.value[cell] for number, cell in chosen.items()])
        if np.all(np.abs(values - values[0]) <= ADDITIVITY * np.abs(values[0])):
            for number, cell in chosen.items():
                found[number].append((cell, place))
    return [
        (np.array([cell for cell, _ in own], dtype=np.int64), np.array([n for _, n in own], dtype=np.int64))
        for own in found
    ]


def _extents(group: LinkedTables) -> Integers:
    """Count the leaf cells that every cell is made of, in the table that has most."""
    found = np.zeros(group.table.n_cells, dtype=np.int64)
    for table, cells in group.parts.values():
        extent = np.ones(1, dtype=np.int64)
        for dimension in table.dimensions:
            extent = np.multiply.outer(extent, np.diff(dimension.closure.indptr)).ravel()
        np.maximum.at(found, cells, extent)
    return found
