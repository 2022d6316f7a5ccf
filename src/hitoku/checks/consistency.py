"""Whether the numbers of an output's evidence can be true together.

Evidence cannot be proved without the data; but tables add up, largest contributions are in order and no more
than their total, and a group has no more units than records. Who changes one number to get a better verdict
must change many others with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hitoku.checks import table_evidence as tables
from hitoku.model.arrays import Floats
from hitoku.model.tolerance import ADDITIVITY


def contradictions(kind: str, evidence: Mapping[str, Any], definition: Mapping[str, Any]) -> tuple[str, ...]:
    """Name what cannot be true together; nothing when the evidence is consistent.

    Examples
    --------
    >>> groups = {"labels": [["N"], ["S"]], "n_units": [12, 30], "n_records": [12, 13]}
    >>> contradictions("average", groups, {"value": "income"})
    ('1 group(s) with more units than records',)
    """
    if kind == "regression":
        return tuple(_regression(evidence))
    found = list(_tables(kind, evidence) if "codes" in evidence else _groups(evidence))
    if "largest" in evidence:
        found += _ordered(evidence)
        # Weights make a sum of more, or less, than its contributors.
        if definition.get("weight") is None:
            found += [*_contributions(evidence), *_sizes(kind, evidence, definition)]
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
    shape = [len(codes) + 1 for codes in evidence["codes"]]
    cube = n_units.reshape(shape)
    for axis in range(len(shape)):
        parts, whole = np.split(cube, [shape[axis] - 1], axis=axis)
        whole = whole.squeeze(axis)
        wrong = (whole > parts.sum(axis=axis)) | (whole < parts.max(axis=axis))
        if wrong.any():
            yield f"units do not fit their totals by {evidence['by'][axis]}"


def _groups(evidence: Mapping[str, Any]) -> Iterator[str]:
    n_units = np.asarray(evidence["n_units"])
    lists = [name for name, part in evidence.items() if isinstance(part, list) and name != "by"]
    uneven = [name for name in lists if len(evidence[name]) != len(evidence["labels"])]
    if uneven:
        yield f"not one entry for each group: {', '.join(uneven)}"
        return
    yield from _between(n_units, np.asarray(evidence["n_records"]))
    for name in ("low", "high", "alike", "fewest_holders", "most_holders", "freedom"):
        if name in evidence and np.any(np.asarray(evidence[name]) > n_units):
            yield f"{name}: more units than the group has"
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


def _contributions(evidence: Mapping[str, Any]) -> Iterator[str]:
    largest: Floats = np.asarray(evidence["largest"], dtype=np.float64)
    size: Floats = np.asarray(evidence["size"], dtype=np.float64)
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(largest.sum(axis=1) > size + slack):
        yield "largest contributions exceed their total"
    n = np.asarray(evidence.get("n_contributors", evidence["n_units"]))
    few = n <= largest.shape[1]
    if "n_contributors" in evidence and np.any(few & (size - largest.sum(axis=1) > slack)):
        yield "few contributors, who do not make up their total"


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


def _regression(evidence: Mapping[str, Any]) -> Iterator[str]:
    n_units = evidence["n_units"]
    if n_units > evidence["n_records"]:
        yield "more units than records"
    if evidence["freedom"] > n_units - evidence["n_parameters"]:
        yield "more degrees of freedom than units minus parameters"
    if any(n > n_units for n in evidence["support"]):
        yield "a term with more units than the model"
    # Leverages add up to the number of parameters: the largest is at least their mean.
    if evidence["leverage"] * evidence["n_leverage"] < evidence["n_parameters"] * (1 - 1e-6):
        yield "the largest leverage is below the mean leverage"
    if len(evidence["coefficient"]) != len(evidence["names"]):
        yield "not one coefficient for each term"
