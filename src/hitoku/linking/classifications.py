"""Columns of records that belong to one classification, as far as the records show it.

A reader knows which town is in which county and which age bands overlap, but not which of two unrelated
codes occur together. So combinations of codes that do not occur are excluded for columns of the first kind
only. Where it is doubtful they are excluded: that a reader knows more never makes a release safer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from hitoku.model import Integers, Mask
from hitoku.tabulation import RecordAtoms

# How often two unrelated columns may be taken for one classification.
ERROR = 0.05
RANGE = re.compile(r"\D{0,12}?(\d+)\s*(?:(?:-|\N{EN DASH}|to|\.\.)\s*(\d+)|(\+))?\D{0,12}")


def determined(atoms: RecordAtoms) -> dict[str, set[str]]:
    """Return for each column those that it determines, itself among them."""
    return {
        name: {other for other in atoms.columns if atoms.determines(name, other)} for name in atoms.columns
    }


def finest(names: Sequence[str], atoms: RecordAtoms) -> list[str]:
    """Leave out columns that others of these determine; of columns that say the same the first stays."""
    return [
        name
        for place, name in enumerate(names)
        if not any(
            atoms.determines(other, name) and not (atoms.determines(name, other) and where > place)
            for where, other in enumerate(names)
            if other != name
        )
    ]


def possible_pairs(records: RecordAtoms, names: tuple[str, str], classes: tuple[Integers, Integers]) -> Mask:
    """Return which codes of two columns a reader takes for possible together.

    All of them for unrelated columns, those that occur for columns of one classification: where all codes are
    ranges that meet, where the pairs fall into parts that share no code (so both columns have a common
    grouping), or where a pair is missing that would be expected by chance.

    Parameters
    ----------
    records
        Combinations of codes.
    names
        The columns.
    classes
        For each combination the number of its code, codes put together that no table tells apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from hitoku.tabulation import RecordAtoms
    >>> towns = pd.DataFrame({"county": ["A", "A", "B", "C"], "zone": ["X", "Y", "Y", "Z"]})
    >>> atoms = RecordAtoms.of(towns, ["county", "zone"])
    >>> numbers = tuple(column.number for column in atoms.columns.values())
    >>> possible_pairs(atoms, ("county", "zone"), numbers).astype(int)
    array([[1, 1, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    one, other = classes
    shape = int(one.max()) + 1, int(other.max()) + 1
    counts = np.zeros(shape)
    np.add.at(counts, (one, other), records.records)
    occur = counts > 0
    if occur.all() or _ranges_meet(records, names):
        return np.asarray(occur)
    parts, _ = sparse.csgraph.connected_components(
        sparse.bmat([[None, sparse.csr_array(occur)], [sparse.csr_array(occur.T), None]]), directed=False
    )
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    surprising = np.exp(-expected[~occur].max()) * occur.size < ERROR
    return np.asarray(occur if parts > 1 or surprising else np.ones(shape, dtype=bool))


def _ranges_meet(records: RecordAtoms, names: tuple[str, str]) -> bool:
    """Return whether two columns have ranges of numbers for codes, and ranges that occur together meet."""
    columns = [records.columns[name] for name in names]
    ends = []
    for column in columns:
        read = [_range(code) for code in column.codes if code is not None]
        if None in read or len(read) < len(column.codes) or len(read) < 2:
            return False
        ends.append(np.array(read, dtype=np.float64)[column.number])
    low, high = np.maximum(ends[0][:, 0], ends[1][:, 0]), np.minimum(ends[0][:, 1], ends[1][:, 1])
    wide = any(np.any(each[:, 0] < each[:, 1]) for each in ends)
    return bool(np.all(low <= high) and wide)


def _range(code: str) -> tuple[float, float] | None:
    """Read a code as the ends of a range of whole numbers."""
    found = RANGE.fullmatch(code.strip())
    if found is None:
        return None
    first = float(found[1])
    last = np.inf if found[3] else float(found[2] or first)
    return (first, last) if first <= last else None
