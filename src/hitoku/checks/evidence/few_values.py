"""Cells of a table whose units have few different values of the variable that is added up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from hitoku.checks.evidence.groups import count_each
from hitoku.checks.evidence.trees import layers
from hitoku.checks.records import Groups
from hitoku.model import Dimension, Floats, Integers

# With more values than this a cell is one of amounts.
MOST = 10


def count_few(
    dimensions: Sequence[Dimension], groups: Groups, who: Integers, values: Floats
) -> dict[str, Integers]:
    """Find the cells with few different values, totals among them, as fields of the evidence of a table.

    Parameters
    ----------
    dimensions
        Variables of the table.
    groups
        The records by their codes.
    who, values
        Per record its unit and its value.
    """
    owner, _ = count_each(groups.codes, who, values)
    few = np.bincount(owner, minlength=len(groups)) <= MOST
    # Totals of a cell with many values have as many: only the others are looked at again.
    own = few[groups.codes]
    codes, unit, value = groups.codes[own], who[own], values[own]
    leaf = [
        np.array([d.position[label[at]] for label in groups.labels], dtype=np.int64)
        for at, d in enumerate(dimensions)
    ]
    shape = [len(d) for d in dimensions]
    found: dict[int, tuple[int, int, int]] = {}
    for chosen in product(*(list(layers(d)) for d in dimensions)):
        at = [layer[place] for layer, place in zip(chosen, leaf, strict=True)]
        inside = np.logical_and.reduce([each >= 0 for each in at])
        cell = np.ravel_multi_index([np.where(inside, each, 0) for each in at], shape)
        many = np.unique(cell[inside & ~few])
        kept = inside & ~np.isin(cell, many)
        mine = kept[codes]
        if mine.any():
            found |= _counted(cell[codes[mine]], unit[mine], value[mine])
    cells = sorted(found)
    columns = np.array([found[cell] for cell in cells], dtype=np.int64).reshape(len(cells), 3)
    return {
        "few_cells": np.array(cells, dtype=np.int64),
        "few_values": columns[:, 0],
        "few_most": columns[:, 1],
        "few_least": columns[:, 2],
    }


def _counted(cell: Integers, who: Integers, value: Floats) -> dict[int, tuple[int, int, int]]:
    """Count the values of cells, and the units that have the most frequent and the rarest."""
    owner, count = count_each(cell, who, value)
    start = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    n = np.diff(np.r_[start, len(owner)])
    most, least = np.maximum.reduceat(count, start), np.minimum.reduceat(count, start)
    rows = zip(*(column[n <= MOST].tolist() for column in (owner[start], n, most, least)), strict=True)
    return {at: (values, high, low) for at, values, high, low in rows}
