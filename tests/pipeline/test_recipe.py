"""Running a recipe: the same bytes every time, whole releases or none, cells named by their codes."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import hitoku as ht
from hitoku.errors import HitokuError, OutputError
from hitoku.evidence.verify import verify
from hitoku.io.release import write
from hitoku.methods import METHODS
from hitoku.model import Protection, Table
from hitoku.pipeline import positions, run_recipe

TREE = "code,parent\nNorth,\nSouth,\nN1,North\nN2,North\nS1,South\nS2,South\n"
ONE = """
data = "data/firms.csv"
by = ["region", "trade"]
value = "turnover"
holding = "owner"
rules = ["p_percent:p=10", "few_contributors:n=3"]
out = "release"
[hierarchies]
region = "data/regions.csv"
"""
LINKED = """
data = "data/firms.csv"
value = "turnover"
holding = "owner"
rules = ["p_percent:p=10"]
out = "release"
[hierarchies]
region = "data/regions.csv"
[[tables]]
name = "trades"
by = ["region", "trade"]
[[tables]]
name = "sizes"
by = ["region", "size"]
"""
COUNTS = """
data = "data/firms.csv"
by = ["region", "trade"]
value = "turnover"
rules = ["p_percent:p=10"]
out = "release"
[counts]
rules = ["min_frequency:n=4"]
width = 4
"""
COUNTED = """
data = "data/firms.csv"
by = ["trade", "size"]
rules = ["min_frequency:n=4"]
width = 4
out = "release"
"""
# Table 1 of Minami and Abe's second example, with the last cell marked by a person.
BY_HAND = "region,job,persons,status\n" + "".join(
    f"M{i + 1},P{j + 1},{n},{'x' if (i, j) == (3, 3) else ''}\n"
    for i, row in enumerate([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    for j, n in enumerate(row)
)
CELLS = """
cells = "data/cells.csv"
by = ["region", "job"]
value = "persons"
frequency = "persons"
mark = "status"
rules = ["min_frequency:n=5,zeros=true"]
width = 9
method = "{method}"
out = "release"
"""


@pytest.fixture
def kitchen(tmp_path):
    """Write a recipe and its data into a folder; return the path of the recipe."""
    rng = np.random.default_rng(5)
    n = 400
    firms = pd.DataFrame(
        {
            "region": rng.choice(["N1", "N2", "S1", "S2"], n),
            "trade": rng.choice(["mills", "inns", "farms"], n, p=[0.6, 0.36, 0.04]),
            "size": rng.choice(["1", "2", "3"], n, p=[0.7, 0.27, 0.03]),
            "owner": rng.integers(0, 250, n),
            "turnover": np.round(rng.lognormal(5, 1.5, n), 2),
        }
    )

    def write(text, folder="kitchen"):
        place = tmp_path / folder
        (place / "data").mkdir(parents=True)
        firms.to_csv(place / "data" / "firms.csv", index=False)
        (place / "data" / "regions.csv").write_text(TREE, encoding="utf-8")
        (place / "data" / "cells.csv").write_text(BY_HAND, encoding="utf-8")
        (place / "recipe.toml").write_text(text, encoding="utf-8")
        return place / "recipe.toml"

    return write


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


RECIPES = {
    "one": ONE,
    "linked": LINKED,
    "counts": COUNTS,
    "counted": COUNTED,
    "optimal": "method = 'optimal:cost=value'\n" + COUNTED,
    "gauss": "method = 'gauss:width=true'\n" + COUNTED,
    "cells": CELLS.format(method="greedy"),
}


@pytest.mark.parametrize("kind", RECIPES)
def test_same_recipe_and_data_give_same_bytes(kitchen, monkeypatch, tmp_path, kind):
    first = run_recipe(kitchen(RECIPES[kind], "first"))
    monkeypatch.chdir(tmp_path)
    second = run_recipe(kitchen(RECIPES[kind], "second").relative_to(tmp_path))
    assert first.safe
    assert first.folder == tmp_path / "first" / "release"
    written = tree(first.folder)
    assert written == tree(second.folder)
    kept = [content.decode() for name, content in written.items() if name.endswith("checker/recipe.toml")]
    assert kept == [RECIPES[kind]] * len(first.outcomes)
    assert not any(str(tmp_path).encode() in content for content in written.values())


def test_stored_recipe_runs_again(kitchen, tmp_path):
    options = {
        "data": "data/firms.csv",
        "by": ["trade", "size"],
        "rules": ["min_frequency:n=4"],
        "width": 4.0,
    }
    path = kitchen(COUNTED)
    first = run_recipe(ht.Recipe.of(options, path.parent), tmp_path / "first")
    again = path.parent / "again.toml"
    shutil.copy(first.folder / "checker" / "recipe.toml", again)
    second = run_recipe(again, tmp_path / "second")
    assert tree(first.folder) == tree(second.folder)


def test_input_files_are_recorded_by_fingerprint(kitchen):
    run = run_recipe(kitchen(ONE))
    summary = json.loads((run.folder / "checker" / "summary.json").read_text("utf-8"))
    assert sorted(summary["recipe"]["sha256"]) == ["data/firms.csv", "data/regions.csv"]


def test_missing_output_folder_writes_nothing(kitchen):
    path = kitchen(ONE.replace('out = "release"', ""))
    before = tree(path.parent)
    run = run_recipe(path)
    assert run.safe
    assert run.folder is None
    assert tree(path.parent) == before


def test_linked_tables_agree_and_are_proved_together(kitchen):
    run = run_recipe(kitchen(LINKED))
    assert verify(run.folder).ok
    shown = {
        name: pd.read_csv(run.folder / "public" / name / f"{name}.csv", dtype={"size": str})
        for name in ("trades", "sizes")
    }
    totals = {
        name: frame[frame.iloc[:, 1] == "Total"].set_index("region")["value"] for name, frame in shown.items()
    }
    pd.testing.assert_series_equal(totals["trades"], totals["sizes"])
    assert len(totals["trades"]) == 7
    whole = run.outcome
    assert sum(r.n_cells for r in run.parts["table"].values()) - 7 == whole.table.shown.sum()
    hidden = {name: int(frame["value"].isna().sum()) for name, frame in shown.items()}
    assert hidden == {name: int(r.withheld.sum()) for name, r in run.parts["table"].items()}
    assert min(hidden.values()) > 0


@pytest.mark.parametrize("measures", [("n", "n"), ("n", "m")])
def test_part_cells_are_found_in_linked_table(measures):
    rng = np.random.default_rng(2)
    cube = rng.integers(1, 9, (2, 3, 2))
    names, codes = ["region", "size", "sex"], [["N", "S"], ["1", "2", "3"], ["f", "m"]]
    one = Table.from_array(cube.sum(2), names=names[:2], codes=codes[:2], measure=measures[0])
    two = Table.from_array(cube.sum(1), names=names[::2], codes=codes[::2], measure=measures[1])
    whole = Table.link([one, two])
    for part in (one, two):
        cells = positions(part, whole)
        assert np.array_equal(whole.value[cells], part.value)
        assert len(set(cells.tolist())) == part.n_cells
        for cell, place in enumerate(cells.tolist()):
            there = dict(zip(whole.labels.names, whole.labels.codes_of(place), strict=True))
            here = dict(zip(part.labels.names, part.labels.codes_of(cell), strict=True))
            expected = dict.fromkeys(names, "Total") | here
            assert there == expected | ({"measure": part.measure} if len(set(measures)) > 1 else {})


def test_magnitudes_suppress_cells_suppressed_in_counts(kitchen):
    run = run_recipe(kitchen(COUNTS))
    for kind in ("counts", "magnitudes"):
        assert verify(run.folder / kind).ok
    shown = {
        kind: pd.read_csv(run.folder / kind / "public" / "table.csv")["value"].isna()
        for kind in ("counts", "magnitudes")
    }
    assert shown["counts"].any()
    assert not (shown["counts"] & ~shown["magnitudes"]).any()


def found(table, **codes):
    return [
        all(
            dict(zip(table.labels.names, table.labels.codes_of(cell), strict=True))[v] == c
            for v, c in codes.items()
        )
        for cell in range(table.n_cells)
    ]


@pytest.mark.parametrize("method", ["greedy", "optimal", "gauss"])
def test_cells_are_kept_and_suppressed_by_code(kitchen, method):
    more = """
    [[keep]]
    trade = "Total"
    [[withhold]]
    trade = "mills"
    size = ["1", "2"]
    """
    run = run_recipe(kitchen(f"method = '{method}'\n" + COUNTED + more), force=True)
    table, withheld = run.outcome.table, run.outcome.protection.withheld
    assert not withheld[found(table, trade="Total")].any()
    for size in "12":
        assert withheld[found(table, trade="mills", size=size)].all()


def test_kept_cells_may_be_suppressed_if_unsafe(kitchen):
    """A total that is unsafe itself stopped the run, whatever else was to be kept."""
    unsafe = '[[unsafe]]\ntrade = "Total"\nsize = "1"\n'
    with pytest.raises(HitokuError):
        run_recipe(kitchen(f'{COUNTED}{unsafe}[[keep]]\ntrade = "Total"\n', "stubborn"))
    keep = '[[keep]]\ntrade = "Total"\nsize = ["1", "2"]\nunless_unsafe = true\n'
    run = run_recipe(kitchen(COUNTED + unsafe + keep))
    table, withheld = run.outcome.table, run.outcome.protection.withheld
    assert run.safe
    assert withheld[found(table, trade="Total", size="1")].all()
    assert not withheld[found(table, trade="Total", size="2")].any()


@pytest.mark.parametrize(
    ("recipe", "word", "fix"),
    [(COUNTED, '"yes"', "unless_unsafe = true"), (COUNTS, "true", "leave unless_unsafe or counts out")],
)
def test_keep_unless_unsafe_must_be_boolean(kitchen, recipe, word, fix):
    with pytest.raises(HitokuError) as refused:
        run_recipe(kitchen(f'{recipe}[[keep]]\ntrade = "Total"\nunless_unsafe = {word}\n'))
    assert fix in refused.value.fix


def test_cells_are_marked_unsafe_by_code(kitchen):
    more = '[[unsafe]]\ntrade = "mills"\nsize = "1"\n'
    run = run_recipe(kitchen(COUNTED + more))
    need, cell = run.outcome.need, found(run.outcome.table, trade="mills", size="1")
    assert need.unsafe[cell].all()
    assert "given" in need.why(int(np.flatnonzero(cell)[0]))
    assert run.safe


def test_costs_are_multiplied_cell_by_cell(kitchen):
    # With the unsafe corner go one cell of its row, one of its column, and the one where these meet.
    cells = "a,b,n\n1,1,2\n1,2,50\n1,3,60\n2,1,50\n2,2,50\n2,3,60\n3,1,60\n3,2,60\n3,3,60\n"
    text = 'cells = "data/cells.csv"\nby = ["a", "b"]\nvalue = "n"\nunsafe = [{a = "1", b = "1"}]\n'
    text += 'method = "optimal:cost=value,keep=margins"\n'
    dear = text + "[[costs]]\ncells = {a = ['1', '2'], b = '2'}\ntimes = 10\n"

    def hidden(recipe, folder):
        path = kitchen(recipe, folder)
        (path.parent / "data" / "cells.csv").write_text(cells, encoding="utf-8")
        outcome = run_recipe(path).outcome
        return [outcome.table.labels.codes_of(cell) for cell in np.flatnonzero(outcome.protection.withheld)]

    assert hidden(text, "plain") == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]
    assert hidden(dear, "dear") == [("1", "1"), ("1", "3"), ("2", "1"), ("2", "3")]


def test_forced_cells_are_always_published(kitchen):
    text = "method = 'gauss'\n" + COUNTED + '[[forced]]\ntrade = "farms"\n'
    run = run_recipe(kitchen(text), force=True)
    assert not run.outcome.protection.withheld[found(run.outcome.table, trade="farms")].any()


def test_manual_marks_stay_and_are_completed(kitchen):
    run = run_recipe(kitchen(CELLS.format(method="greedy")))
    withheld = run.outcome.protection.withheld
    assert withheld[found(run.outcome.table, region="M4", job="P4")].all()
    assert withheld.sum() > 1
    assert run.safe


@pytest.mark.parametrize("method", ["greedy", "optimal", "gauss:width=true"])
def test_tabulated_records_use_marks_of_another_file(kitchen, method):
    path = kitchen(f"method = '{method}'\n" + COUNTED + 'start = "hand.csv"\nmark = "secret"\n')
    (path.parent / "hand.csv").write_text("trade,size,secret\nmills,1,x\nTotal,3,c\n", encoding="utf-8")
    run = run_recipe(path)
    for codes in ({"trade": "mills", "size": "1"}, {"trade": "Total", "size": "3"}):
        assert run.outcome.protection.withheld[found(run.outcome.table, **codes)].all()
    assert run.safe


@pytest.mark.parametrize(
    ("recipe", "old", "new", "where", "what"),
    [
        pytest.param(ONE, '"turnover"', '"turnver"', "line 4, key value", "no column 'turnver'", id="value"),
        pytest.param(
            ONE, 'turnover"', 'turnver"\nmeasure="turnver"', "line 4, key value", "no col", id="name"
        ),
        pytest.param(ONE, '"trade"', '"trad"', "line 3, key by, entry 2", "no column 'trad'", id="code"),
        pytest.param(ONE, "firms.csv", "firm.csv", "line 2, key data", "no file", id="data"),
        pytest.param(ONE, "regions.csv", "region.csv", "line 9, key hierarchies", "no file", id="hierarchy"),
        pytest.param(ONE, "data/regions.csv", "data/cells.csv", "line 9", "not levels of one", id="no tree"),
        pytest.param(LINKED, '"size"]', '"sise"]', "line 14, key tables, entry 2, by", "'sise'", id="linked"),
        pytest.param(
            COUNTED,
            "out =",
            'keep = [{trade = "mils"}]\nout =',
            "line 6, key keep",
            "no code 'mils'",
            id="a code",
        ),
        pytest.param(
            COUNTED,
            "out =",
            'keep = [{trde = "mills"}]\nout =',
            "line 6, key keep",
            "no variable",
            id="variable",
        ),
        pytest.param(
            COUNTED,
            "out =",
            'forced = [{trade = "mills"}]\nout =',
            "line 6, key forced",
            "auto has no option",
            id="forced",
        ),
        pytest.param(
            COUNTED + "[[costs]]\ncells = {trade = 'mils'}\ntimes = 3\n",
            "out =",
            "out =",
            "line 8, key costs, entry 1, cells, trade",
            "no code 'mils'",
            id="costs",
        ),
        pytest.param(
            "method = 'gauss'\n" + COUNTED + "[[costs]]\ncells = {trade = 'mills'}\ntimes = 3\n",
            "out =",
            "out =",
            "line 8, key costs",
            "no costs",
            id="no costs",
        ),
        pytest.param(
            COUNTED,
            "out =",
            'where = {trade = ["mils"]}\nout =',
            "line 6, key where",
            "no record has 'trade' = 'mils'",
            id="filter",
        ),
        pytest.param(
            LINKED + 'where = {sise = ["1"]}\n',
            "out =",
            "out =",
            "line 15, key tables, entry 2, where",
            "no column 'sise'",
            id="filter of a column that is not there",
        ),
        pytest.param(ONE, "data/firms.csv", "data", "line 2, key data", "is a folder", id="a folder"),
        pytest.param(CELLS, '"status"', '"region"', "line 6, key mark", "not understood", id="marks"),
        pytest.param(CELLS, '"persons"\nfreq', '"person"\nfreq', "line 4, key value", "'person'", id="cells"),
    ],
)
def test_recipe_error_names_its_line(kitchen, recipe, old, new, where, what):
    text = recipe.format(method="greedy") if recipe is CELLS else recipe
    assert old in text
    path = kitchen(text.replace(old, new))
    with pytest.raises(HitokuError) as caught:
        run_recipe(path)
    assert f"recipe.toml, {where}" in caught.value.where
    assert what in caught.value.what
    assert caught.value.fix
    assert not (path.parent / "release").exists()


@pytest.mark.parametrize(
    ("recipe", "times", "what"),
    [
        pytest.param(ONE, 2**40, "beyond 2**53", id="records, large"),
        pytest.param(ONE, 1e-12, "below 1e-6", id="records, small"),
        pytest.param(LINKED, 2**40, "beyond 2**53", id="linked, large"),
        pytest.param(LINKED, 1e-12, "below 1e-6", id="linked, small"),
        pytest.param(CELLS.format(method="greedy"), 2**47, "beyond 2**53", id="cells, large"),
    ],
)
def test_values_beyond_double_precision_raise(kitchen, recipe, times, what):
    path = kitchen(recipe)
    for name, column in (("firms.csv", "turnover"), ("cells.csv", "persons")):
        data = pd.read_csv(path.parent / "data" / name)
        data[column] = data[column].round().astype(int) * times
        data.to_csv(path.parent / "data" / name, index=False)
    with pytest.raises(HitokuError) as caught:
        run_recipe(path)
    assert what in caught.value.what
    assert "another unit, such as thousands" in caught.value.fix
    assert not (path.parent / "release").exists()


def test_codes_never_tabulated_together_raise(kitchen):
    path = kitchen(LINKED + '[[keep]]\ntrade = "mills"\nsize = "1"\n')
    with pytest.raises(HitokuError, match="no cell has the codes"):
        run_recipe(path)


@pytest.mark.parametrize("method", ["greedy", "optimal", "gauss"])
@pytest.mark.parametrize(
    ("parameters", "more"),
    [("", '[[keep]]\ntrade = "Total"\n'), (":keep=margins", "# one line\n# and another\n")],
)
def test_cell_both_kept_and_suppressed_raises(kitchen, method, parameters, more):
    text = f"method = '{method}{parameters}'" + COUNTED + more + '[[withhold]]\ntrade = "Total"\nsize = "2"\n'
    with pytest.raises(HitokuError, match="trade=Total, size=2, are both") as caught:
        run_recipe(kitchen(text))
    assert "line 9, key withhold" in caught.value.where


def test_method_steps_are_stored_for_checker(kitchen):
    run = run_recipe(kitchen("method = 'greedy:record=full'\n" + COUNTED))
    steps = pd.read_csv(run.folder / "checker" / "steps.csv")
    taken = run.outcome.protection.steps
    assert len(taken) > 0
    assert steps["cell"].tolist() == [run.outcome.table.describe(step.cell) for step in taken]
    assert steps["reason"].tolist() == [str(step.reason) for step in taken]
    assert np.allclose(steps["high_after"], [step.after[1] for step in taken], equal_nan=True)


class UnsafeOnly:
    """A method that does not do its work."""

    def protect(self, table, need, progress=None):
        del progress
        return Protection.withhold(table, need.unsafe, need)


@pytest.mark.parametrize("kind", ["one", "linked", "counts"])
def test_unsafe_release_requires_force_and_is_marked(kitchen, monkeypatch, kind):
    monkeypatch.setitem(METHODS, "auto", UnsafeOnly)
    # Where several tables are judged together, a pattern that is too small is extended.
    text = 'insiders = "none"\n' + ("groups = false\n" if kind == "linked" else "") + RECIPES[kind]
    path = kitchen(text)
    run = run_recipe(path)
    assert not run.safe
    assert run.folder is None
    assert not (path.parent / "release").exists()
    forced = run_recipe(path, force=True)
    folder = forced.folder / "counts" if kind == "counts" else forced.folder
    assert "Do not publish" in (folder / "NOT_SAFE.txt").read_text("utf-8")
    assert "NOT SAFE" in (folder / "public" / "table.html").read_text("utf-8")
    assert json.loads((folder / "checker" / "summary.json").read_text("utf-8"))["safe"] is False
    assert not (folder / "checker" / "certificate.json.gz").exists()


def test_safe_release_is_not_marked_unsafe(kitchen):
    names = list(tree(run_recipe(kitchen(ONE), force=True).folder))
    assert "NOT_SAFE.txt" not in names
    assert "checker/certificate.json.gz" in names


@pytest.mark.parametrize("kind", ["one", "counts"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_interrupted_write_leaves_no_files(kitchen, monkeypatch, kind, failure):
    path = kitchen(RECIPES[kind])
    before = tree(path.parent)
    written = []

    def stop(*args, **kwargs):
        del args, kwargs
        written.append(True)
        if len(written) == (2 if kind == "counts" else 1):
            raise failure

    monkeypatch.setattr(write, "write_jj", stop)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        run_recipe(path)
    assert tree(path.parent) == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["data", "recipe.toml"]


def test_occupied_folder_raises_before_work(kitchen):
    path = kitchen(ONE.replace("firms.csv", "nowhere.csv"))
    (path.parent / "release").mkdir()
    (path.parent / "release" / "letter.txt").write_text("keep me", encoding="utf-8")
    stages = []
    with pytest.raises(OutputError, match="is not empty"):
        run_recipe(path, report=stages.append)
    assert stages == []
    assert (path.parent / "release" / "letter.txt").read_text("utf-8") == "keep me"


def test_every_stage_is_reported(kitchen):
    stages = []
    run_recipe(kitchen(ONE), report=stages.append)
    assert stages == ["build", "assess", "protect", "groups", "insiders", "audit", "attack", "write"]
