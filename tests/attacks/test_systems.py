"""Relations of any shape, not only tables: odd circles, repeated sums, sums with minus signs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.oracles.enumeration import enumerated_bounds

from hitoku.attacks import Interval, derivable_cells
from hitoku.errors import TableError
from hitoku.model import Labels, Release


def system(seed, *, largest=5, open_totals=0.2):
    """Random parts, sums of some of them with a total each; parts and a few totals are withheld."""
    rng = np.random.default_rng(seed)
    n_parts, n_sums = rng.integers(3, 8), rng.integers(2, 7)
    relations = np.zeros((n_sums, n_parts + n_sums))
    for row in range(n_sums):
        size = rng.integers(2, min(4, n_parts) + 1)
        relations[row, rng.choice(n_parts, size, replace=False)] = rng.choice([1, 1, 1, -1], size)
    relations[np.arange(n_sums), n_parts + np.arange(n_sums)] = -1
    parts = rng.integers(0, largest + 1, n_parts)
    value = np.concatenate([parts, relations[:, :n_parts] @ parts])
    withheld = np.concatenate([rng.random(n_parts) < 0.9, rng.random(n_sums) < open_totals])
    release = Release(
        published=np.where(withheld, np.nan, value),
        relations=relations,
        labels=Labels.numbered(len(value)),
        lower=np.where(np.arange(len(value)) < n_parts, 0, -np.inf),
    )
    return value, release


def bounded(release, value, slack):
    return Release(
        published=release.published,
        relations=release.relations,
        labels=release.labels,
        lower=np.maximum(value - slack, np.where(np.isinf(release.lower), -np.inf, 0)),
        upper=value + slack,
    )


def cold_ends(release, cell):
    shown = ~release.withheld
    lower = np.where(shown, release.published, release.lower)
    upper = np.where(shown, release.published, release.upper)
    for sign in (1.0, -1.0):
        cost = np.zeros(release.n_cells)
        cost[cell] = sign
        zeros = np.zeros(release.relations.shape[0])
        found = linprog(cost, A_eq=release.relations, b_eq=zeros, bounds=np.c_[lower, upper])
        yield sign * found.fun if found.status == 0 else -sign * np.inf


@settings(deadline=None, max_examples=39)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1.0, 0.01, np.pi * 1e5]))
def test_real_bounds_match_linear_programs(seed, size):
    value, release = system(seed)
    scaled = Release(
        published=release.published * size,
        relations=release.relations,
        labels=release.labels,
        lower=release.lower,
    )
    bounds = Interval().bounds(scaled)
    assert np.all(bounds.lower <= value * size + 1e-7 * size)
    assert np.all(value * size <= bounds.upper + 1e-7 * size)
    for cell in np.flatnonzero(release.withheld):
        low, high = cold_ends(release, cell)
        assert bounds.lower[cell] / size == pytest.approx(low, abs=1e-6)
        assert bounds.upper[cell] / size == pytest.approx(high, abs=1e-6)


@settings(deadline=None, max_examples=52)
@given(seed=st.integers(0, 2**32 - 1), slack=st.integers(1, 3))
def test_integer_bounds_match_enumeration(seed, slack):
    value, release = system(seed, largest=3)
    release = bounded(release, value, slack)
    exact = enumerated_bounds(release, int(value.max()) + slack)
    bounds = Interval(integer=True).bounds(release)
    assert bounds.lower.tolist() == exact.lower.tolist()
    assert bounds.upper.tolist() == exact.upper.tolist()


@settings(deadline=None, max_examples=52)
@given(seed=st.integers(0, 2**32 - 1), far=st.integers(0, 4), integer=st.booleans())
def test_target_is_met_if_bounds_reach_it(seed, far, integer):
    value, release = system(seed)
    attack = Interval(integer=integer)
    bounds = attack.bounds(release)
    down, up = attack.meets(release, value - far, value + far)
    assert np.array_equal(down, bounds.lower <= value - far + 1e-6)
    assert np.array_equal(up, bounds.upper >= value + far - 1e-6)


def test_odd_cycle_is_solved_first():
    # x0 + x1, x1 + x2, x0 + x2 are published; y0 + y1 + x0, y1 + y2 + x1, y0 + y2 + y3 + x2 too.
    sums = [(0, 1), (1, 2), (0, 2), (3, 4, 0), (4, 5, 1), (3, 5, 6, 2)]
    value = np.array([2, 3, 4, 5, 1, 6, 7])
    relations = np.zeros((6, 13))
    for row, cells in enumerate(sums):
        relations[row, list(cells)] = 1
        relations[row, 7 + row] = -1
    totals = relations[:, :7] @ value
    release = Release(
        published=[*[np.nan] * 7, *totals], relations=relations, labels=Labels.numbered(13), integer=True
    )
    assert np.flatnonzero(derivable_cells(release)).tolist() == [0, 1, 2]
    for attack in (Interval(), Interval(mode="linear"), Interval(integer=True)):
        bounds = attack.bounds(release)
        assert bounds.lower[:3].tolist() == bounds.upper[:3].tolist() == [2, 3, 4]
        # y0 = 6 - t, y1 = t, y2 = 7 - t, y3 = 5 + 2 t with t in 0..6
        assert bounds.lower[3:7].tolist() == [0, 0, 1, 5]
        assert bounds.upper[3:7].tolist() == [6, 6, 7, 17]
    stopped = Interval(time_limit_s=0.0).bounds(release)
    assert stopped.unknown[:7].all()


def test_real_solution_without_integer_solution_raises():
    relations = np.array([[1, 1, 0, -1, 0, 0], [0, 1, 1, 0, -1, 0], [1, 0, 1, 0, 0, -1]])
    release = Release(
        published=[np.nan, np.nan, np.nan, 1, 1, 1], relations=relations, labels=Labels.numbered(6)
    )
    assert Interval().bounds(release).lower[:3].tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(TableError, match="no table fits"):
        Interval(integer=True).bounds(release)


def test_integer_bounds_without_limit():
    # x0 + x1 - x2, x1 + x2 - x0 = 2 and 0: x1 = 1, x0 - x2 = 1, and nothing holds the two below.
    relations = np.array([[1, 1, -1, -1, 0], [-1, 1, 1, 0, -1.0]])
    release = Release(published=[*[np.nan] * 3, 2, 0], relations=relations, labels=Labels.numbered(5))
    bounds = Interval(integer=True).bounds(release)
    assert bounds.lower[:3].tolist() == [1, 1, 0]
    assert bounds.upper[:3].tolist() == [np.inf, 1, np.inf]


def test_time_limit_applies_to_integer_bounds():
    rng = np.random.default_rng(3)
    relations = np.hstack([rng.integers(0, 2, (6, 14)), -np.eye(6)])
    value = rng.integers(0, 9, 14)
    release = Release(
        published=[*[np.nan] * 14, *(relations[:, :14] @ value)],
        relations=relations,
        labels=Labels.numbered(20),
    )
    stopped = Interval(integer=True, time_limit_s=0.0).bounds(release)
    assert stopped.unknown.any()
    exact = Interval(integer=True).bounds(release)
    assert np.all(stopped.lower <= exact.lower)
    assert np.all(exact.upper <= stopped.upper)
