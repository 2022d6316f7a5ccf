"""Whom a rule looks at: units or holdings, as many of the largest as it needs; or what the table lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hitoku.errors import NeedError, RuleError
from hitoku.model import Contributors, Need, Table
from hitoku.rules import (
    DirectDisclosure,
    GroupDisclosure,
    KDisclosure,
    MinFrequency,
    PPercent,
    assess,
    contributors_at,
    merge_withheld,
    per_person,
    ranked_at,
)
from hitoku.testing import one_cell

TABLE = one_cell(60, 30, 10)
# One holding owns the first two.
HOLDINGS = Contributors(count=[2], largest=[[90, 10]], total=[100])


def test_holdings_are_default_contributors():
    both = replace(TABLE, holdings=HOLDINGS)
    assert contributors_at(both, "holding", "p_percent") is both.holdings
    assert contributors_at(both, "unit", "p_percent") is both.units
    assert contributors_at(TABLE, "holding", "p_percent") is TABLE.units


@pytest.mark.parametrize(
    ("holdings", "level", "said"),
    [
        pytest.param(HOLDINGS, "unit", "knows holdings, but not the units", id="holdings alone"),
        pytest.param(None, "unit", "does not say who contributes", id="nobody, units asked for"),
        pytest.param(None, "holding", "does not say who contributes", id="nobody, holdings asked for"),
    ],
)
def test_missing_contributions_raise(holdings, level, said):
    with pytest.raises(RuleError, match=said):
        contributors_at(replace(TABLE, units=None, holdings=holdings), level, "p_percent")


def test_rule_states_required_number_of_largest():
    assert ranked_at(TABLE, "unit", 3, "dominance").largest.tolist() == [[60, 30, 10]]
    with pytest.raises(RuleError, match="needs the 4 largest contributions, the table keeps 3"):
        ranked_at(TABLE, "unit", 4, "dominance")


def test_negative_contributions_require_a_ranking():
    below = replace(TABLE.units, negative=True)
    with pytest.raises(RuleError, match="no ranking was chosen"):
        ranked_at(replace(TABLE, units=below), "unit", 2, "p_percent")
    said = replace(below, magnitude="signed")
    assert ranked_at(replace(TABLE, units=said), "unit", 2, "p_percent") is not None


def test_error_names_at_most_three_kept_cells():
    table = Table.from_array(np.ones((2, 2), dtype=int), names=("r", "c"))
    table = replace(table, fixed=table.inner)
    with pytest.raises(NeedError, match=r"4 unsafe cell\(s\) may not be withheld") as refused:
        assess(table, [MinFrequency(3)])
    assert str(refused.value).count("min_frequency") == 3


# In the first row everybody has the attribute; a row of 9 leaves 3 elsewhere.
ROWS = Table.from_array([[0, 7], [3, 6]], names=("place", "told"), codes=(("A", "B"), ("no", "yes")))


def test_count_groups_require_coalition_plus_one():
    need = DirectDisclosure(k=1).assess(ROWS)
    rows = {tuple(row): cell for cell, row in enumerate(ROWS.cells.astype(str).itertuples(index=False))}
    yes = rows["A", "yes"]
    assert need.unsafe[yes]
    # Nobody is elsewhere; two must be able to be: one more than the single person who knows themselves.
    assert need.lower[yes] == 2
    own = [k for k in range(len(need.attributions)) if need.attributions.sums[[k]].toarray()[0, yes] < 0]
    assert own
    assert {float(need.attributions.goal[k]) for k in own} == {2.0}


def test_magnitude_groups_require_their_contributions():
    amounts = replace(ROWS, value=10.5 * ROWS.value, frequency=ROWS.value, integer=False)
    need, counts = (DirectDisclosure(k=1).assess(table) for table in (amounts, ROWS))
    assert need.unsafe.tolist() == counts.unsafe.tolist()
    assert not need.lower.any()
    # Two people of a group in which each has 10.5.
    assert need.attributions.goal.tolist() == [21.0] * len(counts.attributions)
    assert need.attributions.sums.toarray().tolist() == counts.attributions.sums.toarray().tolist()


def test_signed_amounts_reveal_no_unit_count():
    amounts = replace(ROWS, value=10.5 * ROWS.value, frequency=ROWS.value, integer=False, lower=-np.inf)
    for rule in (DirectDisclosure(k=1), KDisclosure(k=1), GroupDisclosure(share=0.6)):
        need = rule.assess(amounts)
        assert need.unsafe.any()
        assert len(need.attributions) == 0


@pytest.mark.parametrize("rule", [DirectDisclosure(k=1), KDisclosure(k=1), GroupDisclosure(0.6)], ids=repr)
def test_duplicate_person_disables_no_rule(rule):
    """Eight records of seven people in the first row; all of them have the attribute."""
    twice = replace(ROWS, value=Table.from_array([[0, 8], [3, 6]]).value, frequency=ROWS.value)
    need, counts = rule.assess(twice), rule.assess(ROWS)
    assert need.unsafe.tolist() == counts.unsafe.tolist()
    assert need.attributions.sums.toarray().tolist() == counts.attributions.sums.toarray().tolist()
    assert np.all(need.attributions.goal >= counts.attributions.goal)


@pytest.mark.parametrize(
    ("value", "people", "each"),
    [
        pytest.param([[34, 0], [12, 8]], [[17, 0], [6, 4]], [2.0, 2.0], id="a weight"),
        pytest.param([[17, 0], [9, 8]], [[17, 0], [8, 8]], [1.0, 17 / 16], id="one with two records"),
        pytest.param([[8.5, 0], [20, 20]], [[17, 0], [6, 4]], [1.0, 4.0], id="weights below one somewhere"),
        pytest.param([[0.17, 0], [0.06, 0.04]], [[17, 0], [6, 4]], [0.01, 0.01], id="weights of shares"),
        pytest.param([[0, 0], [12, 8]], [[0, 0], [6, 4]], [2.0, 2.0], id="an empty group"),
    ],
)
def test_person_counts_as_the_group_mean(value, people, each):
    table = Table.from_array(value, frequency=people, integer=False)
    assert per_person(table, np.array([2, 5])) == pytest.approx(each)


def test_fractional_contribution_is_assessed_at_the_limit():
    # The remainder of 0.05 is just a tenth of 0.5.
    table = one_cell(0.5, 0.25, 0.05)
    assert not PPercent(10).assess(table).unsafe[0]
    assert PPercent(10, at_limit="unsafe").assess(table).unsafe[0]
    assert not PPercent(10, at_limit="unsafe").assess(one_cell(0, 0, 0)).unsafe[0]


def test_suppressed_counts_require_width_by_size():
    table = Table.from_array([[30.0, -8.0], [4.0, 61.0]], lower=-np.inf)
    withheld = np.isin(table.value, [-8.0, 61.0])
    merged = merge_withheld(table, Need(unsafe=table.value == 4.0, lower=1.0), withheld, 0.5)
    asked = {float(table.value[cell]): float(merged.width[cell]) for cell in np.flatnonzero(merged.unsafe)}
    assert asked == {-8.0: 4.0, 4.0: 0.0, 61.0: 30.5}
    assert merged.why(int(np.flatnonzero(withheld)[0])) == ("frequency_table",)
