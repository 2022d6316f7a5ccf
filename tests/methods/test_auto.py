from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.circulation.test_circulation import hierarchy, linked

from hitoku.errors import NeedError, ParameterError, ScopeError
from hitoku.evidence import audit
from hitoku.methods import AUTO, Auto, kept_cells, least_cost
from hitoku.methods.circulation import Circulation
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Need, Release, Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency, PPercent
from hitoku.samples import register
from hitoku.tabulation import tabulate


def flat(rows, columns, seed=0):
    counts = np.floor(np.exp(np.random.default_rng(seed).normal(2.5, 1.0, (rows, columns))))
    return Table.from_array(counts.astype(int))


def untold(table):
    return Table(value=table.value, relations=table.relations, integer=table.integer)


def small_counts(table):
    return Need(unsafe=(table.value > 0) & (table.value < 3), width=4)


@pytest.mark.parametrize(
    ("table", "method", "said"),
    [
        pytest.param(flat(4, 4), "optimal", "nothing cheaper is safe", id="small"),
        pytest.param(flat(25, 25), "optimal", "a flat two-way table: nothing cheaper is safe", id="flat"),
        pytest.param(untold(flat(25, 25)), "circulation", "do not form a cross table", id="no dimensions"),
        pytest.param(hierarchy(sides=((4, 4), (4, 5), (4,)))[0], "circulation", "cells", id="hierarchy"),
    ],
)
def test_method_follows_from_the_table_and_is_named(table, method, said):
    need = small_counts(table)
    protection = Auto().protect(table, need)
    assert protection.method == method
    assert protection.note.startswith(method)
    assert said in protection.note
    assert audit(table, need, Release.of(table, protection), deviations=protection.deviations).safe


def test_linked_tables_use_circulation(monkeypatch):
    monkeypatch.setattr("hitoku.methods.auto.AUTO", replace(AUTO, max_small=5, max_compared=5))
    table = linked(np.random.default_rng(1))
    protection = Auto().protect(table, small_counts(table))
    assert protection.note.startswith("circulation, for linked tables")


def test_limited_search_reports_its_gap(monkeypatch):
    monkeypatch.setattr("hitoku.methods.auto.AUTO", replace(AUTO, small_work=1))
    table, need = hierarchy(4, sides=((3, 2), (3, 2), (2,)))
    protection = Auto().protect(table, need)
    least = Optimal(cost="value").protect(table, need)
    assert least.proven
    greedy = Greedy(prefer="closing", tidy=True).protect(table, need)
    assert least.cost <= protection.cost <= greedy.cost
    assert "times the least cost" in protection.note
    times = float(protection.note.split("at most ")[1].split(" times")[0])
    assert protection.cost <= least.cost * (times + 0.051)


def test_medium_table_uses_cheaper_pattern(monkeypatch):
    monkeypatch.setattr("hitoku.methods.auto.AUTO", replace(AUTO, max_small=5))
    table, need = hierarchy(4, sides=((3, 2), (3, 2), (2,)))
    both = (
        Circulation().protect(table, need).cost,
        Greedy(prefer="closing", tidy=True).protect(table, need).cost,
    )
    protection = Auto().protect(table, need)
    assert protection.cost == min(both)
    assert "the cheaper of two" in protection.note


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), keep=st.sampled_from([None, "margins"]))
def test_no_safe_pattern_is_cheaper_than_the_bound(seed, keep):
    rng = np.random.default_rng(seed)
    table = Table.from_array(rng.integers(1, 9, tuple(rng.integers(2, 4, rng.integers(2, 4)))))
    need = Need(unsafe=table.inner & (table.value == 1), width=1)
    try:
        found = Optimal(cost="value", keep=keep, work_limit=300).protect(table, need)
    except NeedError:
        return
    nothing = np.zeros(table.n_cells, dtype=bool)
    least = least_cost(table, need, table.value, kept_cells(table, keep), need.unsafe | nothing)
    assert table.value[need.unsafe].sum() <= least <= found.cost


def test_arguments_are_passed_to_the_method():
    table = flat(25, 25)
    need = small_counts(table)
    start = table.inner & (table.value > 40)
    protection = Auto(cost="unit", keep="margins", start=start).protect(table, need)
    assert np.all(protection.withheld[start])
    assert not np.any(protection.withheld & ~table.inner)
    assert repr(Auto(cost=np.ones(3), keep="margins")) == "Auto(cost=<given>, keep='margins')"


def test_secret_false_selects_a_public_method():
    rules = [MinFrequency(5)]
    large = Table.from_array(np.random.default_rng(1).poisson(40, (12, 12)) + np.eye(12, dtype=int))
    protection = protect_table(large, rules, method=Auto(secret=False), width=9).protection
    assert protection.method == "blocks"
    assert "may know" in protection.note
    small = Table.from_array([[15, 15, 12], [19, 3, 13], [18, 28, 11]])
    assert protect_table(small, rules, method=Auto(secret=False), width=9).protection.method == "randomised"


def test_public_method_rejects_keep_and_start():
    table = Table.from_array(np.full((12, 12), 30))
    with pytest.raises(ParameterError, match="decides by itself"):
        protect_table(table, [MinFrequency(5)], method=Auto(secret=False, keep="margins"), width=9)


def test_public_method_raises_outside_its_scope():
    table = Table.from_array(np.full((3, 3, 3), 30))
    with pytest.raises(ScopeError):
        protect_table(table, [MinFrequency(5)], method=Auto(secret=False), width=9)


def test_flat_table_search_starts_from_tidy_pattern(monkeypatch):
    monkeypatch.setattr("hitoku.methods.auto.AUTO", replace(AUTO, flat_work=1))
    table = flat(25, 25, seed=3)
    need = Need(unsafe=(table.value > 0) & (table.value < 3) & (np.arange(table.n_cells) % 3 == 0), width=4)
    protection = Auto().protect(table, need)
    least = Optimal(cost="value").protect(table, need)
    assert least.proven
    assert not protection.proven
    tidied = Greedy(cost="value", prefer="closing", tidy=True).protect(table, need)
    assert least.cost <= protection.cost <= tidied.cost
    assert (1 - protection.gap) * protection.cost <= least.cost


def test_insider_protection_keeps_the_outsider_bound():
    firms = register(n=60, seed=2)
    table = tabulate(firms.records, by=["activity"], value="turnover", unit="enterprise")
    rules = [PPercent(p=10)]
    alone = protect_table(table, rules, method=Auto(), insiders=False, groups=False).protection
    inside = protect_table(table, rules, method=Auto(), insiders=True, groups=False).protection
    assert alone.proven
    assert "nothing cheaper is safe" in alone.note
    assert inside.withheld.sum() > alone.withheld.sum()
    assert not inside.proven
    assert not inside.canonical
    assert (1 - inside.gap) * inside.cost == pytest.approx(alone.cost)
    assert inside.note.startswith("optimal, and more for insiders: ")
    assert inside.note.endswith(" above the least cost that is safe")


def test_insiders_do_not_create_a_bound():
    firms = register(n=60, seed=2)
    table = tabulate(firms.records, by=["activity"], value="turnover", unit="enterprise")
    inside = protect_table(table, [PPercent(p=10)], method=Greedy(prefer="closing"), insiders=True).protection
    assert np.isnan(inside.gap)
    assert not inside.proven
