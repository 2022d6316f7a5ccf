"""The random tables that other tests rely on are what they claim to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, hierarchies, magnitude_tables, protections

from hitoku.rules import PPercent

# Finding one is enough, a smaller one says no more.
QUICK = settings(max_examples=195, database=None, phases=[Phase.generate])


@given(table=count_tables(max_side=3, max_count=4, dims=2))
def test_drawn_counts_are_integers(table):
    inner = table.value[table.inner]
    assert table.integer
    assert np.all((inner >= 0) & (inner <= 4))
    assert table.frequency.tolist() == table.value.tolist()
    assert all(2 <= len(d.leaves) <= 3 for d in table.dimensions)
    assert np.abs(table.relations @ table.value).max() == 0


@pytest.mark.parametrize("holdings", [False, True])
@given(data=st.data())
def test_contributors_fit_their_cells(holdings, data):
    table = data.draw(magnitude_tables(holdings=holdings, hierarchical=data.draw(st.booleans())))
    assert (table.holdings is not None) is holdings
    assert np.abs(table.relations @ table.value).max() < 1e-9
    np.testing.assert_allclose(table.units.total, table.value)
    top = table.units.largest
    assert np.all(top.sum(axis=1) <= table.value + 1e-9)
    few = table.units.count <= top.shape[1]
    np.testing.assert_allclose(top.sum(axis=1)[few], table.value[few], atol=1e-9)
    if holdings:
        assert np.all(table.holdings.count <= table.units.count)
        assert np.all(table.holdings.largest[:, 0] >= top[:, 0] - 1e-9)


@given(tree=hierarchies(max_leaves=5))
def test_drawn_trees_respect_size(tree):
    assert 2 <= len(tree.leaves) <= 5


@given(data=st.data(), table=count_tables())
def test_protections_of_inner_cells_publish_every_margin(data, table):
    protection = data.draw(protections(table, inner_only=True))
    assert not protection.withheld[~table.inner].any()


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(lambda t: {2, 3} <= {d.hierarchies[0].n_levels for d in t.dimensions}, id="nested"),
        pytest.param(
            lambda t: (t.value[t.inner] == 0).any() and (t.units.count > 6).any(), id="empty and crowd"
        ),
        pytest.param(lambda t: 0 < PPercent(10).assess(t).unsafe[t.inner].mean() < 0.5, id="mostly safe"),
    ],
)
def test_varied_tables_occur(wanted):
    find(magnitude_tables(hierarchical=True), wanted, settings=QUICK)
