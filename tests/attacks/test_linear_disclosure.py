from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.enumeration import determined, echelon
from tests.strategies import count_tables, protections

from hitoku.attacks import Interval, derivable_cells, null_dimension
from hitoku.feasibility import fixed_columns
from hitoku.model import Protection, Release, Table


@settings(deadline=None, max_examples=52)
@given(data=st.data(), dims=st.integers(1, 3), hierarchical=st.booleans())
def test_exposed_cells_match_exact_fractions(data, dims, hierarchical):
    table = data.draw(count_tables(max_side=3, dims=dims, hierarchical=hierarchical))
    release = Release.of(table, data.draw(protections(table)))
    matrix = release.relations[:, np.flatnonzero(release.withheld)].toarray()
    mask = derivable_cells(release)
    assert np.array_equal(mask[release.withheld], determined(matrix))
    assert not mask[~release.withheld].any()
    assert null_dimension(release) == matrix.shape[1] - len(echelon(matrix))
    # What adding and subtracting gives away is exact whatever else is known.
    bounds = Interval().bounds(release)
    assert np.array_equal(bounds.lower[mask], table.value[mask])
    assert np.array_equal(bounds.upper[mask], table.value[mask])


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1))
def test_arbitrary_coefficients_match_exact_fractions(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 7), rng.integers(1, 9)
    matrix = rng.choice([0, 0, 0, 1, -1, 0.5, 3, 0.1], shape)
    mask, rank = fixed_columns(sparse.csr_array(matrix))
    assert np.array_equal(mask, determined(matrix))
    assert rank == len(echelon(matrix))


@pytest.mark.parametrize(
    ("cells", "given_away", "moves"),
    [
        pytest.param([0], [0], 0, id="alone in its row"),
        pytest.param([0, 1, 4, 5], [], 1, id="a rectangle"),
        pytest.param([0, 1, 4, 5, 6], [6], 1, id="a rectangle and a tail"),
        pytest.param([0, 1, 4, 5, 15], [15], 1, id="grand total apart"),
        pytest.param([], [], 0, id="nothing withheld"),
    ],
)
def test_small_pattern_disclosure_matches_expected(cells, given_away, moves):
    table = Table.from_array(np.arange(1, 10).reshape(3, 3))
    release = Release.of(table, Protection.withhold(table, np.isin(np.arange(16), cells)))
    assert np.flatnonzero(derivable_cells(release)).tolist() == given_away
    assert null_dimension(release) == moves


def test_narrow_interval_is_not_linear_disclosure():
    # Row sums 0 + 0: both cells must be zero as nothing is negative, yet adding and subtracting cannot tell.
    table = Table.from_array([[0, 0, 5], [0, 4, 5], [3, 0, 1]])
    release = Release.of(table, Protection.withhold(table, np.isin(np.arange(16), [0, 1, 4, 5, 8, 9])))
    assert not derivable_cells(release).any()
    bounds = Interval().bounds(release)
    assert bounds.upper[[0, 1]].tolist() == [0, 0]


def test_rounded_third_is_treated_as_exact():
    # The second relation is a third of the first: together they leave the two cells free to move.
    relations = [[1.0, 3.0, -1.0, 0.0], [1 / 3, 1.0, 0.0, -1.0]]
    table = Table(value=[3.0, 2.0, 9.0, 3.0], relations=relations)
    release = Release.of(table, Protection.withhold(table, [True, True, False, False]))
    assert not derivable_cells(release).any()
    assert null_dimension(release) == 1
