"""The attack in compiled code, where it can be held against its own parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hitoku.kernels.bits import positions
from hitoku.kernels.count_bounds import any_table
from hitoku.kernels.fibre import count, list_tables
from hitoku.kernels.random_walk import walk
from hitoku.kernels.shave import outer, shave, sift

EVERYTHING = 10**9
FEW = 3000


@st.composite
def games(draw):
    """Draw a table, what would be withheld in it, and how patterns compare; it may be a poor pattern."""
    rows, columns = draw(st.sampled_from([(2, 2), (2, 3), (3, 3), (3, 4)]))
    n = rows * columns
    counts = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    withheld = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    width = np.array(draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)))
    per_value = draw(st.sampled_from([0, 100]))
    fixed = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))) + (0 if per_value else 100)
    shape = np.array([rows, columns, draw(st.integers(0, 1)), draw(st.integers(2, 6)), per_value])
    unsafe = (counts >= shape[2]) & (counts < shape[3])
    assume(count(columns, counts, withheld | unsafe, FEW + 1) <= FEW)
    return shape, counts, withheld | unsafe, np.ones(n, dtype=bool), width, fixed


@settings(max_examples=195)
@given(game=games())
def test_shaving_matches_enumeration(game):
    shape, counts, withheld = game[:3]
    tables = list_tables(int(shape[1]), counts, withheld, FEW)
    matched = tables[sift(*game, tables, EVERYTHING) == 1]
    seen = np.zeros((len(counts), 100), dtype=bool)
    met, least, most, low, high, unknown, _ = shave(*game, seen, EVERYTHING)
    assert not unknown.any()
    assert met == (len(matched) > 0)
    for k in np.flatnonzero(withheld) if met else []:
        assert (least[k], most[k]) == (low[k], high[k]) == (matched[:, k].min(), matched[:, k].max())
        assert np.flatnonzero(seen[k]).tolist() == np.unique(matched[:, k]).tolist()


@settings(max_examples=130)
@given(game=games(), nodes=st.integers(1, 60))
def test_work_limit_leaves_valid_wider_intervals(game, nodes):
    shape, counts, withheld = game[:3]
    _, exact_low, exact_high, *_ = shave(*game, np.zeros((len(counts), 0), dtype=bool), EVERYTHING)
    met, least, most, low, high, unknown, _ = shave(*game, np.zeros((len(counts), 0), dtype=bool), nodes)
    first, _ = outer(shape, counts, withheld)
    for k in np.flatnonzero(withheld):
        assert first[k] <= low[k] <= exact_low[k] or exact_low[k] > exact_high[k]
        if met:
            assert low[k] <= exact_low[k] <= least[k] <= most[k] <= exact_high[k] <= high[k]
            assert unknown[k] or (least[k], most[k]) == (exact_low[k], exact_high[k])
        else:
            assert unknown[k] or exact_low[k] > exact_high[k]


@pytest.mark.parametrize(("rows", "columns", "fits"), [((3, 2), (4, 1), True), ((3, 2), (4, 2), False)])
def test_completion_is_found_if_it_exists(rows, columns, fits):
    found, table = any_table(2, np.zeros(4, dtype=np.int64), np.ones(4, dtype=bool), np.array(rows + columns))
    assert found == fits
    if fits:
        assert table.min() >= 0
        assert table.reshape(2, 2).sum(axis=1).tolist() == list(rows)
        assert table.reshape(2, 2).sum(axis=0).tolist() == list(columns)


def test_blocked_release_has_no_table():
    withheld = np.array([True, False, False, True])
    found, _ = any_table(2, np.array([0, 1, 1, 0]), withheld, np.array([2, 3, 3, 2]))
    assert not found


@given(seed=st.integers(0, 2**31 - 1))
def test_walk_stays_feasible_and_is_reproducible(seed):
    counts, move = np.array([3, 2, 1, 4]), np.array([[1, -1, -1, 1]])
    tables = list_tables(2, counts, np.ones(4, dtype=bool), 100)
    ends = tables.min(axis=0), tables.max(axis=0)
    runs = []
    for _ in range(2):
        x, found = counts.copy(), np.zeros((50, 4), dtype=np.int64)
        noted, made = walk(x, move, *ends, counts, counts, 40, seed, found)
        assert made == 40
        assert {tuple(t) for t in found[:noted].tolist()} <= {tuple(t) for t in tables.tolist()}
        runs.append(found[:noted].tolist())
    assert runs[0] == runs[1]


@given(mask=st.integers(0, 2**62 - 1))
def test_bits_are_counted_and_found(mask):
    assert positions(mask) == [k for k in range(62) if mask >> k & 1]
