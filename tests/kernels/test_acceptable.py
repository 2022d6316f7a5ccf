"""Counting acceptable patterns against going through all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import Interval
from hitoku.kernels.acceptable import maximum_matching, spread, survey, weight, weights
from hitoku.model import Protection, Release, Table

PLENTY = 10**9


def listed(
    counts: np.ndarray, width: np.ndarray, forced: np.ndarray, allowed: np.ndarray
) -> list[np.ndarray]:
    """All acceptable patterns, each judged by the attack that audits use."""
    table = Table.from_array(counts)
    inner, free = np.flatnonzero(table.inner), np.flatnonzero(allowed & ~forced)
    found = []
    for marks in product([False, True], repeat=len(free)):
        pattern = forced.copy()
        pattern[free] = marks
        withheld = np.zeros(table.n_cells, dtype=bool)
        withheld[inner] = pattern
        wide = Interval().bounds(Release.of(table, Protection.withhold(table, withheld))).width[inner]
        if np.all(wide[pattern] >= width[pattern] - 1e-7):
            found.append(pattern)
    return found


@st.composite
def problems(draw):
    rows, columns = draw(st.sampled_from([(2, 3), (3, 2), (2, 4), (3, 3)]))
    n = rows * columns
    counts = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    width = np.array(draw(st.lists(st.sampled_from([0, 2, 4, 4]), min_size=n, max_size=n)))
    forced = (counts > 0) & (counts < draw(st.integers(1, 3)))
    allowed = np.array(draw(st.lists(st.sampled_from([True, True, True, False]), min_size=n, max_size=n)))
    return rows, columns, counts, width, forced, allowed | forced


def left(patterns=PLENTY):
    """How many patterns may be judged."""
    return np.full(1, patterns)


def tallied(problem, most):
    rows, columns, counts, width, forced, allowed = problem
    tally = np.zeros(len(counts) + 1, dtype=np.int64)
    survey(
        rows, columns, counts, width, forced, allowed, most, tally, np.ones(len(tally)), np.inf, -1, -1,
        left(),
    )  # fmt: skip
    return tally


@settings(max_examples=5, deadline=None)
@given(problem=problems(), data=st.data())
def test_acceptable_patterns_are_enumerated_once(problem, data):
    rows, columns, counts, width, forced, allowed = problem
    expected = listed(counts.reshape(rows, columns), width, forced, allowed)
    most = data.draw(st.integers(0, len(counts)))
    sizes = np.bincount([int(p.sum()) for p in expected], minlength=len(counts) + 1)
    sizes[most + 1 :] = 0
    assert tallied(problem, most).tolist() == sizes.tolist()
    # And each of them can be picked by its number.
    picked = {
        survey(
            rows, columns, counts, width, forced, allowed, size, np.zeros(len(counts) + 1, dtype=np.int64),
            np.ones(len(counts) + 1), np.inf, size, number, left(),
        ).tobytes()
        for size, n in enumerate(sizes)
        for number in range(n)
    }  # fmt: skip
    assert picked == {p.tobytes() for p in expected if p.sum() <= most}


@settings(max_examples=20, deadline=None)
@given(problem=problems(), extra=st.integers(0, 3))
def test_weight_sums_over_the_smallest_sizes(problem, extra):
    tally = tallied(problem, len(problem[2]))
    worth = 0.5 ** np.arange(len(tally))
    space = np.zeros(len(tally), dtype=np.int64)
    found = weight(*problem, extra, 0, worth, np.inf, space, left())
    if not tally.any():
        assert np.isinf(found)
        return
    smallest = int(np.flatnonzero(tally)[0])
    sizes = slice(smallest, smallest + extra + 1)
    expected = float(np.sum(tally[sizes] * worth[sizes]))
    assert found == expected
    assert weight(*problem, extra, 0, worth, expected, space, left()) == expected
    assert np.isinf(weight(*problem, extra, 0, worth, expected * 0.99, space, left()))
    assert np.isinf(weight(*problem, extra, smallest + extra + 1, worth, np.inf, space, left()))


TABLES = np.array([[6, 1, 5, 2, 4, 9], [5, 2, 5, 3, 3, 9], [7, 0, 5, 1, 5, 9], [3, 4, 5, 5, 1, 9]])


def weighed(*, least_only):
    forced, everywhere = (TABLES > 0) & (TABLES < 3), np.ones(6, dtype=bool)
    total = np.zeros(len(TABLES))
    problem = (2, 3, TABLES, np.full(6, 4), forced, everywhere, 2, 0, 0.3 ** np.arange(7.0))
    weights(*problem, least_only, total, left())
    return problem, total


def test_least_only_search_finds_the_same_minimum():
    _, total = weighed(least_only=False)
    _, least = weighed(least_only=True)
    assert len(set(total)) > 1
    assert least.min() == total.min()
    assert np.all((least == total) | np.isinf(least))


def test_spread_uses_tables_within_weight_limit():
    problem, total = weighed(least_only=False)
    for enough in (*total, 0.0):
        kept = TABLES[total <= enough]
        for cell in range(6):
            concerned = np.arange(6) == cell
            wide = len(kept) > 0 and np.ptp(kept[:, cell]) >= 4
            assert spread(*problem, enough, concerned, left()) == wide
    assert spread(*problem, total.max(), np.zeros(6, dtype=bool), left())


def test_search_stops_at_limit_and_counts_patterns():
    problem, total = weighed(least_only=False)
    used = left()
    weights(*problem, False, np.zeros(len(TABLES)), used)
    judged = PLENTY - int(used[0])
    again, enough = np.zeros(len(TABLES)), left(judged)
    weights(*problem, False, again, enough)
    assert enough[0] == 0
    assert again.tolist() == total.tolist()
    fewer = left(judged - 1)
    weights(*problem, False, again, fewer)
    assert fewer[0] < 0
    assert np.isinf(again[-1])
    assert not spread(*problem, np.inf, np.arange(6) == 0, left(1))


@settings(max_examples=39, deadline=None)
@given(cells=st.lists(st.booleans(), min_size=12, max_size=12))
def test_pairs_form_a_maximum_matching(cells):
    rows, columns = 3, 4
    grid = np.array(cells).reshape(rows, columns)
    wants = np.array(
        [sum(1 << j for j in range(columns) if grid[i, j]) for i in range(rows)]
        + [sum(1 << i for i in range(rows) if grid[i, j]) for j in range(columns)]
    )
    chains = np.empty((3, rows + columns), dtype=np.int64)

    def most(i: int, free: frozenset[int]) -> int:
        if i == rows:
            return 0
        return max([most(i + 1, free)] + [1 + most(i + 1, free - {j}) for j in free if grid[i, j]])

    expected = most(0, frozenset(range(columns)))
    assert maximum_matching(rows, wants, chains[0], chains[1], chains[2]) == expected
