"""Whether the numbers of an output's evidence can be true together.

Evidence cannot be proved without the data; but tables add up, largest contributions are in order and no more
than their total, and a group has no more units than records. Who changes one number to get a better verdict
must change many others with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hitoku.checks.outputs.model_consistency import models
from hitoku.checks.outputs.statistic_consistency import concentrations, modes, percentiles, summaries
from hitoku.checks.principles import tables
from hitoku.model.arrays import Floats
from hitoku.model.tolerance import ADDITIVITY

# Kinds of output with more to compare than units and contributions.
STATISTICS: Mapping[str, Any] = {
    "summary": summaries,
    "percentile": percentiles,
    "mode": modes,
    "concentration": concentrations,
}
# Numbers of units or records.
COUNTS = ("n_units", "n_records", "low", "high", "alike", "fewest_holders", "most_holders", "n_tied")


def contradictions(kind: str, evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what cannot be true together; nothing when the evidence is consistent.

    Examples
    --------
    >>> groups = {"labels": [["N"], ["S"]], "n_units": [12, 30], "n_records": [12, 13]}
    >>> contradictions("average", groups, {"value": "income"})
    ('1 group(s) with more units than records',)
    """
    if kind == "regression":
        return tuple(models(evidence, definition))
    found = list(_tables(kind, evidence) if "codes" in evidence else _groups(evidence))
    if not found and kind in STATISTICS:
        found += STATISTICS[kind](evidence, definition)
    if "largest" in evidence:
        found += _ordered(evidence)
        # Weights make a sum of more, or less, than its contributors.
        if definition.get("weight") is None:
            found += [*_contributions(evidence, definition), *_sizes(kind, evidence, definition)]
    return tuple(found)


def _tables(kind: str, evidence: Mapping[str, Any]) -> Iterator[str]:
    # Made as tables, for a table that does not add up is refused.
    table, counts = tables.table_of(evidence), tables.counts_of(evidence)
    records, n_units = np.asarray(evidence["records"]), np.asarray(evidence["n_units"])
    if kind == "frequency_table" and not np.array_equal(table.value, counts.value):
        yield "the counts of the table are not its records"
    yield from _between(n_units, records)
    # Units of the whole can be fewer than those of its parts, for one unit may be in several; never more.
    if n_units[-1] == records[-1] and not np.array_equal(n_units, records):
        yield "every record is a unit in total, but not in every cell"
    cube = n_units.reshape([len(d) for d in table.dimensions])
    for axis, dimension in enumerate(table.dimensions):
        for code, below in dimension.groups:
            parts = cube.take([dimension.position[part] for part in below], axis)
            whole = cube.take(dimension.position[code], axis)
            if np.any((whole > parts.sum(axis=axis)) | (whole < parts.max(axis=axis))):
                yield f"units do not fit their totals by {dimension.name}"
                break


def _groups(evidence: Mapping[str, Any]) -> Iterator[str]:
    n_units = np.asarray(evidence["n_units"])
    lists = [name for name, part in evidence.items() if isinstance(part, list) and name != "by"]
    uneven = [name for name in lists if len(evidence[name]) != len(evidence["labels"])]
    if uneven:
        yield f"not one entry for each group: {', '.join(uneven)}"
        return
    if any(np.any(np.asarray(evidence[name]) < 0) for name in COUNTS if name in evidence):
        yield "a count below zero"
    yield from _between(n_units, np.asarray(evidence["n_records"]))
    for name in ("low", "high", "alike", "fewest_holders", "most_holders", "freedom"):
        if name in evidence and np.any(np.asarray(evidence[name]) > n_units):
            yield f"{name}: more units than the group has"
    if "holders" in evidence:
        counts = np.asarray(evidence["holders"]).T
        if np.any(counts.sum(axis=0) < n_units) or np.any(counts > np.asarray(evidence["n_records"])):
            yield "two values that more or fewer units have than there are"
    if "low" in evidence and np.any(np.asarray(evidence["low"]) + np.asarray(evidence["high"]) < n_units):
        yield "low, high: some units lie on neither side"


def _between(n_units: Any, records: Any) -> Iterator[str]:
    more = n_units > records
    if more.any():
        yield f"{int(more.sum())} group(s) with more units than records"
    if np.any((n_units < 0) | ((n_units == 0) != (records == 0))):
        yield "groups with records and no units, or the other way round"


def _ordered(evidence: Mapping[str, Any]) -> Iterator[str]:
    largest: Floats = np.asarray(evidence["largest"], dtype=np.float64)
    if np.any(largest < 0) or np.any(np.diff(largest, axis=1) > 0):
        yield "largest contributions are not in order"


def _contributions(evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    largest: Floats = np.asarray(evidence["largest"], dtype=np.float64)
    size: Floats = np.asarray(evidence["size"], dtype=np.float64)
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(largest.sum(axis=1) > size + slack):
        yield "largest contributions exceed their total"
    records = np.asarray(evidence["records" if "codes" in evidence else "n_records"])
    n = np.asarray(evidence.get("n_contributors", records))
    top = largest.shape[1]
    if "n_contributors" in evidence:
        if np.any(n < 0) or np.any(n > records) or np.any((n == 0) != (records == 0)):
            yield "contributors without records, or more of them than records"
        if definition.get("holding") is None and not np.array_equal(n, evidence["n_units"]):
            yield "contributors are not the units, and nobody holds others"
        if np.any((n <= top) & (size - largest.sum(axis=1) > slack)):
            yield "few contributors, who do not make up their total"
    # Nobody else has more than the last of the largest.
    others = np.maximum(n - top, 0) * largest[:, -1]
    if np.any(size > largest.sum(axis=1) + others + slack):
        yield "the largest contributions are too small for so many contributors to make up their total"


def _sizes(kind: str, evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> Iterator[str]:
    """Compare sums with the sizes they are made of: a dominant contributor hides behind a size too large."""
    if kind not in {"magnitude_table", "average"}:
        return
    value, size = np.asarray(evidence["value"]), np.asarray(evidence["size"])
    if definition.get("statistic") == "mean":
        value = value * np.asarray(evidence["n_records"])
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(np.abs(value) > size + slack):
        yield "a sum exceeds the sizes of its contributions"
    if not evidence.get("negative", True) and np.any(np.abs(value - size) > slack):
        yield "no amount is negative, and yet a sum is not the size of its contributions"
