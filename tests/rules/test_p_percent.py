from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import contributions, dimension_tuples, record_lists, table_from_records

from hitoku.errors import RuleError
from hitoku.model import Contributors, Table
from hitoku.rules import PPercent
from hitoku.testing import one_cell

SIZES = st.lists(st.integers(0, 1000), max_size=8)
PERCENTS = st.integers(1, 100)


@pytest.mark.parametrize(
    ("contributed", "unsafe", "level"),
    [
        pytest.param((80, 15, 5), True, 3.0, id="remainder 5 under 10% of 80"),
        pytest.param((80, 12, 8), False, 0.0, id="remainder exactly 10% is safe"),
        pytest.param((0.3, 0.1, 0.02, 0.01), False, 0.0, id="exactly 10%, not representable"),
        pytest.param((50,), True, 5.0, id="single contributor"),
        pytest.param((50, 50), True, 5.0, id="two contributors know each other"),
        pytest.param((), False, 0.0, id="empty cell has nothing to hide"),
        pytest.param((0, 0, 0), False, 0.0, id="nothing known of zeros within 10% of zero"),
    ],
)
def test_p_percent_rule_matches_definition(contributed, unsafe, level):
    need = PPercent(p=10).assess(one_cell(*contributed))
    assert bool(need.unsafe[0]) is unsafe
    assert need.upper[0] == pytest.approx(level)


@pytest.mark.parametrize(
    ("n", "unsafe", "level"),
    [
        pytest.param(1, False, 0.0, id="the second alone does not know 10 + 8"),
        pytest.param(2, True, 2.0, id="with the third only 8 are unknown, less than 10% of 100"),
    ],
)
def test_coalition_size_changes_unsafe_cells(n, unsafe, level):
    need = PPercent(p=10, n=n).assess(one_cell(100, 30, 10, 8, top=4))
    assert bool(need.unsafe[0]) is unsafe
    assert need.upper[0] == pytest.approx(level)


@given(data=st.data(), n=st.integers(1, 2), p=PERCENTS)
def test_rule_matches_coalition_inference(data, n, p):
    dimensions = data.draw(dimension_tuples())
    records = data.draw(record_lists(dimensions))
    need = PPercent(p, n).assess(table_from_records(dimensions, records))
    for cell, behind in enumerate(contributions(dimensions, records, "unit")):
        sizes = sorted((Fraction(size) for size in behind.values()), reverse=True)
        if not sizes:
            assert not need.unsafe[cell]
            continue
        # The others subtract what they know from the total: what is left is an estimate from above.
        estimate = sum(sizes) - sum(sizes[1 : n + 1])
        assert bool(need.unsafe[cell]) is (estimate - sizes[0] < Fraction(p, 100) * sizes[0])


@given(sizes=SIZES, p=PERCENTS)
def test_level_is_exactly_sufficient(sizes, p):
    """An inferable total that reaches the level leaves the second estimating the first p percent too high."""
    table = one_cell(*sizes)
    need = PPercent(p).assess(table)
    if need.unsafe[0]:
        first, second, *_ = [*sorted(sizes, reverse=True), 0]
        too_high = table.value[0] + need.upper[0] - second - first
        assert too_high == pytest.approx(p / 100 * first)


@given(sizes=SIZES, p=st.integers(1, 99), n=st.integers(1, 2))
def test_stricter_parameters_never_free_a_cell(sizes, p, n):
    table = one_cell(*sizes, top=4)
    mild = PPercent(p, n).assess(table)
    for strict in (PPercent(p + 1, n), PPercent(p, n + 1)):
        need = strict.assess(table)
        assert need.unsafe[0] >= mild.unsafe[0]
        assert need.upper[0] >= mild.upper[0] - 1e-9


@given(sizes=SIZES, extra=st.integers(0, 1000), p=PERCENTS)
def test_another_small_contributor_never_makes_a_cell_unsafe(sizes, extra, p):
    ranked = sorted(sizes, reverse=True)
    if len(ranked) >= 2 and extra <= ranked[1]:
        before, after = (PPercent(p).assess(one_cell(*c)) for c in (sizes, [*sizes, extra]))
        assert after.unsafe[0] <= before.unsafe[0]


@given(one=SIZES, other=SIZES, p=PERCENTS, n=st.integers(1, 2))
def test_sum_of_safe_cells_is_safe(one, other, p, n):
    rule = PPercent(p, n)
    if not (rule.assess(one_cell(*one)).unsafe[0] or rule.assess(one_cell(*other)).unsafe[0]):
        assert not rule.assess(one_cell(*one, *other)).unsafe[0]


@given(sizes=SIZES, p=PERCENTS, scale=st.sampled_from([0.01, 0.3, 7, 1e9]))
def test_result_is_independent_of_the_unit(sizes, p, scale):
    plain = PPercent(p).assess(one_cell(*sizes))
    scaled = PPercent(p).assess(one_cell(*(scale * size for size in sizes)))
    assert scaled.unsafe[0] == plain.unsafe[0]
    assert scaled.upper[0] == pytest.approx(scale * plain.upper[0])


def test_level_uses_scale_of_value():
    behind = Contributors(count=[3], largest=[[80.0, 15.0]], total=[100.0])
    table = Table(value=[5000.0], relations=np.zeros((0, 1)), units=behind)
    assert PPercent(10).assess(table).upper[0] == pytest.approx(150.0), "3% of the total, so 3% of the value"


@pytest.mark.parametrize(
    ("parts", "lower", "upper"),
    [
        pytest.param({}, 3.0, 3.0, id="free"),
        pytest.param({"lower": 98.5}, 1.5, 3.0, id="an outsider knows the lower end"),
        pytest.param({"upper": 101.0}, 3.0, 1.0, id="an outsider knows the upper end"),
        pytest.param({"lower": 100, "upper": 100}, 0.0, 0.0, id="an outsider knows the value"),
    ],
)
def test_levels_are_capped_at_known_bounds(parts, lower, upper):
    behind = Contributors(count=[3], largest=[[80.0, 15.0]], total=[100.0])
    table = Table(value=[100.0], relations=np.zeros((0, 1)), units=behind, **parts)
    need = PPercent(10).assess(table)
    assert need.unsafe[0]
    assert (need.lower[0], need.upper[0]) == pytest.approx((lower, upper))


def test_integer_level_is_at_least_one():
    behind = Contributors(count=[1], largest=[[4.0, 0.0]], total=[4.0])
    table = Table(value=[4.0], relations=np.zeros((0, 1)), units=behind, integer=True)
    assert PPercent(10).assess(table).upper[0] == 1.0


def test_missing_contributors_raise():
    with pytest.raises(RuleError, match="who contributes") as caught:
        PPercent(10).assess(Table.from_array([[20, 15], [72, 1]]))
    assert "tabulate" in caught.value.fix


@pytest.mark.parametrize(
    ("contributions", "at_limit", "unsafe"),
    [
        pytest.param((80, 12, 8), "safe", False, id="exactly 10% is safe by the definition"),
        pytest.param((80, 12, 8), "unsafe", True, id="and unsafe as Kikuchi and Minami print it"),
        pytest.param((80, 12, 9), "unsafe", False, id="more than 10% is safe for both"),
        pytest.param((80, 12, 7), "safe", True, id="less is unsafe for both"),
        pytest.param((), "unsafe", False, id="an empty cell has nothing to hide"),
    ],
)
def test_exact_p_percent_remainder_is_safe(contributions, at_limit, unsafe):
    need = PPercent(p=10, at_limit=at_limit).assess(one_cell(*contributions))
    assert bool(need.unsafe[0]) is unsafe


def test_invalid_at_limit_raises():
    with pytest.raises(RuleError):
        PPercent(p=10, at_limit="maybe")
