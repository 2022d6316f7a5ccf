from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import count_tables, magnitude_tables

from hitoku.attacks import Group, Interval
from hitoku.errors import NeedError, RuleError
from hitoku.evidence import audit
from hitoku.methods import Greedy
from hitoku.model import Dimension, Hierarchy, Protection, Release, Table, add_up
from hitoku.rules import DirectDisclosure, GroupDisclosure, KDisclosure, assess


def hits(rule, table):
    return [table.describe(int(cell)) for cell in np.flatnonzero(rule.assess(table).unsafe)]


@pytest.mark.parametrize(
    ("counts", "unsafe"),
    [
        pytest.param([[95, 5], [40, 60]], ["row=1, column=1", "row=2, column=2"], id="one row, one column"),
        pytest.param([[90, 10], [40, 60]], [], id="exactly 90% of the row is safe"),
        pytest.param([[91, 9], [40, 60]], ["row=1, column=1"], id="91% of the row"),
        pytest.param([[1, 0], [2, 3]], ["row=1, column=1", "row=2, column=2"], id="no total is too small"),
        pytest.param(
            [[0, 0], [3, 4]],
            ["row=2, column=1", "row=2, column=2", "row=2, column=Total"],
            id="an empty row tells nothing, the full one is 100% of everything",
        ),
    ],
)
def test_share_above_limit_is_unsafe(counts, unsafe):
    assert hits(GroupDisclosure(share=0.9), Table.from_array(counts)) == unsafe


TALL = Table.from_array([[95, 5], [890, 110]])


@pytest.mark.parametrize(
    ("rule", "unsafe"),
    [
        pytest.param(
            GroupDisclosure(by="column"),
            ["row=1, column=1"],
            id="95% of its row, less than 90% in the others",
        ),
        pytest.param(
            GroupDisclosure(by="row"),
            ["row=2, column=1", "row=2, column=2", "row=2, column=Total"],
            id="more than 90% of their columns",
        ),
        pytest.param(
            GroupDisclosure(by="row", inner=True),
            ["row=2, column=1", "row=2, column=2"],
            id="margins left alone",
        ),
        pytest.param(
            GroupDisclosure(by=("row", "column"), inner=True),
            ["row=1, column=1", "row=2, column=1", "row=2, column=2"],
            id="both",
        ),
    ],
)
def test_rule_applies_along_named_variable(rule, unsafe):
    assert hits(rule, TALL) == unsafe


@given(table=count_tables(dims=3, max_side=3, hierarchical=True), share=st.integers(1, 20))
def test_rule_matches_explicit_relations(table, share):
    expected = set()
    relations = table.relations.toarray()
    for relation in relations:
        parts, (total,) = np.flatnonzero(relation > 0), np.flatnonzero(relation < 0)
        if len(parts) > 1:
            expected |= {p for p in parts if 20 * table.value[p] > share * table.value[total]}
    need = GroupDisclosure(share / 20).assess(table)
    assert set(np.flatnonzero(need.unsafe)) == expected


@given(table=count_tables(), low=st.integers(1, 20), more=st.integers(0, 19))
def test_higher_share_never_adds_unsafe_cells(table, low, more):
    strict, mild = (GroupDisclosure(min(s, 20) / 20).assess(table) for s in (low, low + more))
    assert np.all(mild.unsafe <= strict.unsafe)


@given(table=count_tables(), share=st.integers(1, 20))
def test_reaching_the_level_ends_the_disclosure(table, share):
    """With the total published, the lowest value an outsider must think possible is within the share."""
    need = GroupDisclosure(share / 20).assess(table)
    for relation in table.relations.toarray():
        (total,) = np.flatnonzero(relation < 0)
        for part in np.flatnonzero(relation > 0):
            if need.unsafe[part]:
                assert 20 * (table.value[part] - need.lower[part]) <= share * table.value[total]
    assert not need.upper.any()


@pytest.mark.parametrize(("paper", "lower"), [(False, True), (True, False)])
def test_width_replaces_levels_only_on_request(paper, lower):
    table = Table.from_array([[95, 5], [40, 60]])
    need = assess(table, [GroupDisclosure(0.9, yields_to_width=paper)], width=10)
    assert np.all((need.lower[need.unsafe] > 0) == lower)
    assert (len(need.attributions) > 0) is lower
    assert need.width[need.unsafe].tolist() == [10, 10]


@pytest.mark.parametrize("paper", [False, True])
def test_levels_hide_a_share_that_width_does_not(paper):
    """A width of ten alone leaves 970 of 1,000 known as more than nine in ten."""
    table = Table.from_array([[970, 10, 20], [400, 300, 350], [500, 400, 450]])
    rule = GroupDisclosure(0.9, by="column", yields_to_width=paper)
    need = assess(table, [rule], width=10)
    assert need.unsafe.nonzero()[0].tolist() == [0]
    protection = Greedy().protect(table, need)
    bounds = Interval().bounds(Release.of(table, protection))
    assert not protection.withheld[3]  # the total of the row is shown
    assert (bounds.lower[0] <= 900) is not paper


def test_magnitudes_are_judged_by_their_units():
    table = Table.from_array([[1.0, 99.0], [50.0, 50.0]], frequency=[[95, 5], [50, 50]])
    need = GroupDisclosure(0.9, by="column").assess(table)
    assert need.unsafe.nonzero()[0].tolist() == [0]
    assert not need.lower.any(), "a share of persons is no level for money"


@given(table=magnitude_tables(integer=True))
def test_without_frequencies_values_are_compared(table):
    bare = Table(value=table.value, dimensions=table.dimensions)
    same = Table(value=table.value, dimensions=table.dimensions, frequency=table.value)
    one, two = (GroupDisclosure().assess(t).unsafe for t in (bare, same))
    assert one.tolist() == two.tolist()


def test_rule_accepts_relations_without_codes():
    # 0 = total - parts, the total first: the sign of a relation does not matter.
    table = Table(value=[100.0, 95.0, 5.0], relations=[[1, -1, -1]], integer=True)
    assert GroupDisclosure(0.9).assess(table).unsafe.tolist() == [False, True, False]


def test_single_child_of_hierarchy_is_not_unsafe():
    """North has one district: both are the same by definition. All parts of the total hold half of it."""
    tree = Dimension.of("place", Hierarchy.from_tree({"North": ["N1"], "South": ["S1", "S2"]}))
    value = add_up(np.array([8, 4, 4]), (tree,))
    table = Table(value=value, dimensions=(tree,), frequency=value, integer=True)
    for rule in (GroupDisclosure(0.9), DirectDisclosure(k=1), KDisclosure(k=1)):
        assert not rule.assess(table).unsafe.any()


@pytest.mark.parametrize("rule", [GroupDisclosure(0.9), DirectDisclosure(k=1), KDisclosure(k=1)], ids=repr)
def test_only_category_discloses_the_whole_population(rule):
    """Behind a filter: a population is a group, and that all of it has one attribute is told of everybody."""
    table = Table.from_array([12], names=["injury"], codes=[["serious"]])
    need = assess(table, [rule])
    assert need.unsafe.tolist() == [True, False]
    everything = Protection.withhold(table, np.ones(2, dtype=bool))
    assert not audit(table, need, Release.of(table, everything)).safe
    with pytest.raises(NeedError, match="given away"):
        Greedy().protect(table, need)
    assert len(Group(k=1).find(Release.of(table, everything))) == 1
    assert len(Group(share=0.9).find(Release.of(table, everything))) == 1


def test_nonpositive_total_has_no_shares():
    table = Table(value=[5.0, -5.0, 0.0], relations=[[1, 1, -1]])
    assert not GroupDisclosure(0.9).assess(table).unsafe.any()


def test_unknown_variable_raises():
    with pytest.raises(RuleError, match="no variable 'colum'") as caught:
        GroupDisclosure(by="colum").assess(TALL)
    assert "'column'" in caught.value.fix


def test_level_is_excess_over_the_share():
    # Nine tenths of the row's 100 are 90; of the column's 65 they are 58.5, so 58 people.
    need = GroupDisclosure(0.9).assess(Table.from_array([[95, 5], [40, 60]]))
    assert {int(cell): float(need.lower[cell]) for cell in np.flatnonzero(need.unsafe)} == {0: 5.0, 4: 2.0}


def test_part_with_weight_two_needs_half_level():
    # Twice the first and the second are three times the third: 2/3 and 1/3 of it, two of four each.
    table = Table(value=[3.0, 6.0, 4.0], relations=[[2, 1, -3]])
    need = GroupDisclosure(0.4).assess(table)
    assert need.unsafe.tolist() == [True, True, False]
    assert need.lower == pytest.approx([3 - 0.4 * 4 * 3 / 2, 6 - 0.4 * 4 * 3, 0])
