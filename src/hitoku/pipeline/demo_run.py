"""The demo: a synthetic register, protected by an ordinary recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hitoku.files import refuse_occupied, spill_folder, write_csv
from hitoku.io import ENGLISH
from hitoku.io.recipe import Recipe
from hitoku.methods import Progress
from hitoku.model import Hierarchy
from hitoku.pipeline.recipe_run import STEPS, Run, run_recipe
from hitoku.samples import Register, register

if TYPE_CHECKING:
    from hitoku.metrics import Comparison

SMALL = ("activity", "size")  # small enough for every method to finish quickly
METHODS_COMPARED = ("greedy:tidy=true", "gauss", "optimal:cost=value,work_limit=5000")
RULES = ("p_percent:p=10", "few_contributors:n=3")
RECORDS = "enterprises.csv"

# Stages in order, described for the user.
DEMO_STEPS = {"invent": "inventing enterprises", **STEPS}
COMPARING = {"compare": "comparing methods on a smaller table"}  # optional stage


@dataclass(frozen=True, eq=False)
class DemoRun:
    """Result of the demo: the number of enterprises, the release, and the optional comparison."""

    n_enterprises: int
    run: Run
    compared: Comparison | None = None


def run_demo(
    out: Path,
    *,
    records: int,
    seed: int,
    by: Sequence[str],
    report: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    lang: str = ENGLISH,
    methods: bool = False,
) -> DemoRun:
    """Generate a register, write it and a recipe to a temporary folder, and run the recipe.

    Parameters
    ----------
    out
        Folder for the release; must be empty or missing.
    records, seed
        Number of enterprises, and random seed.
    by
        Variables of the table.
    report, progress
        Called with the name of each stage as it begins (``DEMO_STEPS``, ``COMPARING``), and in the method.
    lang
        Language of the checker's report.
    methods
        Also compare three methods, on a table small enough for each of them.
    """
    refuse_occupied(out)
    tell = report or (lambda _stage: None)
    tell("invent")
    firms = register(records, seed)
    with spill_folder() as folder:
        firms.records.to_csv(folder / RECORDS, index=False)
        for name, tree in firms.hierarchies.items():
            _write_tree(folder / f"{name}.csv", tree)
        recipe = demo_recipe(firms, by, folder)
        run = run_recipe(recipe, out, force=True, report=report, progress=progress, lang=lang)
        if not methods:
            return DemoRun(len(firms.records), run)
        tell("compare")
        return DemoRun(len(firms.records), run, _compare_methods(demo_recipe(firms, SMALL, folder)))


def _compare_methods(recipe: Recipe) -> Comparison:
    """Compare three methods."""
    from hitoku.pipeline.compare import compare  # noqa: PLC0415 - not needed by the demo itself
    from hitoku.pipeline.recipe_tables import build  # noqa: PLC0415 - as above
    from hitoku.rules import assess  # noqa: PLC0415 - as above

    table = build(recipe)[0][0].table
    return compare(table, assess(table, recipe.rules), METHODS_COMPARED)


def demo_recipe(firms: Register, by: Sequence[str], folder: Path) -> Recipe:
    """Return the recipe of the demo for a register whose files are in a folder."""
    keys = {
        "title": f"Turnover by {', '.join(by)} (made up)",
        "data": RECORDS,
        "by": list(by),
        "value": "turnover",
        "unit": "enterprise",
        "holding": "holding",
        "rules": list(RULES),
        "method": "auto",
        "hierarchies": {name: f"{name}.csv" for name in firms.hierarchies if name in by},
    }
    return Recipe.of(keys, folder)


def _write_tree(path: Path, tree: Hierarchy) -> None:
    """Write a hierarchy as recipes read it: one row per code with its parent, empty for the total."""
    pairs = zip(tree.codes[1:], tree.parents[1:].tolist(), strict=True)
    rows = [[code, tree.codes[above] if above else ""] for code, above in pairs]
    write_csv(path, [["code", "parent"], *rows], disarmed=False)
