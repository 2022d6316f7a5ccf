"""Statistics by group as evidence: one sort of the records, then one slice per group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitoku.checks.evidence import Evidence
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


def holder_evidence(records: Records, groups: Groups, values: Floats) -> Evidence:
    """Write how many units have each of two values, such as 0 and 1; nothing about other variables."""
    found = []
    for end in _both(values):
        own = values == end
        *_, count = per_contributor(groups.codes[own], records.unit[own], values[own], len(groups))
        found.append(count)
    return {"holders": np.transpose(found).tolist()} if found else {}


def refuse_counts(values: Floats, name: str) -> None:
    """Raise when a variable has two values only: its sums say how many units have which."""
    if _both(values):
        raise DataError(
            f"column {name!r} has two values only, so that its sums are counts",
            where="value",
            fix=f"ask for a frequency table with {name!r} among its variables",
        )


def _both(values: Floats) -> tuple[float, ...]:
    """Return the two values of a variable that answers a question, 0 and 1 or 1 and 2; else nothing.

    Of other amounts nobody is told that there are two, nor which.
    """
    low, high = float(values.min()), float(values.max())
    answers = low == round(low) and high == low + 1 and np.all((values == low) | (values == high))
    return (low, high) if answers else ()


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
    columns[own_name(name, columns)] = [
        None if gone else value if decimals is None else round(value, decimals)
        for value, gone in zip(evidence["value"], evidence["withheld"], strict=True)
    ]
    return columns


def own_name(name: str, columns: Mapping[str, Any]) -> str:
    """Return the name of a column of numbers beside columns of codes, one of which may be called the same.

    Examples
    --------
    >>> own_name("count", {"region": []}), own_name("count", {"count": []})
    ('count', 'count_')
    """
    while name in columns:
        name += "_"
    return name


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
