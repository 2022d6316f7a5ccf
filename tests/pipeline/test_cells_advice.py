"""What users of recipes and commands are told about cells that lack something is in their own words."""

from __future__ import annotations

import pytest

from hitoku.errors import HitokuError
from hitoku.io.recipe import Recipe
from hitoku.pipeline import run_recipe

CELLS = "region,size,x\na,1,5\nb,1,7\na,2,3\nb,2,4\n"


def refusal(folder, text, *, recipe):
    (folder / "cells.csv").write_text(text)
    asked = {"cells": "cells.csv", "by": ["region", "size"], "value": "x", "rules": ["few_contributors:n=3"]}
    if recipe:
        lines = [f"{key} = {value!r}" for key, value in asked.items()]
        (folder / "recipe.toml").write_text("\n".join(lines))
    with pytest.raises(HitokuError) as caught:
        run_recipe(Recipe.read(folder / "recipe.toml") if recipe else Recipe.of(asked, folder))
    return caught.value.fix


@pytest.mark.parametrize(("recipe", "unit"), [(True, 'unit = "..."'), (False, "--unit ...")])
def test_recipe_advice_names_recipe_keys(tmp_path, recipe, unit):
    fix = refusal(tmp_path, CELLS, recipe=recipe)
    assert unit in fix
    assert 'largest = ["..."]' in fix
    assert "from_frame" not in fix


@pytest.mark.parametrize("recipe", [True, False])
def test_nonadditive_totals_name_the_fixing_key(tmp_path, recipe):
    fix = refusal(tmp_path, CELLS + "a,Total,9\n", recipe=recipe)
    assert 'totals = "recompute"' in fix
    assert "from_frame" not in fix
