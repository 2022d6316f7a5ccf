"""Where a recipe may write: below its own folder, unless the caller names another place."""

from __future__ import annotations

import pytest

from hitoku.errors import OutputError
from hitoku.pipeline import run_recipe


@pytest.mark.parametrize("out", ["../release", "/srv/hitoku-elsewhere"], ids=["above", "anywhere"])
def test_recipe_writes_outside_its_folder_only_if_allowed(tmp_path, out):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "people.csv").write_text("job\n" + 9 * "a\n" + 8 * "b\n", "utf-8")
    recipe = inside / "recipe.toml"
    recipe.write_text(
        f'data = "people.csv"\nby = ["job"]\nrules = ["min_frequency:n=3"]\nout = "{out}"\n', "utf-8"
    )
    with pytest.raises(OutputError, match="outside the folder it stands in"):
        run_recipe(recipe)
    assert not (tmp_path / "release").exists()
    assert run_recipe(recipe, tmp_path / "release").safe
    assert (tmp_path / "release" / "public" / "table.csv").exists()
