"""Optimal is a function: same cells, same pattern; and it says so when it stops early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ParameterError
from hitoku.methods import CostScale, costs, kept_cells
from hitoku.methods.optimal import Budget, Optimal, Relaxation, number, numbers, smaller
from hitoku.model import Labels, Need, Protection, Release, Table
from hitoku.testing import covers


def medium(seed: int = 7, side: int = 9) -> tuple[Table, Need]:
    """A two-way table whose optimum takes a search."""
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 60, (side, side)))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 6, replace=False)] = True
    level = np.where(unsafe, np.ceil(table.value / 2), 0.0)
    return table, Need(unsafe=unsafe, lower=np.minimum(level, table.value), upper=level)


def three_way(seed: int = 3) -> tuple[Table, Need]:
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 30, (3, 3, 3)))
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 3, replace=False)] = True
    return table, Need(unsafe=unsafe, width=4)


def shuffled(table: Table, need: Need, order: np.ndarray) -> tuple[Table, Need]:
    """The same cells and relations in another order; labels go along."""
    positions = np.stack([table.labels.column(v) for v in range(len(table.labels.names))], axis=1)
    other = Table(
        value=table.value[order],
        relations=table.relations[::-1][:, order],
        labels=Labels(table.labels.names, table.labels.codes, positions[order]),
        integer=table.integer,
    )
    return other, Need(
        unsafe=need.unsafe[order], lower=need.lower[order], upper=need.upper[order], width=need.width[order]
    )


@pytest.mark.parametrize("problem", [medium(), three_way()], ids=["two-way", "three-way"])
@pytest.mark.parametrize("cost", ["unit", "value"])
def test_cell_and_relation_order_does_not_matter(problem, cost):
    table, need = problem
    expected = Optimal(cost=cost).protect(table, need)
    order = np.random.default_rng(11).permutation(table.n_cells)
    other = Optimal(cost=cost).protect(*shuffled(table, need, order))
    assert expected.proven
    assert other.proven
    assert np.array_equal(other.withheld, expected.withheld[order])


@settings(max_examples=39)
@given(data=st.data(), table=count_tables(max_side=5, max_count=20), cost=st.sampled_from(["unit", "value"]))
def test_kernel_matches_general_search(data, table, cost):
    unsafe = table.inner & (table.value < data.draw(st.integers(1, 6)))
    sizes = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 12)))
    lower = np.where(unsafe, np.minimum(sizes[0], table.value), 0.0)
    need = Need(
        unsafe=unsafe,
        lower=lower,
        upper=np.where(unsafe, sizes[1], 0.0),
        width=np.where(unsafe, sizes[2], 0.0),
    )
    ceiling = data.draw(st.sampled_from([np.inf, 3.0, 10.0]))
    table = replace(table, upper=table.value + ceiling)
    method = Optimal(cost=cost, keep="margins")
    stay, nothing = kept_cells(table, "margins"), np.zeros(table.n_cells, dtype=bool)
    price = costs(table, cost)
    small = method._small(table, need, price, stay, nothing)
    try:
        general = method._general(table, need, price, stay, nothing, Budget())
    except NeedError:
        assert small is None
        return
    assert small is not None
    assert np.array_equal(small.withheld, general.withheld)


def test_work_limit_returns_safe_pattern_and_gap():
    table, need = medium()
    best = Optimal(cost="value").protect(table, need)
    hurried = Optimal(cost="value", work_limit=1).protect(table, need)
    again = Optimal(cost="value", work_limit=1).protect(table, need)
    assert not hurried.proven
    assert hurried.gap > 0
    assert np.array_equal(hurried.withheld, again.withheld)
    assert covers(Interval().bounds(Release.of(table, hurried)), table, need)
    assert hurried.cost * (1 - hurried.gap) <= best.cost <= hurried.cost


def test_time_limit_returns_safe_pattern():
    table, need = medium()
    hurried = Optimal(cost="value", time_limit_s=1e-9).protect(table, need)
    assert not hurried.proven
    assert covers(Interval().bounds(Release.of(table, hurried)), table, need)


def test_gap_parameter_is_respected():
    table, need = medium()
    best = Optimal(cost="value").protect(table, need)
    near = Optimal(cost="value", gap=0.2).protect(table, need)
    assert near.cost * 0.8 <= best.cost <= near.cost
    assert near.proven or 0 < near.gap <= 0.2


@pytest.mark.parametrize("call", range(4))
def test_interruption_returns_the_best_known_pattern(monkeypatch, call):
    table, need = medium()
    count = iter(range(10**6))
    solve = Relaxation.solve

    def interrupted(relaxation, *enough):
        if next(count) == call * 2:
            raise KeyboardInterrupt
        return solve(relaxation, *enough)

    monkeypatch.setattr(Relaxation, "solve", interrupted)
    protection = Optimal(cost="value").protect(table, need)
    assert not protection.proven
    assert covers(Interval().bounds(Release.of(table, protection)), table, need)


def test_progress_bounds_converge_to_the_cost():
    table, need = medium()
    seen: list[tuple[float, float]] = []
    protection = Optimal(cost="value").protect(
        table, need, progress=lambda done, total: seen.append((done, total))
    )
    assert seen
    assert all(bound <= best + 1e-6 for bound, best in seen)
    assert all(bound <= protection.cost + 1e-6 for bound, _ in seen)
    assert all(best >= protection.cost - 1e-6 for _, best in seen)


def test_forced_and_kept_cells_are_respected():
    table, need = medium()
    free = Optimal(cost="unit").protect(table, need)
    stays = np.flatnonzero(free.secondary)[0]
    goes = np.flatnonzero(~free.withheld)[5]
    place = np.arange(table.n_cells)
    other = Optimal(cost="unit", keep=place == stays, withhold=place == goes).protect(table, need)
    assert not other.withheld[stays]
    assert other.withheld[goes]
    assert other.cost >= free.cost
    assert covers(Interval().bounds(Release.of(table, other)), table, need)


def test_real_costs_are_not_rounded():
    # Two ways round the unsafe cell: one a millionth cheaper than the other.
    table = Table.from_array([[5, 50, 50], [50, 50, 50], [50, 50, 50]])
    need = Need(unsafe=table.value == 5, width=5)
    cost = np.full(table.n_cells, np.pi)
    cheap = np.ravel_multi_index(([0, 2, 2], [1, 0, 1]), (4, 4))
    cost[cheap] -= 1e-6
    protection = Optimal(cost=cost, keep="margins").protect(table, need)
    assert protection.proven
    assert set(np.flatnonzero(protection.secondary)) == set(cheap)


@pytest.mark.parametrize(
    ("table", "need", "keep", "message"),
    [
        pytest.param(
            Table.from_array([[5, 50], [50, 50]]),
            Need(unsafe=[True] + [False] * 8, width=200),
            "margins",
            "every cell that may be withheld",
            id="not enough around it",
        ),
        pytest.param(
            Table.from_array([[5, 50], [50, 50]], upper=np.array([6.0, *[np.inf] * 8])),
            Need(unsafe=[True] + [False] * 8, upper=[3.0] + [0.0] * 8),
            None,
            "is assumed to know them too closely",
            id="bounds known to the outsider",
        ),
        pytest.param(
            Table.from_array([[5, 50], [50, 50]]),
            Need(unsafe=[True] + [False] * 8, width=2),
            np.array([False] + [True] * 8),
            "no other cell that may be withheld",
            id="everything else stays",
        ),
        pytest.param(
            Table.from_array([[5, 50], [50, 50]]),
            Need(unsafe=[True] + [False] * 8, width=2),
            np.ones(9, dtype=bool),
            "may not be withheld",
            id="unsafe and kept",
        ),
    ],
)
def test_unattainable_need_names_the_cell(table, need, keep, message):
    with pytest.raises(NeedError, match=message) as caught:
        Optimal(keep=keep).protect(table, need)
    assert "row=1, column=1" in str(caught.value)
    assert caught.value.fix
    assert "50" not in str(caught.value)


def test_safe_table_costs_nothing():
    table = Table.from_array([[5, 50], [50, 50]])
    protection = Optimal().protect(table, Need(unsafe=np.zeros(9, dtype=bool)))
    assert protection.proven
    assert not protection.withheld.any()


def test_unsafe_cell_without_levels_is_not_exact():
    table = Table.from_array([[5.5, 50.0, 3.0], [50.0, 50.0, 4.0]])
    need = Need(unsafe=table.value == 5.5)
    protection = Optimal(cost="value").protect(table, need)
    bounds = Interval().bounds(Release.of(table, protection))
    assert bounds.width[0] > 0
    assert Interval().bounds(Release.of(table, Protection.withhold(table, need.unsafe))).width[0] == 0


@pytest.mark.parametrize(
    "parameters",
    [
        {"cost": "vlaue"},
        {"keep": "margin"},
        {"gap": 1.0},
        {"time_limit_s": 0},
        {"work_limit": -1},
        {"cost": [1, 2]},
    ],
)
def test_invalid_parameters_raise(parameters):
    table = Table.from_array([[5, 50], [50, 50]])
    with pytest.raises(ParameterError) as caught:
        Optimal(**parameters).protect(table, Need(unsafe=table.value == 5, width=2))
    assert caught.value.fix


def test_tie_break_numbers_depend_on_codes_only():
    one = Table.from_array([[5, 50], [50, 50]], codes=(["a", "b"], ["c", "d"]))
    other = Table.from_array([[1, 2], [3, 4]], codes=(["b", "a"], ["d", "c"]))
    drawn = numbers(one.labels, np.arange(9)).reshape(3, 3)
    again = numbers(other.labels, np.arange(9)).reshape(3, 3)
    turn = np.ix_([1, 0, 2], [1, 0, 2])
    assert np.array_equal(drawn, again[turn])
    assert drawn[0, 0] == number(("a", "c"))
    assert len(set(drawn.ravel())) > 5


def test_first_pattern_publishes_first_differing_cell():
    patterns = [np.array(bits, dtype=bool) for bits in ([0, 1, 1], [1, 0, 0], [1, 0, 1])]
    assert [smaller(a, b) for a in patterns for b in patterns] == [
        *(False, True, True),
        *(False, False, True),
        *(False, False, False),
    ]


@pytest.mark.parametrize(
    ("cost", "weight", "whole"),
    [
        pytest.param([2.0, 4.0, 6.0], [1, 2, 3], True, id="common divisor"),
        pytest.param([0.25, 1.5], [1, 6], True, id="two decimals"),
        pytest.param([0.0, 0.0], [0, 0], True, id="free"),
        pytest.param([1.0, 2**0.5], [2**-0.5, 1.0], False, id="irrational"),
    ],
)
def test_costs_on_a_grid_become_integer(cost, weight, whole):
    grid = CostScale.of(np.array(cost))
    assert grid.whole is whole
    np.testing.assert_allclose(grid.weight, weight)
    np.testing.assert_allclose(grid.weight * grid.unit, cost)
