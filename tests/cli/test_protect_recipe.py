"""``hitoku protect`` with a recipe, and with options that say the same."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.evidence.verify import verify
from hitoku.io.release import write
from hitoku.methods import METHODS
from hitoku.model import Protection

RECIPE = 'data = "firms.csv"\nby = ["trade", "size"]\nrules = ["min_frequency:n=4"]\nwidth = 4.0\n'
OPTIONS = ["firms.csv", "--by", "trade", "--by", "size", "--rule", "min_frequency:n=4", "--width", "4"]


@pytest.fixture(autouse=True)
def kitchen(tmp_path, monkeypatch):
    """Work in a folder with records and a recipe."""
    rng = np.random.default_rng(5)
    pd.DataFrame(
        {
            "trade": rng.choice(["mills", "inns", "farms"], 300, p=[0.6, 0.36, 0.04]),
            "size": rng.choice(["1", "2", "3"], 300, p=[0.7, 0.27, 0.03]),
            "turnover": np.round(rng.lognormal(5, 1.5, 300), 2),
        }
    ).to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["protect", *words], catch_exceptions=False)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["protect", *words])
    assert left.value.code == BAD_INPUT
    return capsys.readouterr().err


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_recipe_equals_command_line_options(kitchen):
    assert run("recipe.toml", "--out", "one").exit_code == 0
    assert run(*OPTIONS, "--out", "two").exit_code == 0
    assert verify(kitchen / "one").ok
    assert tree(kitchen / "one") == tree(kitchen / "two")


def test_recipe_sets_output_folder(kitchen):
    (kitchen / "recipe.toml").write_text(RECIPE + 'out = "mine"\n', encoding="utf-8")
    done = run("recipe.toml", "--json")
    assert json.loads(done.stdout)["out"] == "mine"
    assert verify(kitchen / "mine").ok


def test_missing_output_folder_raises(capsys):
    assert "--out" in refused(capsys, "recipe.toml")
    assert "--out" in refused(capsys, *OPTIONS)


@pytest.mark.parametrize(
    "word",
    [
        ["--by", "size"],
        ["--rule", "zero"],
        ["--method", "gauss"],
        ["--width", "3"],
        ["--keep", "size=1"],
        ["--cells"],
        ["--hierarchy", "size=x.csv"],
    ],
)
def test_option_in_addition_to_recipe_raises(capsys, kitchen, word):
    told = refused(capsys, "recipe.toml", "--out", "x", *word)
    assert f"where: {word[0]}\n" in told
    assert "recipe" in told
    assert not (kitchen / "x").exists()


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("greedy:tidy=true,prefer=closing", "greedy"),
        ("optimal:cost=value,keep=margins,time_limit_s=60", "optimal"),
        ("gauss:width=true", "gauss"),
    ],
)
def test_method_parameters_are_passed_on(method, expected):
    done = run(*OPTIONS, "--method", method, "--out", "x", "--json", "--value", "turnover")
    answer = json.loads(done.stdout)
    assert (answer["method"], answer["safe"]) == (expected, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--method", "optimal:cst=value"], ["--method", "'cost'"], id="parameter"),
        pytest.param(
            ["--method", "optimal:cost=valu"], ["cost", "'value'", "unit, value, frequency"], id="choice"
        ),
        pytest.param(["--method", "greedy:tidy=maybe"], ["tidy", "true or false"], id="truth"),
        pytest.param(
            ["--method", "optimal:time_limit_s=soon"], ["time_limit_s", "a positive number"], id="number"
        ),
        pytest.param(["--method", "greedy:start=x"], ["start"], id="only in Python"),
        pytest.param(["--keep", "mills"], ["--keep", "no variable and code", "write"], id="no code"),
        pytest.param(["--keep", "trade=mils"], ["--keep", "'mills'"], id="misspelt code"),
        pytest.param(["--withhold", "trad=mills"], ["--withhold", "'trade'"], id="misspelt variable"),
        pytest.param(["--value", "turnver"], ["--value", "'turnover'"], id="misspelt column"),
        pytest.param(["--start", "none.csv"], ["--start", "no file"], id="no file"),
        pytest.param(["--frequency", "n"], ["--frequency", "goes with cells"], id="of cells"),
    ],
)
def test_invalid_option_lists_allowed_values(capsys, kitchen, words, told):
    err = refused(capsys, *OPTIONS, *words, "--out", "x")
    assert [word for word in told if word not in err] == []
    assert not (kitchen / "x").exists()


def test_invalid_recipe_prints_three_lines(capsys, kitchen):
    (kitchen / "recipe.toml").write_text(RECIPE.replace("rules", "ruls"), encoding="utf-8")
    err = refused(capsys, "recipe.toml", "--out", "x")
    assert err.splitlines() == [
        "ParameterError: no key 'ruls'",
        "  where: recipe.toml, line 3, key ruls",
        "  fix: did you mean 'rules'?",
    ]


def test_cells_are_kept_and_suppressed_by_code(kitchen):
    words = ["--keep", "trade=Total", "--withhold", "trade=mills,size=1+2"]
    assert run(*OPTIONS, *words, "--out", "x").exit_code == 0
    shown = pd.read_csv(kitchen / "x" / "public" / "table.csv", dtype=str).set_index(["trade", "size"])
    assert shown.loc["Total", "status"].eq("published").all()
    assert shown.loc[[("mills", "1"), ("mills", "2")], "status"].eq("withheld").all()


def test_variable_with_several_hierarchies_is_protected(kitchen):
    (kitchen / "one.csv").write_text("code,parent\nlow,\n1,low\n2,low\n3,\n", encoding="utf-8")
    (kitchen / "two.csv").write_text("code,parent\nodd,\n1,odd\n3,odd\n2,\n", encoding="utf-8")
    words = ["--hierarchy", "size=one.csv", "--hierarchy", "size=two.csv"]
    assert run(*OPTIONS, *words, "--out", "x").exit_code == 0
    shown = pd.read_csv(kitchen / "x" / "public" / "table.csv", dtype=str)
    assert set(shown["size"]) == {"1", "2", "3", "low", "odd", "Total"}
    assert verify(kitchen / "x").ok


def test_hand_suppressed_table_is_completed(kitchen):
    counts = pd.read_csv("firms.csv", dtype={"size": str}).groupby(["trade", "size"]).size()
    cells = counts.reset_index(name="n").assign(status="")
    cells.loc[0, "status"] = "x"
    cells.to_csv("cells.csv", index=False)
    words = ["cells.csv", "--cells", *OPTIONS[1:], "--value", "n", "--frequency", "n", "--mark", "status"]
    done = run(*words, "--out", "x", "--json")
    assert json.loads(done.stdout)["safe"] is True
    shown = pd.read_csv(kitchen / "x" / "public" / "table.csv", dtype=str).set_index(["trade", "size"])
    assert shown.loc[tuple(cells.loc[0, ["trade", "size"]]), "status"] == "withheld"
    assert (shown["status"] == "withheld").sum() > 1


def test_manual_marks_may_be_in_own_file(kitchen):
    (kitchen / "hand.csv").write_text("trade,size,status\nmills,1,x\n", encoding="utf-8")
    assert run(*OPTIONS, "--start", "hand.csv", "--out", "x").exit_code == 0
    assert "mills,1,,withheld" in (kitchen / "x" / "public" / "table.csv").read_text("utf-8")


def test_counts_and_magnitudes_are_reported_in_sequence(kitchen):
    text = 'data = "firms.csv"\nby = ["trade", "size"]\nvalue = "turnover"\nrules = ["p_percent:p=10"]\n'
    text += '[counts]\nrules = ["min_frequency:n=4"]\nwidth = 4\n'
    (kitchen / "recipe.toml").write_text(text, encoding="utf-8")
    done = run("recipe.toml", "--out", "x")
    assert done.exit_code == 0
    assert done.stdout.index("counts") < done.stdout.index("magnitudes")
    answer = json.loads(run("recipe.toml", "--out", "y", "--json").stdout)
    assert answer["safe"] is answer["counts"]["safe"] is answer["magnitudes"]["safe"] is True


class UnsafeOnly:
    def protect(self, table, need, progress=None):
        del progress
        return Protection.withhold(table, need.unsafe, need)


def test_force_writes_unsafe_release_with_warning(kitchen, monkeypatch):
    monkeypatch.setitem(METHODS, "auto", UnsafeOnly)
    done = run("recipe.toml", "--out", "x")
    assert done.exit_code == FOUND
    assert "nothing was written" in done.stdout
    assert not (kitchen / "x").exists()
    done = run("recipe.toml", "--out", "x", "--force")
    assert done.exit_code == FOUND
    assert "NOT SAFE" in done.stdout
    assert (kitchen / "x" / "NOT_SAFE.txt").is_file()


def test_interrupted_write_leaves_nothing(kitchen, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "write_jj", interrupt)
    with pytest.raises(SystemExit) as left:
        main(["protect", "recipe.toml", "--out", "x"])
    assert left.value.code == 130
    assert sorted(p.name for p in kitchen.iterdir()) == ["firms.csv", "recipe.toml"]


def test_piped_standard_output_contains_only_the_answer(capsys):
    with pytest.raises(SystemExit) as left:
        main(["protect", "recipe.toml", "--out", "x", "--json"])
    out, err = capsys.readouterr()
    assert left.value.code == 0
    assert err == ""
    assert len(out.splitlines()) == 1
