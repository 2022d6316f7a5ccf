"""Optimal begins with a pattern that somebody gives it, and notes how it went on."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.attacks import Interval
from hitoku.errors import ProtectionError
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal, Trace
from hitoku.methods.optimal.instance import MAX_POINTS
from hitoku.model import Need, Release, Table
from hitoku.testing import covers


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.integers(1, 40, (4, 4, 3)))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 5, replace=False)] = True
    return table, Need(unsafe=unsafe, upper=np.where(unsafe, 6.0, 0.0))


@pytest.fixture(scope="module")
def best(problem):
    return Optimal(cost="value").protect(*problem)


def test_cheapest_start_is_returned_at_any_limit(problem, best):
    hurried = Optimal(cost="value", start=best, work_limit=1).protect(*problem)
    assert np.array_equal(hurried.withheld, best.withheld)
    assert not hurried.proven
    assert Optimal(cost="value", work_limit=1).protect(*problem).cost > best.cost


def test_start_pattern_is_completed_and_tidied(problem, best):
    table, need = problem
    for start in (need.unsafe, best.withheld & ~best.secondary, np.ones(table.n_cells, dtype=bool)):
        hurried = Optimal(cost="value", start=start, work_limit=60).protect(table, need)
        assert covers(Interval().bounds(Release.of(table, hurried)), table, need)
        assert best.cost <= hurried.cost < table.value.sum()


def test_completed_search_does_not_depend_on_start(problem, best):
    table, need = problem
    greedy = Greedy(cost="value").protect(table, need)
    for start in (greedy, ~np.zeros(table.n_cells, dtype=bool)):
        again = Optimal(cost="value", start=start).protect(table, need)
        assert again.proven
        assert again.canonical
        assert np.array_equal(again.withheld, best.withheld)


def test_start_suppressing_kept_cells_raises(problem):
    table, need = problem
    everything = np.ones(table.n_cells, dtype=bool)
    with pytest.raises(ProtectionError, match="must stay published"):
        Optimal(keep="margins", start=everything).protect(table, need)


def test_trace_improves_and_ends_with_the_search(problem, best):
    for protection in (best, Optimal(cost="value", work_limit=100).protect(*problem)):
        work, bound, cost = map(np.array, zip(*protection.trace, strict=True))
        assert np.all(np.diff(work) >= 0)
        assert np.all(np.diff(bound) >= 0)
        assert np.all(np.diff(cost) <= 0)
        assert np.all(bound <= best.cost + 1e-6)
        assert cost[-1] == pytest.approx(protection.cost)
        assert bound[-1] == pytest.approx(protection.cost * (1 - protection.gap))


def test_long_trace_is_thinned_and_keeps_ends():
    trace = Trace()
    for k in range(5 * MAX_POINTS):
        trace.note(k, float(k), 1e6)
    assert len(trace.points) <= MAX_POINTS + 1
    assert trace.points[0] == (0, 0.0, 1e6)
    assert trace.points[-1] == (5 * MAX_POINTS - 1, 5.0 * MAX_POINTS - 1, 1e6)
