"""Whether counts and contributions can be true together.

Evidence cannot be proved without the data; but largest contributions are in order and no more than their
total, and a group has no more units than records. Who changes one number to get a better verdict must change
many others with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.model import ADDITIVITY, Floats, Integers


def compare_units(n_units: Integers, records: Integers) -> Iterator[str]:
    """Compare the units of groups with their records.

    Examples
    --------
    >>> list(compare_units(np.array([12, 30]), np.array([12, 13])))
    ['1 group(s) with more units than records']
    """
    more = n_units > records
    if more.any():
        yield f"{int(more.sum())} group(s) with more units than records"
    if np.any((n_units < 0) | ((n_units == 0) != (records == 0))):
        yield "groups with records and no units, or the other way round"


def compare_ranks(largest: Floats) -> Iterator[str]:
    """Refuse largest contributions that are not in order."""
    if np.any(largest < 0) or np.any(np.diff(largest, axis=1) > 0):
        yield "largest contributions are not in order"


def compare_contributions(
    largest: Floats,
    size: Floats,
    records: Integers,
    n_contributors: Integers | None = None,
    n_units: Integers | None = None,
) -> Iterator[str]:
    """Compare the largest contributions with what all of them add up to.

    Parameters
    ----------
    largest, size
        Per group the largest contributions, and the sum of all.
    records
        Per group.
    n_contributors
        Per group, where it is known; at most the records otherwise.
    n_units
        What the contributors must be; left out where some hold others.
    """
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(largest.sum(axis=1) > size + slack):
        yield "largest contributions exceed their total"
    n = records if n_contributors is None else n_contributors
    top = largest.shape[1]
    if n_contributors is not None:
        if np.any(n < 0) or np.any(n > records) or np.any((n == 0) != (records == 0)):
            yield "contributors without records, or more of them than records"
        if n_units is not None and not np.array_equal(n, n_units):
            yield "contributors are not the units, and nobody holds others"
        if np.any((n <= top) & (size - largest.sum(axis=1) > slack)):
            yield "few contributors, who do not make up their total"
    # Nobody else has more than the last of the largest.
    with np.errstate(over="ignore"):  # a forger's number may be beyond all numbers
        others = np.maximum(n - top, 0) * largest[:, -1]
    if np.any(size > largest.sum(axis=1) + others + slack):
        yield "the largest contributions are too small for so many contributors to make up their total"


def compare_sums(total: Floats, size: Floats, *, negative: bool = True) -> Iterator[str]:
    """Compare sums with the sizes they are made of: a dominant contributor hides behind a size too large."""
    slack = ADDITIVITY * np.maximum(1.0, size)
    if np.any(np.abs(total) > size + slack):
        yield "a sum exceeds the sizes of its contributions"
    if not negative and np.any(np.abs(total - size) > slack):
        yield "no amount is negative, and yet a sum is not the size of its contributions"


def compare_range(value: Floats, low: float, high: float, what: str) -> Iterator[str]:
    """Refuse values that a statistic does not have, whatever the data."""
    if np.any(value < low - ADDITIVITY) or np.any(value > high + ADDITIVITY):
        yield f"no {what} has such a value"
