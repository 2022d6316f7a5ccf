"""Statistics by group as evidence: one sort of the records, then one slice per group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.checks.output import Evidence
from hitoku.checks.records import Groups, Records, per_contributor
from hitoku.errors import DataError, ParameterError
from hitoku.model.arrays import Floats, Integers, Mask

TOP = 3
MOST_DECIMALS = 15


def group_evidence(records: Records, groups: Groups) -> Evidence:
    """Write who is in the groups: their codes and how many units each has."""
    _, _, n_units = per_contributor(groups.codes, records.unit, np.zeros(len(records)), len(groups))
    return {
        "by": list(groups.names),
        "labels": [list(label) for label in groups.labels],
        "n_units": n_units.tolist(),
        "n_records": np.bincount(groups.codes, minlength=len(groups)).tolist(),
    }


def contribution_evidence(groups: Groups, who: Integers, amounts: Floats) -> Evidence:
    """Write how large the largest contributors of each group are, by size, and what all sizes add up to."""
    group, amount, _ = per_contributor(groups.codes, who, amounts, len(groups))
    size = np.abs(amount)
    order = np.lexsort((-size, group))
    start = np.searchsorted(group[order], np.arange(len(groups)))
    rank = np.arange(len(order)) - start[group[order]]
    largest = np.zeros((len(groups), TOP))
    for place in range(TOP):
        chosen = order[rank == place]
        largest[group[chosen], place] = size[chosen]
    total = np.bincount(group, weights=size, minlength=len(groups))
    return {"largest": largest.tolist(), "size": total.tolist()}


def slices(groups: Groups) -> Iterator[NDArray[Any]]:
    """Yield the records of each group, by position."""
    order = np.argsort(groups.codes, kind="stable")
    ends = np.cumsum(np.bincount(groups.codes, minlength=len(groups)))
    yield from np.split(order, ends[:-1])


def with_withheld(evidence: Evidence, *unsafe: Mask) -> Evidence:
    """Withhold the groups that something is wrong with."""
    return {**evidence, "withheld": np.logical_or.reduce(unsafe).tolist()}


def published_groups(
    evidence: Mapping[str, Any], name: str, decimals: int | None = None
) -> dict[str, list[Any]]:
    """Return what leaves: the codes of the groups and one number each, rounded, None where withheld."""
    columns: dict[str, list[Any]] = {
        variable: [label[place] for label in evidence["labels"]]
        for place, variable in enumerate(evidence["by"])
    }
    columns[name] = [
        None if gone else value if decimals is None else round(value, decimals)
        for value, gone in zip(evidence["value"], evidence["withheld"], strict=True)
    ]
    return columns


def refuse_decimals(decimals: int | None) -> None:
    """Raise unless numbers can be rounded to so many decimals."""
    if decimals is None:
        return
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > MOST_DECIMALS:
        raise ParameterError(
            f"decimals must be a whole number, got {decimals!r}",
            where="decimals",
            fix="2 stands for hundredths, -3 for thousands; leave it out to publish all digits",
        )


def finite(values: Floats, what: str) -> list[float]:
    """Write numbers; one that is not finite has no meaning."""
    if not np.isfinite(values).all():
        raise DataError(
            f"{what} is not defined in {int((~np.isfinite(values)).sum())} group(s)",
            where=what,
            fix="leave out groups whose values or weights are all equal or add up to zero",
        )
    return [float(value) for value in values]
