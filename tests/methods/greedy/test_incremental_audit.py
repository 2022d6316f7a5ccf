"""The quick answers of greedy, each against a slow one: counts and groups, limits, verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, magnitude_tables

import hitoku.methods.greedy.incremental_audit as module
from hitoku.attacks import Interval, derivable_cells
from hitoku.feasibility import Pattern
from hitoku.methods import GREEDY
from hitoku.methods.greedy import Greedy, IncrementalAudit
from hitoku.model import Need, Protection, Release, Table

TABLES = count_tables(max_side=4, hierarchical=True) | count_tables(max_side=2, dims=3) | magnitude_tables()


def deviations(table):
    """Cells to flip one after the other: withheld if published, and the other way round."""
    return st.lists(st.integers(0, table.n_cells - 1), max_size=25)


def bounds_of(table, withheld):
    return Interval().bounds(Release.of(table, Protection.withhold(table, withheld)))


def hanging_together(relations, loose, cell):
    """Relations reached from a cell by way of loose cells."""
    reached, frontier = set(), {cell}
    while frontier:
        new = {r for r, cells in enumerate(relations) if cells & frontier} - reached
        reached |= new
        frontier = set().union(*(relations[r] & loose for r in new)) if new else set()
    return reached


@settings(deadline=None, max_examples=39)
@given(data=st.data(), table=TABLES)
def test_counts_and_groups_match_the_pattern(data, table):
    pinned = data.draw(st.lists(st.integers(0, table.n_cells - 1), max_size=3))
    upper = table.upper.copy()
    upper[pinned] = np.where(table.value[pinned] == 0, 0.0, np.inf)
    table = Table(value=table.value, relations=table.relations, upper=upper)
    relations = [set(np.flatnonzero(row).tolist()) for row in table.relations.toarray()]
    pattern = Pattern(table.relations, table.upper > table.lower, np.zeros(table.n_cells, dtype=bool))
    withheld = set()
    for cell in dict.fromkeys(data.draw(deviations(table))):
        pattern.withhold(cell)
        withheld.add(cell)
        loose = {c for c in withheld if table.upper[c] > table.lower[c]}
        assert pattern.count.tolist() == [len(r & loose) for r in relations]
        for member in loose:
            group = pattern.group_of(member)
            assert set(np.flatnonzero(pattern.group == group)) == hanging_together(relations, loose, member)
            assert set(pattern.members(group)) == loose & set().union(
                *(relations[r] for r in hanging_together(relations, loose, member))
            )
    fresh = Pattern(table.relations, table.upper > table.lower, pattern.withheld)
    assert fresh.count.tolist() == pattern.count.tolist()
    for cell in withheld:
        pattern.publish(cell)
    assert not pattern.count.any()
    assert not pattern.loose.any()


@settings(deadline=None, max_examples=39)
@given(data=st.data(), table=TABLES)
def test_limits_never_narrow_an_interval(data, table):
    withheld = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)))
    audit = IncrementalAudit(table, Need(unsafe=withheld), withheld)
    (lower, upper), bounds = audit.limits(), bounds_of(table, withheld)
    slack = 1e-7 * np.maximum(1.0, np.abs(table.value))
    assert np.all(table.value + lower <= bounds.lower + slack)
    assert np.all(table.value + upper >= bounds.upper - slack)


@settings(deadline=None, max_examples=23)
@given(data=st.data(), table=TABLES)
def test_incremental_verdicts_match_intervals(data, table):
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans(), label="one program for the whole table"):
            patch.setattr(module, "GREEDY", replace(GREEDY, large_share=-1.0))
        check_verdicts(data, table)


def check_verdicts(data, table):
    unsafe = table.value <= np.median(table.value)
    level = np.where(unsafe, 0.3 * table.value, 0.0)
    need = Need(unsafe=unsafe, lower=level, upper=2 * level, width=data.draw(st.sampled_from([0.0, 4.0])))
    audit = IncrementalAudit(table, need, unsafe)
    if data.draw(st.booleans()):
        audit.show(np.flatnonzero(unsafe))
    for cell in [None, *dict.fromkeys(data.draw(deviations(table)))]:
        if cell is not None:
            audit.withhold(cell)
        bounds = bounds_of(table, audit.pattern.withheld)
        slack = 1e-7 * np.maximum(1.0, np.abs(table.value))
        met = (bounds.lower <= table.value - need.lower + slack) & (bounds.width > slack)
        met &= (bounds.upper >= table.value + need.upper - slack) & (bounds.width >= need.width - slack)
        asked = data.draw(st.lists(st.sampled_from(np.flatnonzero(unsafe).tolist()), max_size=4))
        assert [audit.met(c) for c in asked] == met[asked].tolist()
        for c in asked[:1]:
            assert audit.interval(c) == pytest.approx((bounds.lower[c], bounds.upper[c]), abs=1e-6)


def test_unbounded_end_is_infinite_and_serves_as_proof():
    # Row 1 with its total withheld: nothing but zero holds the cells.
    table = Table.from_array([[3, 4], [5, 6]])
    withheld = np.isin(np.arange(9), [0, 1, 2, 6, 7, 8])
    audit = IncrementalAudit(table, Need(unsafe=np.arange(9) == 0, lower=2, upper=1000, width=1000), withheld)
    assert audit.interval(0) == (0.0, np.inf)
    assert audit.met(0)
    assert audit.high[0] >= 1000


@pytest.mark.parametrize("large", [1.0, -1.0], ids=["by group", "whole table"])
def test_cell_is_published_only_if_needs_stay_met(large, monkeypatch):
    monkeypatch.setattr(module, "GREEDY", replace(GREEDY, large_share=large))
    table = Table.from_array([[1, 9, 9], [9, 9, 9], [9, 9, 9]])
    need = Need(unsafe=table.value == 1, upper=1)
    cycle = np.isin(np.arange(16), [0, 1, 4, 5])
    audit = IncrementalAudit(table, need, cycle | np.isin(np.arange(16), [10]), shrinking=True)
    assert audit.met(0)
    assert audit.publish_if_met(10)
    for cell in (1, 4, 5):
        assert not audit.publish_if_met(cell)
        assert audit.met(0)
    assert np.array_equal(audit.pattern.withheld, cycle)


def test_publishing_considers_linear_program_results():
    # Sum and difference of two cells: either may be published, with both the cells are known. No single
    # relation shows that.
    table = Table(
        value=[3.0, 4.0, 7.0, -1.0],
        relations=[[1, 1, -1, 0], [1, -1, 0, -1]],
        lower=[0, 0, 0, -100],
        upper=100,
    )
    need = Need(unsafe=[True, False, False, False], width=1)
    audit = IncrementalAudit(table, need, np.ones(4, dtype=bool), shrinking=True)
    assert audit.met(0)
    assert audit.publish_if_met(2)
    assert not audit.publish_if_met(3)
    assert audit.interval(0) == (0.0, 7.0)


@settings(deadline=None, max_examples=39)
@given(data=st.data(), table=TABLES)
def test_derivable_cells_follow_by_addition(data, table):
    """Relation by relation is a part of what can be worked out; what it finds is exactly known."""
    withheld = np.array(data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)))
    pattern = Pattern(table.relations, table.upper > table.lower, withheld)
    loose = np.flatnonzero(pattern.loose)
    if not len(loose):
        return
    cell = data.draw(st.sampled_from(loose.tolist()))
    fewer = withheld & (np.arange(table.n_cells) != cell)
    told = derivable_cells(Release.of(table, Protection.withhold(table, fewer)))
    nobody = np.zeros(table.n_cells, dtype=bool)
    assert pattern.given_away(cell, nobody) <= set(np.flatnonzero(told | ~fewer).tolist())
    single = pattern.tally(fewer & pattern.loose) == 1
    for row in np.flatnonzero(single & (pattern.count == 2)):
        (last,) = [c for c in pattern.relations.cells_of(np.array([row])) if fewer[c] and pattern.loose[c]]
        assert int(last) in pattern.given_away(cell, nobody)


@pytest.mark.parametrize("seed", range(30))
def test_flows_change_no_verdict(seed, monkeypatch):
    random = np.random.default_rng(seed)
    table = Table.from_array(random.integers(2, 30, random.integers(4, 9, 2)))
    unsafe = table.inner & (random.random(table.n_cells) < 0.4)
    level = random.integers(1, 4, (3, table.n_cells)) * unsafe
    need = Need(
        unsafe=unsafe,
        lower=np.minimum(level[0], table.value) * unsafe,
        upper=level[1],
        width=level[2] + 0.5 * unsafe,
    )
    found = []
    for many in (0, table.n_cells):
        monkeypatch.setattr(module, "GREEDY", replace(GREEDY, min_flows=many))
        found.append(Greedy().protect(table, need).withheld.tolist())
    assert found[0] == found[1]


def test_flows_reduce_linear_programs(monkeypatch):
    table = Table.from_array(np.random.default_rng(1).integers(1, 10, (12, 15)))
    need = Need(unsafe=table.inner, width=6.0)
    solved = []
    for many in (0, table.n_cells):
        monkeypatch.setattr(module, "GREEDY", replace(GREEDY, min_flows=many))
        audit = IncrementalAudit(table, need, table.inner)
        audit.show(np.flatnonzero(table.inner))
        solved.append(len(audit._programs) + (audit._whole is not None))
        assert all(audit.met(int(cell)) for cell in np.flatnonzero(table.inner))
    assert solved == [0, 1]
