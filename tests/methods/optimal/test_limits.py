"""Optimal stops when it is told to, wherever it is by then, with a safe pattern and what is known of it."""

from __future__ import annotations

import numpy as np
import pytest

from hitoku.attacks import Interval
from hitoku.methods.optimal import (
    DOWN,
    UP,
    Budget,
    Instance,
    Optimal,
    ProtectionLevels,
    Stopped,
    heuristics,
    optimal,
)
from hitoku.methods.optimal.instance import WIDTH
from hitoku.model import Need, Release, Table
from hitoku.testing import covers


def cube(side: int = 4, n_unsafe: int = 5, **levels: float) -> tuple[Table, Need]:
    """A three-way table, no network, whose optimum takes all stages of a search."""
    rng = np.random.default_rng(5)
    table = Table.from_array(rng.integers(1, 40, (side, side, side)))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), n_unsafe, replace=False)] = True
    return table, Need(unsafe=unsafe, **{name: np.where(unsafe, size, 0.0) for name, size in levels.items()})


def flat() -> tuple[Table, Need]:
    rng = np.random.default_rng(8)
    table = Table.from_array(rng.integers(1, 60, (9, 9)))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 6, replace=False)] = True
    return table, Need(unsafe=unsafe, upper=np.where(unsafe, 9.0, 0.0))


PROBLEMS = [pytest.param(cube(width=6), id="three-way"), pytest.param(flat(), id="two-way")]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_work_limit_at_any_stage_returns_safe_pattern(problem):
    table, need = problem
    best = Optimal(cost="value").protect(table, need)
    assert best.proven
    assert best.canonical
    seen = set()
    for limit in (1, 4, 15, 40, 100, 250, 600, 1500, 10**6):
        method = Optimal(cost="value", work_limit=limit)
        hurried, again = method.protect(table, need), method.protect(table, need)
        assert np.array_equal(hurried.withheld, again.withheld)
        assert covers(Interval().bounds(Release.of(table, hurried)), table, need)
        assert hurried.cost * (1 - hurried.gap) - 1e-6 <= best.cost <= hurried.cost
        assert hurried.proven or hurried.gap > 0
        assert hurried.proven or not hurried.canonical
        if hurried.canonical:
            assert np.array_equal(hurried.withheld, best.withheld)
        seen.add((hurried.proven, hurried.canonical))
    assert (False, False) in seen
    assert (True, True) in seen


@pytest.mark.parametrize("problem", PROBLEMS)
def test_work_stays_within_its_limit(problem, monkeypatch):
    budgets = []
    minimise = optimal.minimise

    def noted(instance, grid, budget, start):
        budgets.append(budget)
        return minimise(instance, grid, budget, start)

    monkeypatch.setattr("hitoku.methods.optimal.optimal.minimise", noted)
    table, need = problem
    Optimal(cost="value", work_limit=30).protect(table, need)
    # The last call may push all levels of a network at once.
    assert budgets[0].work <= 30 + 2 * need.unsafe.sum()


def test_limit_during_tie_break_is_reported(monkeypatch):
    table, need = cube(width=6)
    best = Optimal(cost="unit").protect(table, need)

    def late(*_arguments):
        raise Stopped

    monkeypatch.setattr(optimal, "break_ties", late)
    hurried = Optimal(cost="unit").protect(table, need)
    assert hurried.proven
    assert not hurried.canonical
    assert hurried.cost == best.cost
    assert covers(Interval().bounds(Release.of(table, hurried)), table, need)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_interruption_at_any_report_returns_best_pattern(problem):
    table, need = problem
    best = Optimal(cost="value").protect(table, need)
    reports = []
    Optimal(cost="value").protect(table, need, lambda done, total: reports.append((done, total)))
    for turn in range(0, len(reports), 1 + len(reports) // 8):
        calls = iter(range(len(reports) + 1))

        def interrupt(_bound, _best, turn=turn, calls=calls):
            if next(calls) == turn:
                raise KeyboardInterrupt

        protection = Optimal(cost="value").protect(table, need, interrupt)
        assert covers(Interval().bounds(Release.of(table, protection)), table, need)
        assert protection.cost <= reports[turn][1] + 1e-6
        assert protection.cost >= best.cost
        assert protection.proven or protection.cost * (1 - protection.gap) <= best.cost + 1e-6


@pytest.mark.parametrize("stage", ["first_patterns", "search", "break_ties"])
def test_interruption_in_any_stage_returns_best_pattern(stage, monkeypatch):
    table, need = cube(width=6)

    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(optimal, stage, interrupted)
    protection = Optimal(cost="value").protect(table, need)
    assert protection.proven is (stage == "break_ties")
    assert not protection.canonical
    assert covers(Interval().bounds(Release.of(table, protection)), table, need)


def test_interruption_does_not_skip_the_last_check(monkeypatch):
    table, need = cube(width=6)
    calls = []
    meets = Interval.meets

    def interrupted(attack, *arguments):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return meets(attack, *arguments)

    monkeypatch.setattr(optimal.Interval, "meets", interrupted)
    assert Optimal(cost="value").protect(table, need).proven
    # The second time by the last check again, later ones by whoever looks at whole numbers.
    assert len(calls) >= 2


def test_large_table_starts_with_a_good_pattern(monkeypatch):
    # As if it were large: prices are shaken; the limit comes before the search gets anywhere.
    monkeypatch.setattr(heuristics, "LARGE", 1)
    table, need = cube(side=6, n_unsafe=12, lower=1, upper=6)
    hurried = Optimal(cost="value", work_limit=400).protect(table, need)
    assert not hurried.proven
    assert covers(Interval().bounds(Release.of(table, hurried)), table, need)
    assert hurried.withheld.sum() < 0.5 * table.n_cells


@pytest.mark.parametrize(
    ("levels", "rooms", "expected"),
    [
        pytest.param([(UP, 3.0)], (9.0, 9.0), (3.0, 0.0), id="up"),
        pytest.param([(UP, 3.0), (DOWN, 2.0)], (9.0, 9.0), (3.0, 2.0), id="both"),
        pytest.param([(WIDTH, 6.0)], (9.0, 9.0), (3.0, 3.0), id="a width is halved"),
        pytest.param([(WIDTH, 6.0)], (9.0, 1.0), (5.0, 1.0), id="little room below"),
        pytest.param([(WIDTH, 6.0)], (2.0, 9.0), (2.0, 4.0), id="little room above"),
        pytest.param([(UP, 5.0), (WIDTH, 6.0)], (9.0, 9.0), (5.0, 1.0), id="a side and a width"),
    ],
)
def test_cell_movement_matches_expected(levels, rooms, expected):
    sides, amounts = zip(*levels, strict=True)
    instance = Instance(
        cells=np.arange(1),
        relations=None,
        up=np.array([rooms[0]]),
        down=np.array([rooms[1]]),
        forced=np.ones(1, dtype=bool),
        weight=np.ones(1),
        tie=np.zeros(1, dtype=np.int64),
        levels=ProtectionLevels(
            np.zeros(len(levels), dtype=np.int64), np.array(sides, dtype=np.int8), np.array(amounts)
        ),
    )
    up, down = heuristics.required_movements(instance)
    assert (up[0], down[0]) == expected


def test_budget_counts_work_and_stops_at_limit():
    budget = Budget(used=lambda work: work / 3)
    for _ in range(3):
        budget.spend()
    with pytest.raises(Stopped):
        budget.spend()
    assert budget.work == 3
    free = Budget()
    free.spend(10**9)
    free.interrupted = True
    with pytest.raises(Stopped):
        free.spend()
