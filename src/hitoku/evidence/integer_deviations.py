"""Compact deviations of many cells from the true table: sixteen bytes per cell instead of a hundred."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import ItemsView, Iterator, Mapping

import numpy as np

from hitoku.model import Integers


class IntegerDeviations(Mapping[int, int]):
    """64-bit integers by position, sorted by position.

    Parameters
    ----------
    places
        Positions of changed cells among the suppressed, ascending and distinct.
    amounts
        Deviations.

    Examples
    --------
    >>> some = IntegerDeviations(np.array([2, 5]), np.array([7, -7]))
    >>> some[5], some.get(3, 0), dict(some)
    (-7, 0, {2: 7, 5: -7})
    """

    __slots__ = ("_amounts", "_places")

    def __init__(self, places: Integers, amounts: Integers) -> None:
        # Arrays of the standard library: reading a single number is faster than from numpy's.
        self._places = array("q", places.astype(np.int64).tobytes())
        self._amounts = array("q", amounts.astype(np.int64).tobytes())

    def __getitem__(self, place: int) -> int:
        at = bisect_left(self._places, place)
        if at < len(self._places) and self._places[at] == place:
            return self._amounts[at]
        raise KeyError(place)

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def items(self) -> ItemsView[int, int]:
        return _Pairs(self)


class _Pairs(ItemsView[int, int]):
    """Both arrays in parallel, without searching for each position."""

    _mapping: IntegerDeviations

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._mapping._places, self._mapping._amounts, strict=True)  # noqa: SLF001 - its own view
