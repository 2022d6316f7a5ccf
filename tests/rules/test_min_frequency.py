from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import count_tables

from hitoku.errors import RuleError
from hitoku.model import Table
from hitoku.rules import MinFrequency


def counted(frequency, **parts):
    """One cell of value 100 with this many respondents."""
    return Table(value=[100.0], relations=np.zeros((0, 1)), frequency=[frequency], **parts)


@pytest.mark.parametrize(
    ("frequency", "zeros", "unsafe"),
    [
        pytest.param(0, False, False, id="nobody to recognise"),
        pytest.param(0, True, True, id="zeros on request"),
        pytest.param(1, False, True, id="one respondent"),
        pytest.param(4, False, True, id="just below"),
        pytest.param(5, False, False, id="exactly n is safe"),
        pytest.param(6, True, False, id="above"),
    ],
)
def test_counts_below_n_are_unsafe(frequency, zeros, unsafe):
    need = MinFrequency(5, zeros=zeros).assess(counted(frequency))
    assert bool(need.unsafe[0]) is unsafe
    assert need.lower[0] == need.upper[0] == need.width[0] == 0


@pytest.mark.parametrize(
    ("percent", "integer", "level"),
    [
        pytest.param(15, False, 15.0, id="percent of the value"),
        pytest.param(0.5, False, 0.5, id="as little as asked"),
        pytest.param(0.5, True, 1.0, id="at least one unit of a whole number"),
        pytest.param(150, True, 150.0, id="more than the value above"),
    ],
)
def test_range_matches_definition(percent, integer, level):
    need = MinFrequency(5, percent=percent).assess(counted(3, integer=integer))
    assert need.upper[0] == pytest.approx(level)
    assert need.lower[0] == pytest.approx(min(level, 100)), "never below zero, which everybody knows"


def test_weighted_count_decides_on_request():
    table = counted(2, measures={"weighted_count": np.array([7.5])})
    assert MinFrequency(5).assess(table).unsafe[0]
    assert not MinFrequency(5, weighted=True).assess(table).unsafe[0]
    assert MinFrequency(8, weighted=True).assess(table).unsafe[0]


def test_structural_zeros_are_never_unsafe():
    table = Table.from_array([[0, 0], [3, 9]], fixed=[True] + [False] * 8)
    assert MinFrequency(5, zeros=True).assess(table).unsafe.nonzero()[0].tolist() == [1, 2, 3, 6]


@pytest.mark.parametrize(
    ("rule", "table", "lacks"),
    [
        pytest.param(
            MinFrequency(5), Table(value=[1.0], relations=np.zeros((0, 1))), "respondents", id="no frequency"
        ),
        pytest.param(MinFrequency(5, weighted=True), counted(3), "weighted", id="no weights"),
    ],
)
def test_missing_counts_are_named(rule, table, lacks):
    with pytest.raises(RuleError, match=lacks) as caught:
        rule.assess(table)
    assert caught.value.fix


@given(table=count_tables(), n=st.integers(1, 12), more=st.integers(0, 5))
def test_higher_threshold_keeps_all_unsafe_cells(table, n, more):
    few, many = MinFrequency(n).assess(table), MinFrequency(n + more).assess(table)
    assert np.all(many.unsafe >= few.unsafe)
    assert many.unsafe.tolist() == [0 < count < n + more for count in table.value]
