"""Targets: which cells reach down or up to a value, up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.attacks import Interval
from hitoku.model import BOUND, Protection, Release, Table


@pytest.mark.parametrize(("more", "reached"), [(0.0, True), (0.4 * BOUND, True), (1.5 * BOUND, False)])
def test_target_is_met_up_to_rounding(more, reached):
    """Each cell of the square runs from 0 to 1, and rounding is a share of one."""
    table = Table.from_array(np.array([[1.0, 0.0], [0.0, 1.0]]), integer=False)
    release = Release.of(table, Protection.withhold(table, table.inner))
    nothing = np.full(9, np.nan)
    first = np.arange(9) == 0
    assert Interval().meets(release, nothing, np.where(first, 1.0 + more, np.nan))[1][0] == reached
    assert Interval().meets(release, np.where(first, -more, np.nan), nothing)[0][0] == reached


def test_count_bounds_are_met_with_large_values():
    """Row and column sums leave the last unsafe cell and the first of the second row 6 together."""
    table = Table.from_array(
        [
            [0, 27, 1, 11, 14, 3, 4],
            [3, 0, 27, 4_000_000, 0, 27, 20],
            [3, 20, 23, 34, 0, 1, 34],
            [15, 35, 2, 3, 4, 3, 11],
            [31, 23, 12, 0, 33, 23, 0],
            [0, 11, 21, 22, 29, 9_000_000_000, 31],
        ]
    )
    unsafe, secondary = [2, 6, 8, 26, 27, 29], [3, 14, 48, 53]
    withheld = np.isin(np.arange(table.n_cells), unsafe + secondary)
    release = Release.of(table, Protection.withhold(table, withheld))
    bounds = Interval().bounds(release)
    assert (bounds.lower[29], bounds.upper[29]) == (bounds.lower[8], bounds.upper[8]) == (0, 6)
    asked = np.isin(np.arange(table.n_cells), unsafe)
    low, high = np.where(asked, bounds.lower, np.nan), np.where(asked, bounds.upper, np.nan)
    assert [np.flatnonzero(met).tolist() for met in Interval().meets(release, low, high)] == [unsafe, unsafe]
    assert not any(met.any() for met in Interval().meets(release, low - 1, high + 1))
