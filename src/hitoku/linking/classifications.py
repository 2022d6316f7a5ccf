"""Detection of columns that belong to one classification.

An attacker is assumed to know which town is in which county and which age bands overlap, but not which codes
of two unrelated columns occur together. Combinations of codes without records are therefore excluded only for
columns of one classification, and in doubtful cases: assuming that an attacker knows more never makes a
release look safer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from hitoku.model import Integers, Mask
from hitoku.tabulation import RecordAtoms

# Maximum probability that two unrelated columns are taken for one classification.
ERROR = 0.05
RANGE = re.compile(r"\D{0,12}?(\d+)\s*(?:(?:-|\N{EN DASH}|to|\.\.)\s*(\d+)|(\+))?\D{0,12}")


def determined_columns(atoms: RecordAtoms) -> dict[str, set[str]]:
    """Return, for each column, the columns that it determines, including itself."""
    return {
        name: {other for other in atoms.columns if atoms.determines(name, other)} for name in atoms.columns
    }


def finest(names: Sequence[str], atoms: RecordAtoms) -> list[str]:
    """Return the columns that no other one determines; of equivalent columns, the first."""
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
    """Return which pairs of codes an attacker cannot exclude.

    All pairs are possible for unrelated columns, and only those that occur for columns of one classification.
    Columns are considered to belong to one classification if all codes are ranges and occur only with ranges
    that overlap, if the pairs form components that share no code (a common grouping), or if a pair is missing
    that would be expected by chance.

    Parameters
    ----------
    records
        Combinations of codes, with their numbers of records.
    names
        Names of the two columns.
    classes
        For each column, the class of its code in every combination; codes that no table distinguishes are one
        class.

    Returns
    -------
    Mask
        Classes of the first column by classes of the second.

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
    """Return whether the codes of two columns are ranges that occur together only if they overlap."""
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
    """Return the ends of a range of integers; None if the code is not one."""
    found = RANGE.fullmatch(code.strip())
    if found is None:
        return None
    first = float(found[1])
    last = np.inf if found[3] else float(found[2] or first)
    return (first, last) if first <= last else None
