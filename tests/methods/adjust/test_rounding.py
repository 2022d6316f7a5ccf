"""Numbers on a grid: what follows from what, and neighbours that add up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import count_tables

from hitoku.methods.adjust import RoundingGrid, Sums, finest, round_controlled
from hitoku.model import Table


def kept_cells(table, draw):
    mask = draw(st.lists(st.sampled_from([False] * 5 + [True]), min_size=table.n_cells))
    return np.resize(np.array(mask), table.n_cells)


@settings(max_examples=39)
@given(data=st.data(), table=count_tables(max_side=4, hierarchical=True))
def test_rounded_choice_is_additive_and_keeps_cells(data, table):
    kept = kept_cells(table, data.draw)
    sums = Sums.of(table.relations, kept)
    assert sums is not None
    steps = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=table.n_cells, max_size=table.n_cells)))
    added = sums.add_up(steps.astype(float))
    assert not np.any(table.relations @ added)
    assert not added[kept].any()
    assert np.array_equal(added[sums.free], steps[sums.free])
    # As many cells may be chosen as there are ways to move: no freedom is lost.
    free = np.flatnonzero(~kept)
    rank = np.linalg.matrix_rank(table.relations[:, free].toarray()) if len(free) else 0
    assert sums.free.sum() == len(free) - rank


def test_two_hierarchies_over_one_total_tie_inner_cells():
    # a + b = t, c + d = t: with a, b, c chosen, d follows.
    relations = sparse.csr_array([[1.0, 1, 0, 0, -1], [0, 0, 1, 1, -1]])
    sums = Sums.of(relations, np.zeros(5, dtype=bool))
    assert sums.free.sum() == 3
    assert not np.any(relations @ sums.add_up(np.array([5.0, 7, 1, 2, 0])))


@pytest.mark.parametrize(
    "relations",
    [
        pytest.param([[1, 1, 1]], id="no sum"),
        pytest.param([[2, 1, -1]], id="twice a part"),
        pytest.param([[1, -1, 0], [-1, 1, 0]], id="in circles"),
        pytest.param([[1, 1, -1, -1]], id="two sums"),
    ],
)
def test_unsupported_relations_are_rejected(relations):
    matrix = sparse.csr_array(np.array(relations, dtype=float))
    assert Sums.of(matrix, np.zeros(matrix.shape[1], dtype=bool)) is None


@settings(max_examples=26)
@given(data=st.data(), table=count_tables(max_side=2))
def test_controlled_rounding_matches_enumeration(data, table):
    numbers = st.lists(st.floats(-3, 3).map(lambda x: round(x, 2)), min_size=4, max_size=4)
    point = Sums.of(table.relations, np.zeros(9, dtype=bool)).add_up(
        np.insert(np.array(data.draw(numbers)), [2, 4], 0.0)[[0, 1, 2, 3, 4, 5, 5, 5, 5]]
    )
    ends = (np.full(9, -50.0), np.full(9, np.inf))
    found = round_controlled(table.relations, point, ends, RoundingGrid(1))
    best = np.inf
    for whole in itertools.product(*((np.floor(x), np.ceil(x)) for x in point)):
        if not np.any(table.relations @ np.array(whole)):
            best = min(best, float(np.abs(np.array(whole) - point).sum()))
    assert not np.any(table.relations @ found)
    assert np.abs(found - point).sum() == pytest.approx(best, abs=1e-5)


def test_rounding_respects_bounds_or_gives_up():
    table = Table.from_array([1, 2], names=["v"])
    point = np.array([0.5, 0.5, 1.0])
    up = round_controlled(table.relations, point, (np.array([0.7, -9, -9]), np.full(3, 9.0)), RoundingGrid(1))
    assert up.tolist() == [1, 0, 1]
    none = round_controlled(
        table.relations, point, (np.array([0.2, 0.2, -9]), np.array([0.8, 0.8, 9])), RoundingGrid(1)
    )
    assert none is None


@pytest.mark.parametrize(
    ("value", "scale"),
    [
        pytest.param([1.0, 250.0], 10**6, id="small numbers: six decimals"),
        pytest.param([1.0, 2e11], 10**3, id="large numbers: three"),
        pytest.param([0.25, 1e9], 10**6, id="decimals that fit"),
        pytest.param([1 / 3, 2.0], None, id="no grid"),
        pytest.param([0.0001, 2e11], None, id="more decimals than doubles carry"),
    ],
)
def test_finest_grid_is_used(value, scale):
    grid = finest(np.array(value))
    assert (grid.scale if grid else None) == scale
