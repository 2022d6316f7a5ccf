"""Bars: every part is on the strip, and what is not covered is drawn as missing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.io import bound, number, times
from hitoku.io.report import adjusted_bar, interval_bar
from hitoku.io.report.pictures import PictureSize

VALUES = st.floats(-1e9, 1e9, allow_nan=False)
LEVELS = st.floats(0, 1e6) | st.just(0.0)
AWAY = st.floats(0, 1e9) | st.just(0.0) | st.just(math.inf)


def on_the_strip(*places):
    return all(PictureSize.EDGE <= place <= PictureSize.BAR - PictureSize.EDGE for place in places)


@given(value=VALUES, down=AWAY, up=AWAY, lower=LEVELS, upper=LEVELS, width=LEVELS)
def test_marks_are_on_the_bar_in_order(value, down, up, lower, upper, width):
    bar = interval_bar(value, value - down, value + up, lower=lower, upper=upper, width=width)
    assert bar.have[0] <= bar.value <= bar.have[1]
    assert on_the_strip(bar.value, *bar.have)
    if bar.need:
        assert bar.need[0] <= bar.value <= bar.need[1]
        assert on_the_strip(*bar.need)
    for gap in bar.missing:
        assert bar.need[0] <= gap[0] < gap[1] <= bar.need[1]
    assert (bar.ruler is None) == (width == 0)


@given(value=VALUES, lower=LEVELS, upper=LEVELS, more=st.floats(0, 1e6))
def test_covered_requirement_has_no_missing_part(value, lower, upper, more):
    assert not interval_bar(
        value, value - lower - more, value + upper + more, lower=lower, upper=upper
    ).missing


@pytest.mark.parametrize(
    ("low", "high", "missing"),
    [
        pytest.param(40, 60, (), id="just covered"),
        pytest.param(45, 60, ("left",), id="too close below"),
        pytest.param(40, 52, ("right",), id="too close above"),
        pytest.param(50, 50, ("left", "right"), id="known exactly"),
    ],
)
def test_gaps_are_on_the_side_that_fails(low, high, missing):
    bar = interval_bar(50, low, high, lower=10, upper=10)
    sides = tuple("left" if end <= bar.value else "right" for _, end in bar.missing)
    assert sides == missing


@pytest.mark.parametrize(
    ("low", "high", "arrows"),
    [
        pytest.param(40, 60, (False, False), id="as required"),
        pytest.param(-900, 60, (True, False), id="far below"),
        pytest.param(40, math.inf, (False, True), id="without end"),
    ],
)
def test_interval_beyond_bar_has_arrow(low, high, arrows):
    bar = interval_bar(50, low, high, lower=10, upper=10)
    assert (bar.cut_low, bar.cut_high) == arrows


def test_width_ruler_is_drawn_to_scale():
    bar = interval_bar(4, 0, 12, width=9)
    unit = (bar.have[1] - bar.have[0]) / 12
    assert bar.ruler[1] - bar.ruler[0] == pytest.approx(9 * unit, abs=0.2)


def test_bar_without_interval_shows_requirement_and_value():
    bar = interval_bar(50, math.nan, math.nan, lower=10, upper=10)
    assert bar.have is None
    assert bar.need
    assert not bar.missing


@given(value=VALUES, moved=st.floats(-1e6, 1e6), down=LEVELS, up=LEVELS)
def test_adjusted_values_are_drawn_on_their_side(value, moved, down, up):
    bar = adjusted_bar(value, value + moved, down=down, up=up)
    assert on_the_strip(bar.value, bar.shown)
    assert (bar.shown - bar.value) * moved >= 0


@given(st.floats(0, 2, exclude_max=True))
def test_unmet_requirement_is_never_printed_as_met(quotient):
    assert (float(times(quotient)[:-1]) >= 1) == (quotient >= 1)


@given(st.floats(-1e12, 1e12) | st.integers(-(10**12), 10**12).map(float))
def test_printed_numbers_round_trip(value):
    full, short = (float(f(value).replace(",", "").replace("\N{MINUS SIGN}", "-")) for f in (number, bound))
    assert full == pytest.approx(value, rel=1e-11, abs=1e-15)
    assert short == pytest.approx(value, rel=6e-3, abs=1e-15)


def test_published_decimals_are_not_rounded_away():
    assert [number(v) for v in (7.001, 1234.5678, 0.1 + 0.2, 1e-12)] == [
        "7.001",
        "1,234.5678",
        "0.3",
        "0.000000000001",
    ]
