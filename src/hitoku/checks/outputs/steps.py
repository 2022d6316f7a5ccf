"""Curves and tables in steps: only so many ends are published that every step between two may leave.

The evidence has one part for every place where a step could end, in order; those at which none ends are
withheld. What lies beyond the last end is no step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hitoku.checks.evidence import GroupEvidence
from hitoku.model import Integers, Mask

# A step, by the first and the last place in it.
Step = tuple[int, int]


def curves(evidence: GroupEvidence) -> Iterator[Integers]:
    """Yield the places of each group's parts; the last code of a label numbers them."""
    places: dict[tuple[str, ...], list[int]] = {}
    for at, label in enumerate(evidence.labels):
        places.setdefault(label[:-1], []).append(at)
    yield from (np.array(own) for own in places.values())


def choose_ends(n: int, fits: Callable[[int, int], bool]) -> list[int]:
    """End a step as soon as it fits.

    Parameters
    ----------
    n
        How many places there are.
    fits
        Tells whether what lies from one place to another may be a step.

    Examples
    --------
    >>> choose_ends(6, lambda first, last: last - first == 1)
    [1, 3, 5]
    """
    ends: list[int] = []
    first = 0
    for last in range(n):
        if fits(first, last):
            ends.append(last)
            first = last + 1
    return ends


def close_ends(n: int, ends: list[int], fits: Callable[[int, int], bool]) -> list[int]:
    """Add what is left over to the last steps, so that these end at the last place; nothing if none fits.

    Examples
    --------
    >>> close_ends(5, [1, 3], lambda first, last: last - first >= 1)
    [1, 4]
    """
    for kept in range(len(ends), -1, -1):
        first = ends[kept - 1] + 1 if kept else 0
        if first < n and fits(first, n - 1):
            return [*ends[:kept], n - 1]
        if first == n:
            return ends[:kept]
    return []


def published_steps(withheld: Mask) -> list[Step]:
    """Return the steps that end at what is published.

    Examples
    --------
    >>> published_steps(np.array([True, False, False, True]))
    [(0, 1), (2, 2)]
    """
    steps: list[Step] = []
    first = 0
    for last in np.flatnonzero(~withheld).tolist():
        steps.append((first, last))
        first = last + 1
    return steps
