"""No cell is withheld for nothing: a secondary cell has more than one possible value, or is published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import count_tables

from hitoku.attacks import Interval
from hitoku.errors import NeedError, ScopeError
from hitoku.methods import METHODS, Greedy, redundant_suppressions, traits_of, with_known_rules
from hitoku.model import Need, Protection, Release, Table
from hitoku.rules import MinFrequency, assess

# What was drawn, or follows from blocks, must stay as it is: to publish a cell would tell more.
FREE = [name for name in METHODS if traits_of(METHODS[name]()).adds_cells]


@pytest.mark.parametrize("name", FREE)
@settings(deadline=None, max_examples=6)
@given(table=count_tables(max_side=4, max_count=8))
def test_every_secondary_cell_has_more_than_one_possible_value(name, table):
    need = assess(table, [MinFrequency(3)], width=4)
    try:
        protection = with_known_rules(METHODS[name](), [MinFrequency(3)], 4).protect(table, need)
    except (NeedError, ScopeError):
        return
    width = Interval().bounds(Release.of(table, protection)).width
    assert np.all(width[protection.secondary] > 1e-6)


@settings(deadline=None, max_examples=16)
@given(table=count_tables(max_side=4, max_count=8))
def test_publishing_redundant_suppressions_narrows_nothing(table):
    mask = (table.value % 3 == 1) | (table.value % 5 == 2)
    told = redundant_suppressions(table, mask, mask)
    before, after = (
        Interval().bounds(Release.of(table, Protection.withhold(table, one))) for one in (mask, mask & ~told)
    )
    np.testing.assert_allclose(before.lower, after.lower, atol=1e-6)
    np.testing.assert_allclose(before.upper, after.upper, atol=1e-6)
    assert np.all(before.width[told] <= 1e-6)
    assert np.all(before.width[mask & ~told] > 1e-6)


def test_manual_suppressions_are_kept():
    table = Table.from_array([[7, 11], [10, 60], [5, 8]])
    start = np.isin(np.arange(12), [6])
    need = Need(unsafe=np.arange(12) == 0, width=5)
    assert Greedy(start=start).protect(table, need).withheld[6]


@settings(deadline=None, max_examples=16)
@given(table=count_tables(max_side=4, max_count=20))
def test_suppressed_cells_have_widths_of_the_paper(table):
    """Kikuchi and Minami, section 4.3: go on until all suppressed cells have sufficient width."""
    need = assess(table, [MinFrequency(3)], width=4)
    try:
        protection = Greedy(every="withheld").protect(table, need)
    except NeedError:
        return
    width = Interval().bounds(Release.of(table, protection)).width
    assert np.all(width[protection.withheld] >= 4 - 1e-6)
