"""Nothing that can be derived from several tables is missed: listed independently in random publications."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.linking.publication_draws import combinations_of, register, tables_of
from tests.oracles.publications import small_sets

from hitoku.errors import NeedError
from hitoku.model import Protection, Release, Status
from hitoku.pipeline import run_recipe

N = 3


COUNTS = (f'rules = ["min_frequency:n={N}"]', f"width = {N}")
AMOUNTS = (f'rules = ["few_contributors:n={N}"]', 'value = "amount"', 'unit = "unit"', 'insiders = "none"')


def recipe_of(folder, records, tables, keys) -> str:
    units = np.arange(len(records))
    for name in ("people.csv", "copy.csv"):
        records.assign(unit=units, amount=units % 7 * 10 + 5).to_csv(folder / name, index=False)
    lines = ['data = "people.csv"', *keys]
    for name, spec in tables.items():
        lines += ["[[tables]]", f'name = "{name}"', f"by = {json.dumps(spec['by'])}"]
        where = ", ".join(f"{column} = {json.dumps(codes)}" for column, codes in spec["where"].items())
        lines += [f"where = {{{where}}}"] if where else []
        levels = ", ".join(f'{column} = ["{above}"]' for column, above in spec["levels"].items())
        lines += [f"hierarchies = {{{levels}}}"] if levels else []
        lines += [f"{key} = {json.dumps(value)}" for key, value in spec["options"].items()]
    path = folder / "recipe.toml"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def judged(seed: int, folder, keys=COUNTS) -> tuple[str, list[int] | None, list[int] | None]:
    """Run one publication; return its result, and small sets with its pattern and with unsafe cells alone."""
    rng = np.random.default_rng(seed)
    records, base = register(rng)
    tables = tables_of(rng, records)
    try:
        run = run_recipe(recipe_of(folder, records, tables, keys))
    except NeedError:
        return "impossible", [], []
    row = run.verdict["tables"]
    combinations = combinations_of(records, base, tables)
    parts, alone = {}, {}
    for key, outcome in run.outcomes.items():
        for name, release in (run.parts[key] or {key: outcome.release}).items():
            parts[name] = release
            # What withholding the unsafe cells of each table by itself would show.
            linked = run.parts[key] and outcome.table.linked[list(run.parts[key]).index(name)]
            table, cells = linked or (outcome.table, slice(None))
            unsafe = outcome.need.unsafe[cells]
            alone[name] = Release.of(table, Protection.withhold(table, unsafe))
    assert parts.keys() == tables.keys()
    return (
        str(row.status),
        small_sets(combinations, tables, parts, N),
        small_sets(combinations, tables, alone, N),
    )


def examine(seeds, folder, keys=COUNTS) -> dict[str, int]:
    tally = dict.fromkeys([*map(str, Status), "impossible", "derivable before"], 0)
    for seed in seeds:
        status, left, before = judged(seed, folder, keys)
        tally[status] += 1
        tally["derivable before"] += bool(before)
        if status in {"proved", "passed"}:
            assert not left, f"seed {seed}: {status}, but sets of {left} records follow"
    return tally


def test_no_small_group_is_derivable_if_row_passes(tmp_path):
    tally = examine(range(40), tmp_path)
    assert tally["proved"] >= 20, tally
    assert tally["derivable before"] >= 10, tally


def test_no_small_contributor_set_is_derivable_if_row_passes(tmp_path):
    tally = examine(range(1000, 1015), tmp_path, AMOUNTS)
    assert tally["passed"] + tally["proved"] >= 8, tally
    assert tally["derivable before"] >= 3, tally


@pytest.mark.long
def test_no_small_group_is_derivable_in_2000_publications(tmp_path):
    tally = examine(range(100, 2100), tmp_path)
    assert tally["proved"] >= 1200, tally
    assert tally["derivable before"] >= 500, tally
