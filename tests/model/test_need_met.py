"""Is a need met? One predicate for bounds in floating point, and its exact twin in the proofs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.evidence.problem import Demand
from hitoku.model.bounds import Bounds
from hitoku.model.need import Need
from hitoku.model.table import Table
from hitoku.model.tolerance import BOUND
from hitoku.testing import covers

FAR = np.inf


def met(value, low, high, **levels):
    return bool(Need(unsafe=[True], **levels).met(np.array([value]), Bounds(lower=[low], upper=[high]))[0])


@pytest.mark.parametrize(
    ("low", "high", "levels", "enough"),
    [
        pytest.param(90, 110, {"lower": 10, "upper": 10}, True, id="both levels just reached"),
        pytest.param(91, 110, {"lower": 10, "upper": 10}, False, id="too close from below"),
        pytest.param(90, 109, {"lower": 10, "upper": 10}, False, id="too close from above"),
        pytest.param(100, 109, {"width": 9}, True, id="a width may lie on one side"),
        pytest.param(100, 108, {"width": 9}, False, id="too narrow"),
        pytest.param(-FAR, FAR, {"lower": 10, "upper": 10, "width": 50}, True, id="nothing is inferred"),
        pytest.param(99, 100, {}, True, id="nothing is asked, and it is not known"),
        pytest.param(100, 100, {}, False, id="nothing is asked, and it is known exactly"),
        pytest.param(100 - 1e-9, 100, {}, False, id="known up to rounding is known"),
        pytest.param(90 + 1e-6, 110, {"lower": 10}, True, id="short by rounding"),
        pytest.param(90 + 1e-4, 110, {"lower": 10}, False, id="short by more than rounding"),
    ],
)
def test_a_need_is_met_when_every_level_is_reached(low, high, levels, enough):
    assert met(100.0, low, high, **levels) is enough


def test_rounding_is_a_share_of_the_value_and_never_less_than_that_of_one():
    assert met(1e9, 1e9 - 999.99, 1e9, lower=1000)
    assert not met(1e9, 1e9 - 899, 1e9, lower=1000)
    assert met(0.0, 0.0, 1 - 0.9 * BOUND, upper=1)
    assert not met(0.0, 0.0, 1 - 1.1 * BOUND, upper=1)


def test_safe_cells_need_nothing_and_unknown_ones_are_not_protected():
    need = Need(unsafe=[True, True, False])
    bounds = Bounds(lower=[0, 0, 5], upper=[9, 9, 5], unknown=[False, True, True])
    assert need.met(np.array([5.0, 5.0, 5.0]), bounds).tolist() == [True, False, True]


def test_a_need_of_nothing_does_not_cover_a_published_cell():
    table = Table.from_array([5, 6])
    need = Need(unsafe=table.value == 5)
    assert not covers(Bounds(lower=table.value, upper=table.value), table, need)
    assert covers(Bounds(lower=table.value - 1, upper=table.value), table, need)


whole = st.integers(0, 6)


@given(value=st.integers(0, 20), below=whole, above=whole, lower=whole, upper=whole, width=st.integers(0, 12))
def test_the_exact_predicate_of_the_proofs_says_the_same(value, below, above, lower, upper, width):
    demand = Demand(Fraction(lower), Fraction(upper), Fraction(width))
    low, high = Fraction(-below), Fraction(above)
    exact = demand.low_enough(low) and demand.high_enough(high) and demand.wide_enough(low, high)
    assert met(float(value), value - below, value + above, lower=lower, upper=upper, width=width) is exact


def test_cells_may_be_asked_about_one_by_one():
    need = Need(unsafe=[True, True], lower=[3, 1])
    below, above, rounding = np.array([2.0, 2.0]), np.array([0.0, 0.0]), np.full(2, BOUND)
    assert need.met_by(below, above, rounding).tolist() == [False, True]
    assert [bool(need.met_by(below[i], above[i], rounding[i], i)) for i in (0, 1)] == [False, True]
    assert need.met_by(below[1:], above[1:], rounding[1:], np.array([1])).tolist() == [True]
