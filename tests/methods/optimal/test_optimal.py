"""Optimal suppression against every pattern there is, on tables small enough to list them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.patterns import cheapest
from tests.strategies import count_tables

from hitoku.errors import NeedError
from hitoku.methods import costs
from hitoku.methods.optimal import Optimal
from hitoku.model import Need, Table

MAX_FREE = 9


@st.composite
def problems(draw, tables, most_free: int = MAX_FREE):
    """One to three unsafe cells, random levels, bounds and costs, and few cells to decide on."""
    table = draw(tables)
    n = table.n_cells
    # Inner cells come first: patterns of margins alone protect little.
    inner, sums = (draw(st.permutations(np.flatnonzero(m).tolist())) for m in (table.inner, ~table.inner))
    spare = draw(st.integers(0, 3))
    free = [*inner[: most_free - spare], *sums[:spare]]
    unsafe = np.zeros(n, dtype=bool)
    unsafe[draw(st.lists(st.sampled_from(free), min_size=1, max_size=3))] = True
    level = st.sampled_from([0, 0, 1, 2, 4])
    lower, upper, width = (
        np.where(unsafe, draw(st.lists(level, min_size=n, max_size=n)), 0.0) for _ in range(3)
    )
    width = np.where(unsafe, width * 2, 0)
    lower = np.minimum(lower, table.value)
    ceiling = draw(st.sampled_from([np.inf, np.inf, 1.0, 3.0, 8.0]))
    keep = np.ones(n, dtype=bool)
    keep[free] = False
    real = st.sampled_from([0.3, 0.7, 1.0, 2.0**0.5, 3.0])
    cost = draw(st.sampled_from(["unit", "value", "log"]) | st.lists(real, min_size=n, max_size=n))
    table = replace(table, lower=np.zeros(n), upper=table.value + ceiling)
    return table, Need(unsafe=unsafe, lower=lower, upper=upper, width=width), cost, keep


def check(problem) -> None:
    table, need, cost, keep = problem
    none = np.zeros(table.n_cells, dtype=bool)
    expected = cheapest(table, need, costs(table, cost), keep, none)
    method = Optimal(cost=cost, keep=keep)
    if expected is None:
        with pytest.raises(NeedError):
            method.protect(table, need)
        return
    protection = method.protect(table, need)
    assert protection.proven
    assert protection.cost == pytest.approx(costs(table, cost)[expected].sum(), rel=1e-9, abs=1e-12)
    assert np.array_equal(protection.withheld, expected)


@settings(max_examples=13)
@given(problem=problems(count_tables(max_side=3)))
def test_two_way_pattern_matches_enumeration(problem):
    check(problem)


@settings(max_examples=20)
@given(problem=problems(count_tables(max_side=4, hierarchical=True), most_free=10))
def test_hierarchical_pattern_matches_enumeration(problem):
    check(problem)


@st.composite
def cubes(draw) -> Table:
    """Two by two by two without empty cells, so that patterns of inner cells alone may protect."""
    counts = draw(st.lists(st.integers(1, 12), min_size=8, max_size=8))
    return Table.from_array(np.array(counts).reshape(2, 2, 2))


@settings(max_examples=8)
@given(problem=problems(cubes(), most_free=11))
def test_three_way_pattern_matches_enumeration(problem):
    check(problem)


@st.composite
def linked_tables(draw) -> Table:
    """Two two-way tables of the same records: they share their first variable."""
    cube = np.array(draw(st.lists(st.integers(0, 9), min_size=8, max_size=8))).reshape(2, 2, 2)
    names = [("region", "sex"), ("region", "age")]
    codes = {"region": ["N", "S"], "sex": ["f", "m"], "age": ["young", "old"]}
    return Table.link(
        [
            Table.from_array(cube.sum(axis=axis), names=pair, codes=[codes[name] for name in pair])
            for axis, pair in zip((2, 1), names, strict=True)
        ]
    )


@settings(max_examples=8)
@given(problem=problems(linked_tables(), most_free=11))
def test_linked_pattern_matches_enumeration(problem):
    check(problem)


@st.composite
def weighted_relations(draw) -> Table:
    """Six free numbers and three weighted sums of them, negative ones too: no table, but linear relations."""
    parts = np.array(draw(st.lists(st.integers(2, 20), min_size=6, max_size=6)), dtype=float)
    weight = st.sampled_from([0.0, 1.0, 1.0, -1.0, 2.0, 0.5, 1 / 3])
    weights = np.array(draw(st.lists(weight, min_size=18, max_size=18))).reshape(3, 6)
    return Table(value=np.concatenate([parts, weights @ parts]), relations=np.hstack([weights, -np.eye(3)]))


@settings(max_examples=10)
@given(data=st.data(), table=weighted_relations())
def test_arbitrary_relations_match_enumeration(data, table):
    unsafe = np.arange(9) == data.draw(st.integers(0, 8))
    amounts = [np.where(unsafe, data.draw(st.integers(0, 4)), 0.0) for _ in range(2)]
    check(
        (
            table,
            Need(unsafe=unsafe, upper=amounts[0], width=amounts[1] + unsafe),
            "value",
            np.zeros(9, dtype=bool),
        )
    )
