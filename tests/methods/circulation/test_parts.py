"""Parts of a pattern searched anew by integer programs: every claim stays served, at no more cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.circulation.test_circulation import cross_tables, hierarchy, judged, needs

from hitoku.errors import NeedError
from hitoku.feasibility.hypercubes import Requirements, Slacks
from hitoku.methods.circulation import CellReach, Circulation, Clock, PartSearch, Search
from hitoku.model import Need, Table


def begun(table, need, cost):
    """Give every claim a witness; return the search and the prices."""
    movable = (table.upper > table.lower) & (True if table.fixed is None else ~table.fixed)
    rooms = Slacks.of(table.value, table.lower, table.upper, movable, integer=table.integer)
    price = np.where(need.unsafe, 0.0, cost)
    run = Search(table, rooms, Requirements.of(need, rooms, table.describe), price, movable)
    run.run(0, Clock(0.0, None, 1, None))
    return run, rooms, price, CellReach(table, movable, 1)


def used(hypercubes):
    return np.unique(hypercubes.shown_entries()[1])


@settings(deadline=None, max_examples=25)
@given(data=st.data(), dims=st.integers(2, 3), decimals=st.booleans(), unit=st.booleans())
def test_part_search_meets_requirements_without_higher_cost(data, dims, decimals, unit):
    table = data.draw(cross_tables(dims, hierarchical=True, decimals=decimals))
    cost = np.ones(table.n_cells) if unit else 1.0 + np.abs(table.value)
    try:
        run, rooms, price, reach = begun(table, needs(data.draw, table), cost)
    except NeedError:
        return
    before = price[used(run.hypercubes)].sum()
    parts = PartSearch(table.relations, rooms, price, run.hypercubes, reach)
    parts.run(2_000, lambda: True)
    assert price[used(run.hypercubes)].sum() <= before
    assert np.array_equal(parts.pattern & (price > 0), _held(run.hypercubes, price))
    requirement, cell, amount = run.hypercubes.shown_entries()
    requirements = run.hypercubes.requirements
    for each in requirements.made.tolist():
        change = np.zeros(table.n_cells)
        change[cell[requirement == each]] = amount[requirement == each]
        own = change[requirements.cells[each % len(requirements.cells)]] * requirements.sign[each]
        assert own >= requirements.amount[each]
        assert not np.any(table.relations @ change)
        assert np.all(change <= rooms.up)
        assert np.all(-change <= rooms.down)
        if requirements.even[each]:
            assert np.all(np.abs(change) <= rooms.even)


def _held(hypercubes, price):
    held = np.zeros(len(price), dtype=bool)
    held[used(hypercubes)] = True
    return held & (price > 0)


def test_part_search_finds_more_than_single_hypercubes():
    # Each of the two unsafe cells has a rectangle of its own: three more cells each.
    table = Table.from_array([[5, 5, 90, 90], [90, 90, 90, 90], [90, 90, 90, 90]])
    unsafe = table.value == 5
    need = Need(unsafe=unsafe, lower=4.0 * unsafe, upper=4.0 * unsafe)
    run, rooms, price, reach = begun(table, need, np.ones(table.n_cells))
    hypercubes, position = run.hypercubes, run.hypercubes.cross_table.position
    for requirement, cells in enumerate(([0, 2, 5, 7], [1, 3, 11, 13])):
        hypercubes.put(requirement, position[np.array(cells)], np.array([4, -4, -4, 4]))
    assert _held(hypercubes, price).sum() == 6
    PartSearch(table.relations, rooms, price, hypercubes, reach).run(1_000, lambda: True)
    # The two protect each other: a rectangle through both needs two more cells, and nothing needs one.
    assert _held(hypercubes, price).sum() == 2


@pytest.mark.parametrize("seed", [1, 4])
def test_patterns_of_equal_cells_are_safe_and_no_larger_than_without_parts(seed, monkeypatch):
    table, need = hierarchy(seed)
    found = judged(table, need, Circulation(cost="unit"))
    monkeypatch.setattr("hitoku.methods.circulation.circulation.SMALL", 0)
    assert found.withheld.sum() <= judged(table, need, Circulation(cost="unit")).withheld.sum()


@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_large_table_search_is_audited_safe(data):
    table = data.draw(cross_tables(3, hierarchical=True))
    need = needs(data.draw, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hitoku.feasibility.hypercubes.hypercube_search.LARGE", 0)
        patch.setattr("hitoku.methods.circulation.circulation.LARGEST_SWEPT", 0)
        judged(table, need)
