"""Which of several patterns of equal cost is taken: a function of the cells' codes, not of their values.

Every cell gets a small whole number from a hash of its codes. Of all cheapest patterns the one with the least
sum is taken, and of those the lexicographically smallest: at the first cell, in the order of the table, where
two patterns differ, the one that publishes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from hitoku.model import Integers, Labels, Mask

# Numbers below this. Wider ones would ask more of a solver's tolerance than it gives.
NUMBERS = 1000


def number(codes: Iterable[str]) -> int:
    """Draw the number of one cell from its codes.

    Examples
    --------
    >>> number(("R03", "B"))
    758
    """
    text = "\x1f".join(codes).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") % NUMBERS


def numbers(labels: Labels, cells: Integers) -> Integers:
    """Draw the numbers of some cells."""
    columns = [
        [codes[place] for place in labels.column(variable)[cells].tolist()]
        for variable, codes in enumerate(labels.codes)
    ]
    return np.array([number(codes) for codes in zip(*columns, strict=True)], dtype=np.int64)


def smaller(one: Mask, other: Mask) -> bool:
    """Tell whether one pattern comes before another of the same cost and sum.

    Examples
    --------
    >>> smaller(np.array([0, 1, 1], dtype=bool), np.array([1, 0, 0], dtype=bool))
    True
    """
    differ = np.flatnonzero(one != other)
    return bool(len(differ) and not one[differ[0]])
