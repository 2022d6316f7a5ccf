from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.io.release import write_release
from hitoku.methods.greedy import Greedy
from hitoku.model import Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency

TABLE = Table.from_array(
    [[20, 15], [72, 1]], names=["region", "sector"], codes=[["North", "South"], ["farms", "mills"]]
)


@pytest.fixture
def exported(tmp_path):
    outcome = protect_table(TABLE, [MinFrequency(5, percent=50)], method=Greedy())
    write_release(tmp_path / "release", outcome)
    found = run("export", tmp_path / "release", "--out", tmp_path / "argus")
    assert found.exit_code == 0
    assert "check.arb" in found.output
    assert "confidential" in found.output
    return tmp_path / "argus"


def run(*args):
    return CliRunner().invoke(app, ["argus", *map(str, args)], catch_exceptions=False)


def test_batch_writes_the_expected_files(exported):
    found = run("run", exported / "check.arb", "--out", exported / "release", "--insiders", "none")
    assert found.exit_code == 0
    assert "\n? Safe against outsiders" in found.output
    assert "written: check.csv, confidential" in found.output
    assert (exported / "release" / "checker" / "certificate.json.gz").is_file()


def test_argus_json_output(exported, tmp_path):
    told = json.loads(run("run", exported / "check.arb", "--json").output)
    assert told["safe"] is True
    assert told["verdict"]["colour"] == "amber"  # a batch considers cells, not groups of them
    assert told["tables"][0]["cells"] == TABLE.n_cells
    assert told["files"] == {str(exported / "check.csv"): "confidential"}
    again = run("export", tmp_path / "release", "--out", tmp_path / "again", "--json")
    assert "table.tab" in json.loads(again.output)["files"]


def test_unsafe_batch_is_reported_and_not_written(exported):
    batch = exported / "check.arb"
    text = batch.read_text().replace("<SUPPRESS> OPT(1,10)\n", "")
    batch.write_text(text)
    found = run("run", batch)
    assert found.exit_code == FOUND
    assert "\n✗ Not safe: outsider, single cells" in found.output
    assert not (exported / "check.csv").exists()
    assert run("run", batch, "--force").exit_code == FOUND
    assert (exported / "check.csv").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("OPT(1,10)", "RND(1,100,0,1)"), "RND (controlled rounding) is not supported"),
        (("<SOLVER> FREE", "<GOINTERACTIVE>"), "<GOINTERACTIVE> is not supported"),
    ],
)
def test_unsupported_commands_raise_with_name_and_line(exported, capsys, change, said):
    batch = exported / "check.arb"
    batch.write_text(batch.read_text().replace(*change))
    with pytest.raises(SystemExit) as left:
        main(["argus", "run", str(batch)])
    assert left.value.code == BAD_INPUT
    told = capsys.readouterr().err
    assert said in told
    assert "check.arb, line" in told
    assert not (exported / "check.csv").exists()


def test_unsupported_method_is_replaced(exported):
    batch = exported / "check.arb"
    batch.write_text(batch.read_text().replace("OPT(1,10)", "MOD(1,5,1,1,1)"))
    found = run("run", batch, "--method", "greedy")
    assert found.exit_code == 0
    assert "method greedy, instead of MOD" in found.output


@pytest.mark.parametrize("args", [["run", "no.arb"], ["export", "no-release"]])
def test_missing_batch_path_raises(args, capsys):
    with pytest.raises(SystemExit) as left:
        main(["argus", *args])
    assert left.value.code == BAD_INPUT
    assert "no file or folder" in capsys.readouterr().err
