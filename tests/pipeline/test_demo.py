"""The demo is a recipe: whoever runs its recipe on the same files gets the same release."""

from __future__ import annotations

import pytest

from hitoku.errors import OutputError
from hitoku.pipeline import COMPARING, DEMO_STEPS, demo_recipe, protect_table, run_demo
from hitoku.samples import register
from hitoku.tabulation import tabulate


def test_demo_matches_records_in_memory(tmp_path):
    told = []
    done = run_demo(tmp_path / "out", records=400, seed=3, by=["region", "size"], report=told.append)
    assert told == list(DEMO_STEPS)
    assert done.compared is None
    firms = register(400, 3)
    trees = {name: tree for name, tree in firms.hierarchies.items() if name in {"region", "size"}}
    table = tabulate(
        firms.records,
        by=["region", "size"],
        value="turnover",
        unit="enterprise",
        holding="holding",
        hierarchies=trees,
    )
    recipe = demo_recipe(firms, ["region", "size"], tmp_path)
    again = protect_table(table, recipe.rules, method=recipe.method)
    assert table.value.tolist() == done.run.outcome.table.value.tolist()
    assert table.labels.codes == done.run.outcome.table.labels.codes
    assert again.protection.withheld.tolist() == done.run.outcome.protection.withheld.tolist()
    assert (tmp_path / "out" / "checker" / "recipe.toml").read_text("utf-8") == recipe.text


def test_methods_are_compared_on_request(tmp_path):
    told = []
    done = run_demo(
        tmp_path / "out", records=400, seed=3, by=["region", "size"], report=told.append, methods=True
    )
    assert told == [*DEMO_STEPS, *COMPARING]
    assert [row.method for row in done.compared] == ["greedy", "gauss", "optimal"]
    # The optimal one is proven here, so no safe one withholds less.
    cost = {row.method: row.cost for row in done.compared}
    assert cost["optimal"] <= cost["greedy"]


def test_occupied_folder_raises_before_work(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    told = []
    with pytest.raises(OutputError, match="is not empty"):
        run_demo(tmp_path, records=400, seed=3, by=["region"], report=told.append)
    assert told == []
