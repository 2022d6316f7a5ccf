"""``hitoku risk``: from a release folder and its records to a file for the checker."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, app, main
from hitoku.io.recipe import Recipe
from hitoku.pipeline import run_recipe

# Firm a is alone in N mills, firm f in S inns.
FIRMS = [("N", "mills", "a", 7), ("N", "inns", "b", 5), ("N", "inns", "c", 6), ("S", "mills", "d", 4)]
FIRMS += [("S", "mills", "e", 6), ("S", "inns", "f", 60), ("W", "mills", "g", 8), ("W", "mills", "h", 9)]
FIRMS += [("W", "inns", "=i()", 3), ("W", "inns", "k", 4)]


@pytest.fixture(scope="module")
def firms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("firms")
    frame = pd.DataFrame(FIRMS, columns=["region", "trade", "firm", "sales"])
    frame.to_csv(folder / "firms.csv", index=False)
    keys = {"data": "firms.csv", "by": ["region", "trade"], "value": "sales", "unit": "firm"}
    keys |= {"rules": ["few_contributors:n=2"], "method": "optimal:cost=value", "insiders": "none"}
    run_recipe(Recipe.of(keys, folder), folder / "release")
    return folder


def run(*words):
    return CliRunner().invoke(app, ["risk", *map(str, words)], catch_exceptions=False)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["risk", *map(str, words)])
    assert left.value.code == BAD_INPUT
    return capsys.readouterr().err


def test_risk_file_lists_units_and_terminal_does_not(firms, tmp_path):
    done = run(firms / "release", "--data", firms / "firms.csv", "--out", tmp_path / "records.csv")
    assert done.exit_code == 0
    assert done.stdout.startswith("contributors: 10\n")
    assert "CONFIDENTIAL" in done.stdout
    with (tmp_path / "records.csv").open(encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0] == "contributor,cells,known,fewest,outsider_percent,insider_percent,cell"
    assert len(lines) == 11
    # A name that a spreadsheet would run is disarmed.
    assert any(line.startswith("'=i()") for line in lines)


def test_risk_json_matches_intervals(firms):
    """The closest outsider: a is alone in a withheld cell, whose interval is far wider than nothing."""
    told = json.loads(run(firms / "release", "--data", firms / "firms.csv", "--json").stdout)
    assert told["contributors"] == 10
    assert told["known_to_outsider"] == 0
    shown = pd.read_csv(firms / "release" / "public" / "table.csv")
    hidden = {(r, t) for r, t, v in shown[["region", "trade", "value"]].itertuples(index=False) if pd.isna(v)}
    assert {("N", "mills"), ("S", "inns")} <= hidden


def test_count_release_reports_revealed_codes(tmp_path):
    people = pd.DataFrame({"town": ["A"] * 3 + ["B"] * 4, "ill": ["no"] * 3 + ["no", "no", "yes", "yes"]})
    people.to_csv(tmp_path / "people.csv", index=False)
    keys = {"data": "people.csv", "by": ["town", "ill"], "rules": ["min_frequency:n=2"]}
    run_recipe(Recipe.of(keys, tmp_path), tmp_path / "release")
    told = json.loads(run(tmp_path / "release", "--data", tmp_path / "people.csv", "--json").stdout)
    # Nobody in A is ill, and everybody who is ill is in B: three, and two, people are told.
    assert (told["exposed_ill"], told["exposed_town"]) == (3, 2)


def test_other_records_or_public_folder_raise(firms, tmp_path, capsys):
    other = tmp_path / "other.csv"
    other.write_text((firms / "firms.csv").read_text("utf-8").replace(",60", ",61"), "utf-8")
    assert "do not add up to the table" in refused(capsys, firms / "release", "--data", other)
    public = firms / "release" / "public" / "records.csv"
    words = (firms / "release", "--data", firms / "firms.csv", "--out", public)
    assert "must not stand in a public folder" in refused(capsys, *words)
    assert not public.exists()
    taken = tmp_path / "taken.csv"
    taken.write_text("mine", "utf-8")
    refused(capsys, firms / "release", "--data", firms / "firms.csv", "--out", taken)
    assert taken.read_text("utf-8") == "mine"


def test_release_without_records_raises(firms, tmp_path, capsys):
    refused(capsys, tmp_path, "--data", firms / "firms.csv")
    cells = tmp_path / "cells.csv"
    cells.write_text("region,n\nN,5\nS,7\n", "utf-8")
    keys = {"cells": "cells.csv", "by": ["region"], "value": "n", "rules": ["min_frequency:n=2"]}
    run_recipe(Recipe.of(keys | {"frequency": "n"}, tmp_path), tmp_path / "release")
    err = refused(capsys, tmp_path / "release", "--data", firms / "firms.csv")
    assert "a single table made here from records" in err
