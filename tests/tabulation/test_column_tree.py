"""Columns that group codes make the same hierarchy as one that is written by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hitoku.errors import DataError, HierarchyError
from hitoku.model import Hierarchy
from hitoku.pipeline import run_recipe
from hitoku.tabulation import tabulate

RECORDS = pd.DataFrame({
    "town": ["01", "02", "03", "04", "01", "03"],
    "county": ["A", "A", "B", "C", "A", "B"],
    "state": ["X", "X", "X", "Y", "X", "X"],
    "x": [1, 2, 4, 8, 16, 32],
})  # fmt: skip


def test_columns_give_expected_tree():
    tree = Hierarchy.from_tree({"X": {"A": ["01", "02"], "B": ["03"]}, "Y": {"C": ["04"]}})
    expected = tabulate(RECORDS, ["town"], value="x", hierarchies={"town": tree})
    table = tabulate(RECORDS, ["town"], value="x", hierarchies={"town": ["county", "state"]})
    assert table.labels.codes == expected.labels.codes
    assert_array_equal(table.value, expected.value)


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (["state", "county"], DataError, "does not group the codes of 'state': 'X' have several groups"),
        (["count"], DataError, "did you mean 'county'"),
    ],
)
def test_columns_that_do_not_nest_raise(groups, error, words):
    with pytest.raises(error, match=words):
        tabulate(RECORDS, ["town"], value="x", hierarchies={"town": groups})


def test_code_of_group_and_leaf_raises():
    records = pd.DataFrame({"town": ["1", "2"], "county": ["2", "1"], "x": [1, 2]})
    with pytest.raises(HierarchyError):
        tabulate(records, ["town"], value="x", hierarchies={"town": ["county"]})


def test_recipe_hierarchy_names_columns(tmp_path):
    RECORDS.to_csv(tmp_path / "towns.csv", sep=";", index=False)
    recipe = tmp_path / "recipe.toml"
    text = 'data = "towns.csv"\nby = ["town"]\nvalue = "x"\nrules = ["dominance:n=1,k=100"]\n'
    recipe.write_text(text + '[hierarchies]\ntown = ["county", "state"]\n', encoding="utf-8")
    assert run_recipe(recipe).outcome.table.dimensions[0].codes[-1] == "Total"
    assert {"A", "X"} <= set(run_recipe(recipe).outcome.table.dimensions[0].codes)
