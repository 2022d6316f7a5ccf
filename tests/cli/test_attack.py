"""``hitoku attack``: registered attacks from a release folder, and what they must find or not find."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.attacks import ATTACKS, Inference
from hitoku.attacks.adjustment import Adjustment
from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.io.recipe import Recipe
from hitoku.model import Finding, Severity
from hitoku.pipeline import run_recipe

# Table 1 of Minami and Abe's second example, one record per person.
PERSONS = [
    (f"M{i + 1}", f"P{j + 1}")
    for i, row in enumerate([[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]])
    for j, n in enumerate(row)
    for _ in range(n)
]
# Firm a is alone in N mills, firm b in S inns: whoever of them takes out the own amount can tell the rest.
FIRMS = [("N", "mills", 7), ("N", "inns", 5), ("N", "inns", 6), ("S", "mills", 4), ("S", "mills", 6)]
FIRMS += [("S", "inns", 60), ("W", "mills", 8), ("W", "mills", 9), ("W", "inns", 3), ("W", "inns", 4)]


@pytest.fixture
def persons(tmp_path):
    pd.DataFrame(PERSONS, columns=["region", "job"]).to_csv(tmp_path / "persons.csv", index=False)
    keys = {"data": "persons.csv", "by": ["region", "job"], "rules": ["min_frequency:n=5,zeros=true"]}
    keys |= {"width": 9.0, "method": "optimal:cost=unit,keep=margins"}
    return run_recipe(Recipe.of(keys, tmp_path), tmp_path / "release").folder


@pytest.fixture
def firms(tmp_path):
    def write(**keys):
        pd.DataFrame(FIRMS, columns=["region", "trade", "sales"]).to_csv(tmp_path / "firms.csv", index=False)
        all_keys = {
            "data": "firms.csv",
            "by": ["region", "trade"],
            "value": "sales",
            "method": "optimal:cost=value",
        }
        all_keys |= {"rules": ["few_contributors:n=2"], **keys}
        return run_recipe(Recipe.of(all_keys, tmp_path), tmp_path / "firms-release").folder

    return write


def run(*words):
    return CliRunner().invoke(app, ["attack", *map(str, words)], catch_exceptions=False)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["attack", *map(str, words)])
    assert left.value.code == BAD_INPUT
    return capsys.readouterr().err


def test_safe_release_withstands_interval_attack(persons):
    done = run(persons)
    assert done.exit_code == 0
    assert done.stdout == "interval: nothing found\n"


def test_changed_release_is_attacked_as_found(persons):
    public = persons / "public" / "table.csv"
    shown = public.read_text("utf-8")
    counts = pd.Series(PERSONS).value_counts()
    hidden = [line for line in shown.splitlines() if line.endswith(",,withheld")]
    line = next(line for line in hidden if not line.startswith("M4,P4"))
    region, job = line.split(",")[:2]
    public.write_text(shown.replace(line, f"{region},{job},{counts[(region, job)]},published"), "utf-8")
    done = run(persons, "--json")
    answer = json.loads(done.stdout)
    assert done.exit_code == FOUND
    assert answer["found"] == 1
    assert "region=M4, job=P4" in answer["attacks"]["interval"][0]


def test_method_attack_uses_the_recorded_method(persons):
    # The paper: of the four cells that fit in ten ways, knowing the method leaves fewer than nine apart.
    done = run(persons, "--attack", "matching", "--attack", "interval")
    assert done.exit_code == FOUND
    assert "matching: 1 found" in done.stdout
    assert "interval: nothing found" in done.stdout


def test_randomised_method_withstands_matching_attack(tmp_path):
    pd.DataFrame(PERSONS, columns=["region", "job"]).to_csv(tmp_path / "persons.csv", index=False)
    keys = {"data": "persons.csv", "by": ["region", "job"], "rules": ["min_frequency:n=5,zeros=true"]}
    recipe = Recipe.of({**keys, "width": 9.0, "method": "randomised:seed=1"}, tmp_path)
    folder = run_recipe(recipe, tmp_path / "release").folder
    # Whatever is drawn leaves the unsafe cell wide enough for somebody who knows the method.
    assert run(folder, "--attack", "matching").exit_code == 0


def test_matching_requires_recorded_method(persons, capsys):
    (persons / "checker" / "recipe.toml").unlink()
    assert "recipe.toml is missing" in refused(capsys, persons, "--attack", "matching")


def test_matching_requires_pattern_determined_by_table(firms, capsys):
    told = refused(capsys, firms(insiders="contributors"), "--attack", "matching")
    assert "does not follow" in told


@pytest.mark.parametrize(("insiders", "code"), [("none", FOUND), ("contributors", 0)])
def test_insider_subtracts_own_contribution(firms, insiders, code):
    done = run(firms(insiders=insiders), "--attack", "insider")
    assert done.exit_code == code


@pytest.mark.parametrize("damage", [None, "region,trade,value\n", "contributors\n1x\n"])
def test_insider_attack_requires_evidence(firms, capsys, damage):
    folder = firms()
    cells = folder / "checker" / "cells.csv"
    cells.unlink()
    if damage is not None:
        cells.write_text(damage, encoding="utf-8")
    told = refused(capsys, folder, "--attack", "insider")
    assert "cannot read the cells of the release" in told
    assert "1x" not in told


def test_every_attack_can_be_named(persons, capsys):
    assert "did you mean 'interval'?" in refused(capsys, persons, "--attack", "intervall")
    assert "'coalition'" in refused(capsys, persons, "--attack", "insider:coaltion=2")


def test_attack_with_own_findings_needs_no_interval(persons, monkeypatch):
    class Rumour:
        name, assumes, adjusted = "rumour", "somebody who talks", False

        def __init__(self, k: int = 1):
            self.k = k

        def infer(self, release):
            heard = f"{self.k} heard it"
            return Inference(
                findings=(Finding(severity=Severity.FAIL, place=release.describe(0), reason=heard),)
            )

    monkeypatch.setitem(ATTACKS, "rumour", Rumour)
    done = run(persons, "--attack", "rumour:k=3")
    assert done.exit_code == FOUND
    assert "fail: region=M1, job=P1: 3 heard it" in done.stdout


def test_attack_without_folder_knowledge_raises(persons, monkeypatch, capsys):
    class Eavesdropper:
        name, assumes, adjusted = "eavesdropper", "what was said in a room", False

        def __init__(self, said):
            self.said = said

        def infer(self, release):
            raise AssertionError(release)

    monkeypatch.setitem(ATTACKS, "eavesdropper", Eavesdropper)
    assert "attack eavesdropper needs said" in refused(capsys, persons, "--attack", "eavesdropper")


def test_attacks_are_listed_with_assumed_knowledge():
    done = run("--list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(ATTACKS)
    assert all(attack.assumes in line for attack, line in zip(ATTACKS.values(), lines, strict=True))


@pytest.fixture
def adjusted(tmp_path):
    (tmp_path / "cells.csv").write_text("a,b,x\n1,1,4\n1,2,6\n2,1,9\n2,2,9\n", encoding="utf-8")
    keys = {"cells": "cells.csv", "by": ["a", "b"], "value": "x", "unsafe": [{"a": "1", "b": "1"}]}
    recipe = Recipe.of({**keys, "method": "adjust:norm=l1", "measure": "x"}, tmp_path)
    return run_recipe(recipe, tmp_path / "adjusted").folder


def test_knowing_levels_and_senses_reveals_adjusted_cells(adjusted, monkeypatch):
    # The example in the docstring of Adjustment: one unsafe cell raised by its level, taken back in B3.
    monkeypatch.setitem(ATTACKS, "adjustment", Adjustment)
    done = run(adjusted, "--attack", "adjustment:scenario=B3,replications=3")
    assert done.exit_code == FOUND
    assert "a=1, b=1: the true value is recovered in 3 of 3 replications" in done.stdout


@pytest.mark.parametrize("name", ["interval", "matching"])
def test_intervals_do_not_describe_an_adjusted_release(adjusted, capsys, name):
    assert "--attack adjustment" in refused(capsys, adjusted, "--attack", name)


def test_adjustment_attack_rejects_suppressed_release(persons, capsys, monkeypatch):
    monkeypatch.setitem(ATTACKS, "adjustment", Adjustment)
    assert "not adjusted" in refused(capsys, persons, "--attack", "adjustment")


def test_incomplete_folder_raises(persons, capsys):
    (persons / "public" / "table.csv").unlink()
    assert "table.csv is missing" in refused(capsys, persons)


def test_path_without_release_raises(tmp_path, capsys):
    assert "no file or folder" in refused(capsys, tmp_path / "none")


# Lupp and Langsrud, Table 1, one record per person.
INJURED = [
    (group, injury)
    for group, row in {
        "Oslo driver": [0, 0, 17, 0],
        "Oslo passenger": [0, 3, 8, 0],
        "Bergen driver": [1, 0, 12, 0],
        "Bergen passenger": [0, 1, 0, 14],
        "Trondheim driver": [3, 2, 2, 0],
    }.items()
    for injury, n in zip(("None", "Light", "Serious", "Unknown"), row, strict=True)
    for _ in range(n)
]


@pytest.mark.parametrize("k", [0, 1, 3])
def test_direct_disclosure_release_withstands_group_attack(tmp_path, k):
    data, folder = tmp_path / "acc.csv", tmp_path / "release"
    pd.DataFrame(INJURED, columns=["group", "Injury"]).to_csv(data, index=False)
    words = ["protect", data, "--by", "group", "--by", "Injury", "--out", folder]
    rule = f"k={k},sensitive=Injury"
    done = CliRunner().invoke(app, [*map(str, words), "--rule", f"direct_disclosure:{rule}"])
    assert done.exit_code == 0, done.output
    assert run(folder, "--attack", f"group:{rule}").exit_code == 0
    assert CliRunner().invoke(app, ["audit", str(folder)]).exit_code == 0
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 0


def test_row_disclosed_by_hand_fails_the_audit(tmp_path):
    """Figure 1, second table: Oslo's drivers as 0 0 x 0 x."""
    data, folder = tmp_path / "acc.csv", tmp_path / "release"
    pd.DataFrame(INJURED, columns=["group", "Injury"]).to_csv(data, index=False)
    words = ["protect", data, "--by", "group", "--by", "Injury", "--out", folder]
    rule = "k=1,sensitive=Injury"
    CliRunner().invoke(app, [*map(str, words), "--rule", f"direct_disclosure:{rule}", "--method", "optimal"])
    public = folder / "public" / "table.csv"
    cells = pd.read_csv(folder / "checker" / "cells.csv", keep_default_na=False)
    truth = cells.set_index(["group", "Injury"])["value"]
    shown = pd.read_csv(public, keep_default_na=False, dtype=str)
    oslo = shown["group"] == "Oslo driver"
    hidden = oslo & shown["Injury"].isin(["Serious", "Total"])
    exact = shown.apply(lambda row: str(truth[row["group"], row["Injury"]]), axis=1)
    shown.loc[oslo, "value"] = exact.where(~hidden, "")
    shown.to_csv(public, index=False)
    done = CliRunner().invoke(app, ["audit", str(folder)])
    assert done.exit_code == FOUND
    assert "group=Oslo driver, Injury=Total: Injury=Serious" in done.output
