from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import magnitude_tables

from hitoku.errors import RuleError
from hitoku.model import Contributors, Table
from hitoku.rules import FewContributors
from hitoku.testing import one_cell


@pytest.mark.parametrize(
    ("contributions", "unsafe"),
    [
        pytest.param((), False, id="none"),
        pytest.param((7,), True, id="one"),
        pytest.param((7, 0), True, id="a contribution of zero counts"),
        pytest.param((7, 2, 1), False, id="exactly n is safe"),
    ],
)
def test_cells_below_n_are_unsafe(contributions, unsafe):
    assert bool(FewContributors(3).assess(one_cell(*contributions)).unsafe[0]) is unsafe


def test_range_is_a_percentage_of_the_value():
    need = FewContributors(3, percent=10).assess(one_cell(30, 20))
    assert (need.lower[0], need.upper[0]) == (5.0, 5.0)


def two_levels(units=4, holdings=1):
    parts = {"largest": [[10.0]], "total": [10.0]}
    return Table(
        value=[10.0],
        relations=np.zeros((0, 1)),
        units=None if units is None else Contributors(count=[units], **parts),
        holdings=None if holdings is None else Contributors(count=[holdings], **parts),
    )


@pytest.mark.parametrize(
    ("table", "level", "unsafe"),
    [
        pytest.param(two_levels(), "holding", True, id="four units of one holding"),
        pytest.param(two_levels(), "unit", False, id="counted as units"),
        pytest.param(two_levels(holdings=None), "holding", False, id="units where holdings are unknown"),
    ],
)
def test_level_matches_definition(table, level, unsafe):
    assert bool(FewContributors(3, level=level).assess(table).unsafe[0]) is unsafe


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(two_levels(units=None), id="holdings only"),
        pytest.param(two_levels(units=None, holdings=None), id="nobody"),
    ],
)
def test_missing_units_raise(table):
    with pytest.raises(RuleError) as caught:
        FewContributors(3, level="unit").assess(table)
    assert "tabulate" in caught.value.fix


@given(table=magnitude_tables(), n=st.integers(1, 6))
def test_counts_distinct_contributors(table, n):
    need = FewContributors(n).assess(table)
    assert need.unsafe.tolist() == [0 < count < n for count in table.units.count]
    assert np.all(FewContributors(n + 1).assess(table).unsafe >= need.unsafe)


def test_missing_percentage_sets_no_level():
    assert not FewContributors(3).assess(one_cell(9, 1)).upper.any()
    asked = FewContributors(3, percent=30).assess(one_cell(9, 1))
    assert (asked.lower.tolist(), asked.upper.tolist()) == ([3.0], [3.0])
