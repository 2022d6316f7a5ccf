"""Whom to protect from: one vocabulary, one default, and people who are not taken for others."""

from __future__ import annotations

import pandas as pd
import pytest

from hitoku.attacks import Insider
from hitoku.coalitions import choose_insiders, contributions_in, parse_insiders
from hitoku.errors import ParameterError
from hitoku.io.recipe import Recipe
from hitoku.methods import Adjust, Gauss, Greedy
from hitoku.model import Hierarchy, Table
from hitoku.pipeline import protect_table
from hitoku.rules import PPercent
from hitoku.tabulation import tabulate
from hitoku.testing import one_cell

# In the north nobody but n1 has trade A: the region's firms of that trade are the town's.
FIRMS = {
    ("n1", "A"): (90, 4),
    ("n1", "B"): (30, 35, 40),
    ("n1", "C"): (33, 27, 41),
    ("n2", "B"): (25, 31, 50),
    ("n2", "C"): (44, 39, 28),
    ("s1", "A"): (22, 30, 27),
    ("s1", "B"): (51, 40, 39),
    ("s1", "C"): (29, 33, 35),
    ("s2", "A"): (28, 36, 31),
    ("s2", "B"): (42, 37, 30),
    ("s2", "C"): (47, 30, 26),
}
REGIONS = Hierarchy.from_tree({"N": ["n1", "n2"], "S": ["s1", "s2"]})


@pytest.fixture(scope="module")
def table():
    rows = [{"region": r, "trade": t, "x": x} for (r, t), sizes in FIRMS.items() for x in sizes]
    return tabulate(pd.DataFrame(rows), ["region", "trade"], value="x", hierarchies={"region": REGIONS})


def place(table: Table, *codes: str) -> int:
    return next(cell for cell in range(table.n_cells) if table.labels.codes_of(cell) == codes)


def test_total_of_one_part_shares_contributors(table):
    owner = {one.cell: one.contributor for one in contributions_in(table)}
    assert owner[place(table, "N", "A")] == owner[place(table, "n1", "A")]
    assert owner[place(table, "N", "B")] != owner[place(table, "n1", "B")]
    assert owner[place(table, "S", "A")] != owner[place(table, "s1", "A")]


def test_empty_neighbour_does_not_suppress_the_table(table):
    """Taken for two people, the firm of 90 learns the town from the region: everything was withheld."""
    method = Greedy(prefer="closing")
    outside = protect_table(table, [PPercent(10)], method=method, insiders="none")
    inside = protect_table(table, [PPercent(10)], method=method, insiders="contributors")
    assert inside.audit.safe
    # The largest contributor knows what they know without the release: nobody learns more from this pattern.
    assert inside.protection.withheld.tolist() == outside.protection.withheld.tolist()


@pytest.mark.parametrize(
    ("word", "read"),
    [
        ("none", ("none", 1)),
        ("singletons", ("singletons", 1)),
        ("contributors", ("contributors", 1)),
        ("contributors:coalition=2", ("contributors", 2)),
    ],
)
def test_insiders_spec_is_parsed(word, read):
    assert parse_insiders(word) == read


@pytest.mark.parametrize(
    "word", ["singleton", "all", "true", "none:coalition=2", "singletons:2", "contributors:coalition=0"]
)
def test_invalid_insiders_spec_raises(word):
    with pytest.raises(ParameterError):
        parse_insiders(word)


@pytest.mark.parametrize(
    ("given", "n"), [("none", 0), (False, 0), ("singletons", 1), ("contributors", 2), (True, 2)]
)
def test_choice_selects_expected_coalitions(given, n):
    two = tabulate(pd.DataFrame({"a": ["x", "x", "y"], "v": [5, 4, 7]}), ["a"], value="v")
    attack = choose_insiders(two, given).attack
    own = {one.contributor for one in attack.contributions if one.cell < 2} if attack else set()
    assert len(own) == n


def test_default_choice_is_named(table):
    assert choose_insiders(table, None).words == "singletons, the default for magnitudes"
    assert choose_insiders(table, "singletons").words == "singletons"
    assert choose_insiders(Table.from_array([[1, 2], [3, 4]]), None).attack is None
    assert choose_insiders(table, None, with_intervals=False).attack is None
    assert choose_insiders(one_cell(7), Insider(contributions_in(one_cell(7)))).attack is not None


def test_default_choice_applies_up_to_its_size(table, monkeypatch):
    monkeypatch.setattr("hitoku.coalitions.insider_choice.LARGEST_BY_DEFAULT", table.n_cells)
    assert choose_insiders(table, None).attack is not None
    monkeypatch.setattr("hitoku.coalitions.insider_choice.LARGEST_BY_DEFAULT", table.n_cells - 1)
    assert choose_insiders(table, None).words == f"none, the default beyond {table.n_cells - 1} cells"


@pytest.mark.parametrize("method", [Gauss(), Adjust()])
def test_default_omits_methods_without_interval_promise(table, method):
    outcome = protect_table(table, [PPercent(10)], method=method)
    assert outcome.insiders == "none, the default of a method that promises no intervals"


def test_release_with_few_published_cells_warns(table):
    everything = protect_table(table, [PPercent(10)], method=Greedy(start=table.value > 0))
    assert everything.audit.safe
    assert everything.warning.startswith("0% of the value is published")
    usual = protect_table(table, [PPercent(10)], method=Greedy(prefer="closing"))
    assert usual.warning == ""


def test_recipe_insiders_keep_the_spec():
    keys = {"data": "firms.csv", "by": ["region"], "rules": ["p_percent:p=10"], "insiders": "singletons"}
    assert Recipe.of(keys).keys.insiders == "singletons"


@pytest.mark.parametrize("given", ["singelton", "all", True])
def test_invalid_recipe_insiders_raise_with_key(given):
    keys = {"data": "firms.csv", "by": ["region"], "rules": ["p_percent:p=10"], "insiders": given}
    with pytest.raises(ParameterError) as refused:
        Recipe.of(keys)
    assert refused.value.where == "--insiders"
    assert "singletons" in refused.value.fix
