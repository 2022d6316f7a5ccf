"""Everything that can be derived exactly from several tables of the same records, listed.

Combinations of codes are put into classes by the published cells that they are in, straight from the codes.
A set follows from the publication if its 0/1 vector over the classes is a combination of the vectors of
published cells. All 0/1 vectors are tried, in whole numbers: slow and beyond doubt.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from tests.oracles.derivable_groups import derivable

from hitoku.model import Release

MOST_CLASSES = 16


def published_rows(
    combinations: pd.DataFrame, tables: Mapping[str, Mapping], parts: Mapping[str, Release]
) -> np.ndarray:
    """Return which combinations of codes are in each published cell: cells by combinations."""
    found = []
    for name, spec in tables.items():
        release = parts[name]
        kept = np.ones(len(combinations), dtype=bool)
        for column, codes in (spec.get("where") or {}).items():
            kept &= combinations[column].isin(list(codes)).to_numpy()
        for cell in np.flatnonzero(~release.withheld):
            inside = kept.copy()
            for column, code in zip(release.labels.names, release.labels.codes_of(int(cell)), strict=True):
                if code != "Total":
                    above = (spec.get("levels") or {}).get(column, column)
                    inside &= ((combinations[column] == code) | (combinations[above] == code)).to_numpy()
            found.append(inside)
    return np.array(found).reshape(len(found), len(combinations))


def small_sets(
    combinations: pd.DataFrame, tables: Mapping[str, Mapping], parts: Mapping[str, Release], n: int
) -> list[int] | None:
    """Return the numbers of records, below n, of sets that can be derived; None where there are too many.

    Parameters
    ----------
    combinations
        Every combination of codes that readers take for possible, with its number of ``records``.
    tables, parts
        For each table ``by``, ``where`` and ``levels``, the column above another one whose codes are cells,
        too; and what readers see of it.
    n
        Least number of records of a set; an empty one is harmless.
    """
    rows = published_rows(combinations, tables, parts)
    if not len(rows):
        return []
    classes, number = np.unique(rows, axis=1, return_inverse=True)
    records = np.bincount(number.ravel(), weights=combinations["records"])
    inside = classes.any(axis=0)
    # Where a published cell is zero, readers know that nobody is in any of its classes.
    zero = (classes @ records) == 0
    inside &= ~classes[zero].any(axis=0)
    classes, records = classes[:, inside], records[inside]
    if len(records) > MOST_CLASSES:
        return None
    sizes = derivable(classes.astype(np.int64)) @ records
    return sorted(int(size) for size in sizes if 0 < size < n)
