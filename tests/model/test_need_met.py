"""Predicates that decide whether a need is met: in floating point, and exactly in the proofs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.errors import NeedError
from hitoku.evidence import Demand
from hitoku.model import BOUND, Attributions, Bounds, Need, Table, reaches
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
def test_need_is_met_if_all_levels_are(low, high, levels, enough):
    assert met(100.0, low, high, **levels) is enough


def test_rounding_is_relative_and_at_least_that_of_one():
    assert met(1e9, 1e9 - 999.99, 1e9, lower=1000)
    assert not met(1e9, 1e9 - 899, 1e9, lower=1000)
    assert met(0.0, 0.0, 1 - 0.9 * BOUND, upper=1)
    assert not met(0.0, 0.0, 1 - 1.1 * BOUND, upper=1)


def test_safe_cells_need_nothing_and_unknown_bounds_fail():
    need = Need(unsafe=[True, True, False])
    bounds = Bounds(lower=[0, 0, 5], upper=[9, 9, 5], unknown=[False, True, True])
    assert need.met(np.array([5.0, 5.0, 5.0]), bounds).tolist() == [True, False, True]


def test_need_without_levels_excludes_published_unsafe_cell():
    table = Table.from_array([5, 6])
    need = Need(unsafe=table.value == 5)
    assert not covers(Bounds(lower=table.value, upper=table.value), table, need)
    assert covers(Bounds(lower=table.value - 1, upper=table.value), table, need)


whole = st.integers(0, 6)


@given(value=st.integers(0, 20), below=whole, above=whole, lower=whole, upper=whole, width=st.integers(0, 12))
def test_exact_predicate_matches_the_float_one(value, below, above, lower, upper, width):
    demand = Demand(Fraction(lower), Fraction(upper), Fraction(width))
    low, high = Fraction(-below), Fraction(above)
    exact = demand.low_enough(low) and demand.high_enough(high) and demand.wide_enough(low, high)
    assert met(float(value), value - below, value + above, lower=lower, upper=upper, width=width) is exact


def test_single_cells_can_be_tested():
    need = Need(unsafe=[True, True], lower=[3, 1])
    below, above, rounding = np.array([2.0, 2.0]), np.array([0.0, 0.0]), np.full(2, BOUND)
    assert need.met_by(below, above, rounding).tolist() == [False, True]
    assert [bool(need.met_by(below[i], above[i], rounding[i], i)) for i in (0, 1)] == [False, True]
    assert need.met_by(below[1:], above[1:], rounding[1:], np.array([1])).tolist() == [True]


def test_scalar_level_skips_safe_cells_list_does_not():
    assert Need(unsafe=[True, False], lower=2.0).lower.tolist() == [2.0, 0.0]
    with pytest.raises(NeedError, match="a safe cell has a required upper"):
        Need(unsafe=[True, False], upper=[1.0, 1.0])


def test_rounding_counts_towards_levels_not_as_movement():
    # All numbers are exact in binary.
    assert reaches(1.5, 0.0, 2.0, 0.0, 0.0, 0.5)
    assert reaches(0.0, 1.5, 0.0, 2.0, 0.0, 0.5)
    assert reaches(1.0, 0.5, 0.0, 0.0, 2.0, 0.5)
    assert not reaches(0.25, 0.25, 0.0, 0.0, 0.0, 0.5)


def test_subset_test_ignores_other_cells():
    need = Need(
        unsafe=[True, True, False],
        lower=[1, 2, 0],
        upper=[3, 4, 0],
        width=[5, 6, 0],
        rules={"given": [True, True, False]},
    ).only(np.array([False, True, True]))
    levels = need.lower.tolist(), need.upper.tolist(), need.width.tolist()
    assert levels == ([0, 2, 0], [0, 4, 0], [0, 6, 0])
    assert need.unsafe.tolist() == [False, True, False]
    assert (need.why(0), need.why(1)) == ((), ("given",))


def test_merged_needs_keep_hits_of_repeated_rules():
    one = Need(unsafe=[True, False, False], lower=[2, 0, 0], rules={"zero": [True, False, False]})
    two = Need(unsafe=[True, True, False], lower=[1, 3, 0], rules={"zero": [False, True, False]})
    both = Need.merge([one, two])
    assert both.rules["zero"].tolist() == [True, True, False]
    assert both.lower.tolist() == [2, 3, 0]
    assert both.unsafe.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"lower": [-1.0, 0.0]}, "negative or not finite", id="below zero"),
        pytest.param({"width": [np.inf, 0.0]}, "negative or not finite", id="without end"),
        pytest.param({"rules": {"zero": [False, True]}}, "not marked unsafe", id="a rule hits a safe cell"),
        pytest.param(
            {"attributions": Attributions.none(3)}, "belong to another table", id="of another table"
        ),
    ],
)
def test_contradictory_need_raises(given, said):
    with pytest.raises(NeedError, match=said):
        Need(unsafe=[True, False], **given)


def test_need_repr_counts_cells_by_rule():
    need = Need(
        unsafe=[True, True, False], rules={"zero": [True, False, False], "given": [True, True, False]}
    )
    assert repr(need) == "Need(2 of 3 cells unsafe: zero 1, given 2)"
    assert repr(Need(unsafe=[False])) == "Need(0 of 1 cells unsafe)"
    assert "2 of 3 cells are unsafe" in need._repr_html_()
