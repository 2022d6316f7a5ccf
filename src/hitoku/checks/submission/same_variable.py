"""Columns that are the same variable under another name, or in another unit; a reader subtracts them.

What an output tells of a column it tells of a copy as well, and of the same in thousands.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hitoku.checks.ledger import NUMBERS, Measure, largest_of, ranks_told
from hitoku.checks.records import Records
from hitoku.model import Floats

# Columns that differ among the first so many records differ; most do.
SAMPLE = 1000
# Numbers that were multiplied and divided again are off by this much.
CLOSE = 1e-9


def multiples(records: Records, name: str) -> dict[str, float]:
    """Return the other columns that are a positive multiple of a column of numbers, with the multiple.

    Examples
    --------
    >>> import pandas as pd
    >>> given = pd.DataFrame({"pay": [2000, 3000, None], "k": [2.0, 3.0, None], "age": [30, 40, 50]})
    >>> multiples(Records.open(given), "pay")
    {'k': 0.001}
    """
    numeric = [field.name for field in records.table.schema if str(field.type).startswith(NUMBERS)]
    if name not in numeric:
        return {}
    sample = _numbers(records, name, SAMPLE)
    known = np.where(np.isfinite(sample), np.abs(sample), 0.0)
    place = int(known.argmax())
    if known[place] == 0:
        return {}
    found = {}
    for other in numeric:
        if other == name:
            continue
        its = _numbers(records, other, SAMPLE)
        factor = float(its[place] / sample[place])
        if not (np.isfinite(factor) and factor > 0 and _same(its, factor * sample)):
            continue
        if _same(_numbers(records, other), factor * _numbers(records, name)):
            found[other] = factor
    return found


def told_alike(tells: frozenset[str], records: Records) -> frozenset[str]:
    """Add to what an output tells the same of columns that are multiples."""
    found = set(tells)
    for name in tells:
        found |= multiples(records, name).keys()
    for value, numbers in ranks_told(tells).items():
        found |= {largest_of(n, other) for n in numbers for other in multiples(records, value)}
    return frozenset(found)


def measured_alike(measures: Mapping[str, Measure], records: Records) -> dict[str, Measure]:
    """Add to the amounts of an output those of columns that are multiples, in their unit."""
    found = dict(measures)
    for name, measure in measures.items():
        for other, factor in multiples(records, name).items():
            scaled = Measure.of(factor * measure.values, measure.kind, factor * measure.rounded)
            found.setdefault(other, scaled)
    return found


def _numbers(records: Records, name: str, most: int | None = None) -> Floats:
    column = records.table.column(name).slice(0, most)
    plain = column.cast("double", safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(plain, dtype=np.float64)


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=CLOSE, atol=0, equal_nan=True))
