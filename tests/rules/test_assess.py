from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import count_tables, magnitude_tables

from hitoku.errors import HitokuError, NeedError, ParameterError, RuleError
from hitoku.model import Need, Table
from hitoku.rules import (
    RULES,
    DirectDisclosure,
    Dominance,
    FewContributors,
    Given,
    GroupDisclosure,
    KDisclosure,
    MinFrequency,
    PPercent,
    PriorPosterior,
    Request,
    Zero,
    assess,
    name_of,
)
from hitoku.tabulation import tabulate

# Minami & Abe 2019: counts below 5 are unsafe, and w > 8 means an interval of length 9 at least.
COUNTS = Table.from_array([[20, 15, 2], [72, 1, 30]])
UNSAFE = [2, 5]


def test_width_alone_sets_no_levels():
    need = assess(COUNTS, [MinFrequency(5)], width=9)
    assert need.unsafe.nonzero()[0].tolist() == UNSAFE
    assert not need.lower.any()
    assert not need.upper.any()
    assert need.width.tolist() == [9.0 if cell in UNSAFE else 0.0 for cell in range(12)]


def test_width_may_differ_per_cell():
    need = assess(COUNTS, [MinFrequency(5)], width=np.arange(12) * 1.0)
    assert need.width.sum() == sum(UNSAFE)


def test_default_width_is_a_fifth_and_at_least_one():
    table = Table.from_array([[20, 15], [72, 1]], fixed=None)
    need = assess(table, [Given([True, False, False, False, True] + [False] * 4, percent=None)])
    assert need.upper[[0, 4]].tolist() == [4.0, 1.0]
    assert need.lower[[0, 4]].tolist() == [4.0, 1.0]


@pytest.mark.parametrize(
    ("bounds", "lower", "upper"),
    [
        pytest.param({}, 2.0, 2.0, id="free"),
        pytest.param({"lower": 9.5}, 0.5, 2.0, id="known from below"),
        pytest.param({"upper": 11.0}, 2.0, 1.0, id="known from above"),
    ],
)
def test_default_range_respects_known_bounds(bounds, lower, upper):
    table = Table(value=[10.0], relations=np.zeros((0, 1)), frequency=[2], **bounds)
    need = assess(table, [MinFrequency(5)])
    assert (need.lower[0], need.upper[0]) == pytest.approx((lower, upper))


def test_width_replaces_the_default_range():
    need = assess(COUNTS, [Given(COUNTS.value == 1, width=6)])
    assert (need.upper.max(), need.width.max()) == (0.0, 6.0)


@given(table=magnitude_tables(integer=True), n=st.integers(1, 5), k=st.integers(40, 100))
def test_rules_combine_by_union_and_largest_level(table, n, k):
    rules = [FewContributors(n, percent=5), Dominance(1, k), PPercent(10)]
    own = [rule.assess(table) for rule in rules]
    need = assess(table, rules)
    assert need.unsafe.tolist() == np.any([o.unsafe for o in own], axis=0).tolist()
    for name in ("lower", "upper"):
        levels = getattr(need, name)
        assert levels.tolist() == np.max([getattr(o, name) for o in own], axis=0).tolist()
    assert np.all(need.upper[need.unsafe] >= 1), "one unit at least"
    for cell in range(table.n_cells):
        hit = [r.name for r, o in zip(rules, own, strict=True) if o.unsafe[cell]]
        assert list(need.why(cell)) == hit


@given(table=count_tables(hierarchical=True), width=st.integers(0, 20))
def test_levels_are_capped_at_known_bounds(table, width):
    for need in (assess(table, [MinFrequency(5)]), assess(table, [MinFrequency(5)], width=width)):
        assert np.all(table.value - need.lower >= table.lower)


# Every rule, with small levels and large ones.
EVERY_RULE = {
    "min_frequency": [MinFrequency(3), MinFrequency(4, percent=1)],
    "few_contributors": [FewContributors(3), FewContributors(4, percent=1)],
    "dominance": [Dominance(1, 75)],
    "p_percent": [PPercent(1), PPercent(30)],
    "prior_posterior": [PriorPosterior(1, 100)],
    "group_disclosure": [GroupDisclosure(0.8)],
    "direct_disclosure": [DirectDisclosure(k=1)],
    "k_disclosure": [KDisclosure(k=0)],
    "zero": [Zero(upper=5)],
    "request": [Request(p=10, share="asked")],
    "given": [],  # about the cells of one table: drawn below
}


def test_added_rules_cover_the_registry():
    assert set(EVERY_RULE) == set(RULES)


@settings(deadline=None, max_examples=10)
@given(table=magnitude_tables(integer=True, holdings=True), data=st.data())
def test_added_rule_never_lowers_requirements(table, data):
    marks = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    table = replace(table, measures={"asked": np.where(data.draw(marks), 0.5, 0.0)})
    cells = np.array(data.draw(marks))
    rules = [rule for some in EVERY_RULE.values() for rule in some]
    rules += [Given(cells), Given(~cells, percent=1), Given(cells, width=1)]
    for width in (None, 3):
        for one, other in permutations(rules, 2):
            alone, both = assess(table, [one], width=width), assess(table, [one, other], width=width)
            assert np.all(both.unsafe >= alone.unsafe)
            for level in ("lower", "upper", "width"):
                assert np.all(getattr(both, level) >= getattr(alone, level)), (one, other, level)


def test_small_level_does_not_replace_another_range():
    """A cell of one firm with 125: 20 percent by few_contributors, whatever p% asks for besides."""
    rows = [("a", "x", 90), ("a", "x", 60), ("a", "x", 33), ("a", "z", 125), ("b", "x", 40), ("b", "x", 30)]
    rows += [("b", "x", 15), ("b", "z", 79), ("b", "z", 70), ("b", "z", 52)]
    table = tabulate(pd.DataFrame(rows, columns=["r", "c", "v"]), by=["r", "c"], value="v")
    cell = int(np.flatnonzero(table.value == 125)[0])
    need = assess(table, [FewContributors(3), PPercent(1)])
    assert (need.lower[cell], need.upper[cell]) == (25.0, 25.0)


def test_rule_names_reveal_no_parameter():
    table = Table.from_array([[20, 15], [72, 1]])
    need = assess(table, [MinFrequency(2), MinFrequency(16), Given(table.value == 15), MinFrequency(3)])
    assert list(need.rules) == ["min_frequency", "min_frequency 2", "given", "min_frequency 3"]
    assert need.why(1) == ("min_frequency 2", "given")


class OddOnes:
    """A rule from elsewhere: it has nothing but the verb."""

    def assess(self, table):
        return Need(unsafe=table.value % 2 == 1)


def test_unnamed_rule_is_named_by_its_class():
    need = assess(COUNTS, [OddOnes(), OddOnes()])
    assert list(need.rules) == ["odd_ones", "odd_ones 2"]
    assert need.upper[need.unsafe].min() >= 1


class TooShort:
    def assess(self, table):
        return Need(unsafe=table.value[1:] > 0)


@pytest.mark.parametrize(
    ("rules", "error", "what"),
    [
        pytest.param([], RuleError, "no rules", id="none"),
        pytest.param(MinFrequency(5), ParameterError, "not a list", id="one rule"),
        pytest.param("p_percent", ParameterError, "not a list", id="a word"),
        pytest.param(["p_percent"], ParameterError, "is not a rule", id="a list of words"),
        pytest.param(
            [MinFrequency],
            ParameterError,
            r"rule 1 is the class MinFrequency\n.*\n.*write MinFrequency\(",
            id="a class",
        ),
        pytest.param([None], ParameterError, "is not a rule", id="nothing"),
        pytest.param([TooShort()], RuleError, "11 cells", id="a verdict too short"),
    ],
)
def test_invalid_rules_raise(rules, error, what):
    with pytest.raises(error, match=what) as caught:
        assess(COUNTS, rules)
    assert caught.value.fix


@pytest.mark.parametrize("width", [-1, np.nan, np.inf, "nine", [1, 2]])
def test_invalid_widths_raise(width):
    with pytest.raises(ParameterError) as caught:
        assess(COUNTS, [MinFrequency(5)], width=width)
    assert caught.value.where == "width"


def test_fixed_cell_cannot_be_unsafe():
    table = Table.from_array([[20, 15], [72, 1]], fixed=np.arange(9) == 4)
    with pytest.raises(NeedError, match="may not be withheld") as caught:
        assess(table, [MinFrequency(5)])
    assert "row=2, column=2" in caught.value.where
    assert "min_frequency" in caught.value.where
    assert isinstance(caught.value, HitokuError)


@pytest.mark.parametrize(
    ("named", "name"),
    [
        pytest.param("houses", "houses", id="its own"),
        pytest.param("", "few_contributors", id="an empty one"),
        pytest.param(7, "few_contributors", id="no word"),
    ],
)
def test_rule_is_reported_by_name_or_class(named, name):
    rule = type("FewContributors", (), {"name": named})()
    assert name_of(rule) == name
