from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests.strategies import magnitude_tables

from hitoku.errors import RuleError
from hitoku.rules import PPercent, PriorPosterior
from hitoku.testing import one_cell

SIZES = st.lists(st.integers(0, 1000), max_size=8)


@pytest.mark.parametrize(
    ("contributed", "unsafe", "level"),
    [
        pytest.param((80, 15, 5), True, 11.0, id="50% of 5 is less than 10% of 80"),
        pytest.param((80, 24, 16), False, 0.0, id="50% of 16 is exactly 10% of 80"),
        pytest.param((50,), True, 10.0, id="single contributor"),
        pytest.param((), False, 0.0, id="empty cell has nothing to hide"),
    ],
)
def test_prior_posterior_rule_matches_definition(contributed, unsafe, level):
    need = PriorPosterior(p=10, q=50).assess(one_cell(*contributed))
    assert bool(need.unsafe[0]) is unsafe
    assert need.upper[0] == pytest.approx(level)


@given(table=magnitude_tables(), p=st.integers(1, 99), n=st.integers(1, 2))
def test_prior_of_100_percent_equals_p_percent_rule(table, p, n):
    prior, plain = PriorPosterior(p, 100, n).assess(table), PPercent(p, n).assess(table)
    assert_array_equal(prior.unsafe, plain.unsafe)
    assert_array_equal(prior.upper, plain.upper)
    assert_array_equal(prior.lower, plain.lower)


@given(sizes=SIZES, p=st.integers(1, 40), extra=st.integers(1, 9))
def test_only_the_ratio_matters(sizes, p, extra):
    q = p + extra
    one, two = (PriorPosterior(t * p, t * q).assess(one_cell(*sizes)) for t in (1, 2))
    assert one.unsafe[0] == two.unsafe[0]
    assert one.upper[0] == pytest.approx(two.upper[0])


@given(sizes=SIZES, p=st.integers(1, 99), extra=st.integers(1, 99))
def test_random_cells_match_definition(sizes, p, extra):
    q = min(p + extra, 100)
    need = PriorPosterior(p, q).assess(one_cell(*sizes))
    first, _, *rest = [*sorted(sizes, reverse=True), 0, 0]
    assert bool(need.unsafe[0]) is (Fraction(q * sum(rest), 100) < Fraction(p * first, 100))


@pytest.mark.parametrize(("p", "q"), [(20, 10), (10, 10), (0, 50), (10, 101), (10, float("nan"))])
def test_contradictory_parameters_raise(p, q):
    with pytest.raises(RuleError, match=r"p|q") as caught:
        PriorPosterior(p, q)
    assert caught.value.fix


def test_empty_coalition_raises():
    with pytest.raises(RuleError, match=r"give n as 1, 2, \.\.\."):
        PriorPosterior(p=10, q=50, n=0)
