from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import NeedError
from hitoku.evidence import AdjustedAudit, audit
from hitoku.metrics import protection_ratio
from hitoku.model import Bounds, Need, Protection, Release, Table

TABLE = Table.from_array([20, 10, 6])  # and 36
UNSAFE = TABLE.value == 10


def held(low, high, **levels):
    lower = np.where(UNSAFE, low, TABLE.value)
    upper = np.where(UNSAFE, high, TABLE.value)
    return protection_ratio(TABLE, Need(unsafe=UNSAFE, **levels), Bounds(lower=lower, upper=upper))[0]


@pytest.mark.parametrize(
    ("low", "high", "levels", "times"),
    [
        (6, 14, {"lower": 4.0, "upper": 4.0}, 1),
        (6, 14, {"lower": 2.0, "upper": 8.0}, 0.5),  # the worse side counts
        (6, np.inf, {"lower": 2.0, "upper": 8.0}, 2),
        (6, 14, {"width": 4.0}, 2),
        (6, 14, {"lower": 1.0, "width": 16.0}, 0.5),
        (10, 14, {"lower": 1.0}, 0),  # open above is no room below
        (6, 14, {}, np.inf),
        (10, 10, {}, 0),  # nothing asked, but known exactly
        (11, 14, {"lower": 2.0, "upper": 1.0}, 0),  # bounds that miss the value protect nothing
    ],
)
def test_worst_of_three_requirements_counts(low, high, levels, times):
    assert held(low, high, **levels) == times


@given(st.integers(0, 10), st.integers(10, 30), st.integers(0, 8), st.integers(0, 8), st.integers(0, 12))
def test_ratio_of_one_means_safe(low, high, lower, upper, width):
    safe = low <= 10 - lower and high >= 10 + upper and high - low >= width and high > low
    assert (held(low, high, lower=float(lower), upper=float(upper), width=float(width)) >= 1) == safe


def test_arrays_of_another_table_raise():
    with pytest.raises(NeedError, match="4 cells"):
        protection_ratio(TABLE, Need(unsafe=[True]), Bounds(lower=[0], upper=[1]))


@pytest.mark.parametrize(
    ("moved", "levels", "times"),
    [
        (4, {"lower": 2.0, "upper": 2.0}, 2),
        (-1, {"lower": 2.0, "upper": 2.0}, 0.5),
        (0, {"lower": 2.0, "upper": 2.0}, 0),
        (-3, {"upper": 2.0}, 0),  # down does not help
        (3, {"width": 4.0}, 1.5),  # both ways half the width
        (3, {}, np.inf),
        (0, {}, 0),
    ],
)
def test_adjusted_cell_protection_is_its_movement(moved, levels, times):
    shown = TABLE.value + np.array([-moved - 1, moved, 1, 0])
    none = np.zeros(4, dtype=bool)
    need = Need(unsafe=UNSAFE, **levels)
    found = audit(TABLE, need, Release.of(TABLE, Protection(withheld=none, secondary=none, value=shown)))
    assert isinstance(found, AdjustedAudit)
    assert found.reached.tolist() == [times]
    assert found.safe == (times >= 1)
