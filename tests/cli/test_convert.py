"""``hitoku convert``: a release in other formats, and what is refused."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hitoku as ht
from hitoku.cli import BAD_INPUT, app, main
from hitoku.io.formats import FORMATS
from hitoku.pipeline import run_recipe
from hitoku.samples import register

RECIPE = """
title = "Turnover"
data = "firms.csv"
value = "turnover"
holding = "holding"
rules = ["p_percent:p=10"]
source = "Register, made up"
footnotes = ["Thalers."]
out = "release"
{formats}

[[tables]]
name = "by_region"
by = ["region", "size"]

[[tables]]
name = "by_activity"
by = ["activity", "size"]
[tables.hierarchies]
activity = "activities.csv"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A release of two linked tables, one with a tree, in every format."""
    path = tmp_path_factory.mktemp("convert")
    firms = register(n=1_500)
    firms.records.to_csv(path / "firms.csv", index=False)
    tree = firms.hierarchies["activity"]
    rows = [f"{code},{tree.codes[up]}" for code, up in zip(tree.codes[1:], tree.parents[1:], strict=True)]
    (path / "activities.csv").write_text("\n".join(["code,parent", *rows]), encoding="utf-8")
    text = RECIPE.format(formats=f"formats = {json.dumps(list(FORMATS))}")
    (path / "recipe.toml").write_text(text, encoding="utf-8")
    run = run_recipe(path / "recipe.toml")
    assert run.safe
    return run.folder


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def converted(*words: str):
    return CliRunner().invoke(app, ["convert", *words], catch_exceptions=False)


def refused(*words: str) -> bool:
    with pytest.raises(SystemExit) as left:
        main(["convert", *words])
    return left.value.code == BAD_INPUT


def _cells(file: Path) -> list[str]:
    """One text per cell, from Parquet or JSON-stat."""
    if file.suffix == ".parquet":
        return [str(row) for row in pq.read_table(file).to_pylist()]
    data = json.loads(file.read_text("utf-8"))
    every = itertools.product(*(data["dimension"][name]["category"]["index"] for name in data["id"]))
    named = {str(place): codes for place, codes in enumerate(every)}
    return [f"{named[place]} {value} {data['status'].get(place)}" for place, value in data["value"].items()]


@pytest.mark.parametrize("table", ["table", "by_region", "by_activity"])
@pytest.mark.parametrize("name", FORMATS)
def test_converted_file_equals_released_file(folder, name, table):
    assert converted(str(folder), "--to", name, "--table", table).exit_code == 0
    file = Path(f"{table}{FORMATS[name].suffix}")
    written = folder / "public" / ("" if table == "table" else table) / file.name
    if table == "table" and name in {"parquet", "json-stat"}:
        # Of all linked cells together the list of codes is kept in no order.
        assert sorted(_cells(file)) == sorted(_cells(written))
    else:
        assert file.read_bytes() == written.read_bytes()


def test_converted_hierarchy_is_indented(folder):
    converted(str(folder), "--to", "xlsx", "--table", "by_activity", "--out", "t.xlsx")
    sheet = openpyxl.load_workbook("t.xlsx").worksheets[0]
    assert sheet["A7"].value == "Total"
    assert sheet["A9"].alignment.indent == 2


def test_sdmx_transmission_has_values_and_flags(folder):
    done = converted(str(folder), "--to", "sdmx-csv", "--confidential", "--out", "to-partner.csv")
    assert "CONFIDENTIAL" in done.stdout
    sent = pd.read_csv("to-partner.csv")
    kept = pd.read_csv(folder / "checker" / "cells.csv")
    kept = kept[kept["decision"] != "hidden"]  # sets of records that no table shows
    assert sent["OBS_VALUE"].tolist() == kept["value"].tolist()
    flags = {"published": "F", "primary": "C", "secondary": "D"}
    assert sent["CONF_STATUS"].tolist() == [flags[word] for word in kept["decision"]]
    assert set(sent["CONF_STATUS"]) == {"F", "C", "D"}


def with_sorted_evidence(folder: Path, to: Path) -> Path:
    """Copy a release folder, with the rows of its evidence in another order."""
    copy = shutil.copytree(folder, to)
    cells = copy / "checker" / "cells.csv"
    head, *rows = cells.read_text("utf-8").splitlines()
    cells.write_text("\n".join([head, *reversed(rows)]) + "\n", encoding="utf-8")
    return copy


def test_flags_follow_codes_not_evidence_lines(tmp_path):
    table = ht.Table.from_array([[20, 1, 9], [7, 12, 15], [9, 8, 11]])
    written = ht.protect(table, rules="min_frequency:n=3").write(tmp_path / "release")
    converted(str(written), "--to", "sdmx-csv", "--confidential", "--out", "as-written.csv")
    copy = with_sorted_evidence(written, tmp_path / "copy")
    converted(str(copy), "--to", "sdmx-csv", "--confidential", "--out", "sorted.csv")
    assert Path("sorted.csv").read_bytes() == Path("as-written.csv").read_bytes()


def test_sorted_evidence_of_hidden_cells_raises(folder, tmp_path):
    copy = with_sorted_evidence(folder, tmp_path / "copy")
    assert refused(str(copy), "--to", "sdmx-csv", "--confidential", "--out", "sorted.csv")
    assert not Path("sorted.csv").exists()


def test_convert_json_output(folder):
    done = converted(str(folder), "--to", "parquet", "--json")
    assert json.loads(done.stdout) == {"confidential": False, "file": "table.parquet", "format": "parquet"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "xslx"], "did you mean 'xlsx'?"),
        (["--to", "xlsx", "--table", "by_regio"], "did you mean 'by_region'?"),
        (["--to", "xlsx", "--confidential"], "use sdmx-csv or parquet"),
        (["--to", "parquet", "--confidential", "--table", "by_region"], "leave the table out"),
        (["--to", "parquet", "--confidential", "--out", "public/t.parquet"], "write it elsewhere"),
        (["--to", "csv", "--out", "there/t.csv"], "choose a folder that exists"),
        (["--to", "csv", "--out", "old.csv"], "exists already"),
    ],
)
def test_invalid_conversion_raises(folder, words, said, capsys):
    Path("public").mkdir()
    Path("old.csv").write_text("old", encoding="utf-8")
    assert refused(str(folder), *words)
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["old.csv", "public"]
    assert list(Path("public").iterdir()) == []


def test_changed_public_file_is_not_converted(folder, tmp_path, capsys):
    copy = shutil.copytree(folder, tmp_path / "copy")
    file = copy / "public" / "by_region" / "by_region.csv"
    file.write_text(file.read_text("utf-8").replace("withheld", "published"), encoding="utf-8")
    assert refused(str(copy), "--to", "xlsx", "--table", "by_region")
    assert "is not the file that was released" in capsys.readouterr().err
    assert converted(str(copy), "--to", "xlsx").exit_code == 0
