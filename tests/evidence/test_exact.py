from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hitoku.evidence import Grid, common_denominator, exact_rows, solve, text, texts
from hitoku.model import rational
from hitoku.solver.solution import CountedWork


@st.composite
def systems(draw):
    """A sparse system with whole coefficients and a known solution; rows may repeat."""
    n_rows, n = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    coefficient = st.sampled_from([0, 0, 0, 1, -1, 1, -1, 2, -3])
    dense = [draw(st.lists(coefficient, min_size=n, max_size=n)) for _ in range(n_rows)]
    point = draw(st.lists(st.fractions(-5, 5, max_denominator=6), min_size=n, max_size=n))
    return dense, point


@given(systems())
def test_solvable_system_is_solved(system):
    dense, point = system
    right = [sum((a * x for a, x in zip(row, point, strict=True)), Fraction(0)) for row in dense]
    found = solve([{c: a for c, a in enumerate(row) if a} for row in dense], right)
    assert found is not None
    for row, expected in zip(dense, right, strict=True):
        assert sum(a * found.get(c, 0) for c, a in enumerate(row)) == expected


@given(systems(), st.lists(st.sampled_from([-1, 0, 1]), min_size=7, max_size=7))
def test_contradictory_system_is_detected(system, times):
    dense, point = system
    combined = [sum(t * row[c] for t, row in zip(times, dense, strict=False)) for c in range(len(point))]
    right = [sum((a * x for a, x in zip(row, point, strict=True)), Fraction(0)) for row in [*dense, combined]]
    right[-1] += 1  # the last row is a combination of the others, so it cannot have another sum
    assert solve([{c: a for c, a in enumerate(row) if a} for row in [*dense, combined]], right) is None


def test_solve_stops_at_its_limit_of_work():
    rows, right = [{0: 2, 1: 3}, {0: 3, 1: -1, 2: 1}, {1: 5, 2: 7}], [1, 1, 1]
    ample = CountedWork(limit=1e9)
    assert solve(rows, right, ample) == solve(rows, right)
    assert solve(rows, right, CountedWork(limit=ample.done / 2)) is None
    assert solve(rows, right, CountedWork(limit=0)) is None


def test_work_of_a_solve_grows_with_its_numbers():
    def work(coefficient):
        counted = CountedWork()
        assert solve([{0: coefficient, 1: 1}, {0: 3, 1: -1}], [1, 1], counted) is not None
        return counted.done

    assert work(2**640 + 1) > 3 * work(5)


@pytest.mark.parametrize("odd", [3, 2**62 + 1, 2**63 + 29, 2**70 + 1])
def test_common_denominator_is_exact(odd):
    numbers = [Fraction(1, odd), Fraction(5, 2**30), 7, Fraction(1, 11)]
    assert common_denominator(numbers) == lcm(odd, 2**30, 11)
    assert common_denominator([]) == 1


@pytest.mark.parametrize(
    ("value", "scale", "units"),
    [
        pytest.param([3, 4, 7], 1, [3, 4, 7], id="whole"),
        pytest.param([0.1, 0.2, 0.1 + 0.2], 10, [1, 2, 3], id="a sum of doubles is off by its last bit"),
        pytest.param([16847646.84, 0.0], 100, [1684764684, 0], id="cents"),
        pytest.param([0.000001, 2.0], 10**6, [1, 2_000_000], id="six decimals"),
        pytest.param([2.0**-10, 1.0], 2**10, [1, 1024], id="seven decimals do not fit: the bits themselves"),
        pytest.param([-1.5, 0.0], 10, [-15, 0], id="negative"),
        pytest.param([1e12 + 0.25, 1.0], 100, [100_000_000_000_025, 100], id="large with cents"),
    ],
)
def test_grid_is_the_smallest_that_holds_values(value, scale, units):
    grid = Grid.of(np.array(value))
    assert (grid.scale, grid.units) == (scale, units)


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        pytest.param(0.1 + 0.2, 0.3, True, id="rounding of doubles"),
        pytest.param(0.3, 0.301, False, id="another number"),
        pytest.param(1e15, 1e15 + 1, False, id="one in a million billions is another number"),
        pytest.param(1 / 3, np.nextafter(1 / 3, 1), False, id="on no grid every bit counts"),
        pytest.param(0.3, np.nan, False, id="withheld"),
    ],
)
def test_grid_equality_matches_expected(value, other, same):
    assert Grid.of(np.array([value])).same(np.array([other])).tolist() == [same]


def test_random_doubles_have_no_grid():
    value = np.random.default_rng(3).lognormal(3, 2, 50)
    grid = Grid.of(value)
    assert [float(grid.value(cell)) for cell in range(50)] == value.tolist()
    assert grid.scale > 10**6


@pytest.mark.parametrize(
    ("value", "adds_up"),
    [((0.1, 0.2, 0.3), True), ((1, 2, 3), True), ((1, 2, 4), False), ((1e15, 2.0**70, 2.0**70), False)],
)
def test_sums_are_exact(value, adds_up):
    assert Grid.of(np.array(value, dtype=float)).adds_up(sparse.csr_array([[1.0, 1.0, -1.0]])) is adds_up


def test_fractional_relations_become_integer():
    rows = exact_rows(sparse.csr_array([[0.1, 0.2, -1.0], [1.0, 0.0, -1.0]]))
    assert rows == [([0, 1, 2], [1, 2, -10]), ([0, 2], [1, -1])]


@pytest.mark.parametrize(
    ("number", "exact"),
    [(5.0, "5"), (1.67, "167/100"), (0.15 * 11401 - 422, "25763/20"), (1e15, "1000000000000000")],
)
def test_levels_equal_their_decimal_text(number, exact):
    assert rational(number) == Fraction(exact)


@given(st.fractions())
def test_exact_text_round_trips(number):
    assert Fraction(text(number)) == number


def test_public_text_omits_rounding_noise_and_suppressed_values():
    assert texts(np.array([0.1 + 0.2, np.nan, 12.0])) == ["0.3", "", "12"]
