from __future__ import annotations

import csv
import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, app, main
from hitoku.evidence.verify import verify

SMALL = ["--records", "250", "--by", "region", "--by", "size"]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "release"
    args = ["demo", "--out", str(out), *SMALL, "--json"]
    return out, CliRunner().invoke(app, args, catch_exceptions=False)


def test_demo_is_safe_and_verifiable(released):
    out, done = released
    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert answer["safe"] is True
    assert answer["worked_out_exactly"] == 0
    assert answer["withheld"] == answer["unsafe"] + answer["secondary"]
    assert verify(out).ok


def test_demo_shares_match_its_evidence(released):
    out, done = released
    answer = json.loads(done.stdout)
    with (out / "checker" / "cells.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    published = sum(float(cell["value"]) for cell in cells if cell["decision"] == "published")
    share = published / sum(float(cell["value"]) for cell in cells)
    assert answer["published_share_with_totals"] == pytest.approx(share, abs=1e-4)
    assert answer["note"].startswith(f"{answer['method']}, ")


def test_blanking_unsafe_cells_alone_is_insufficient(released):
    assert json.loads(released[1].stdout)["left_blank"] > 0


def test_demo_rejects_existing_folder(tmp_path, capsys):
    (tmp_path / "letter.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["demo", "--out", str(tmp_path)])
    assert left.value.code == BAD_INPUT
    assert capsys.readouterr().err.startswith("OutputError: ")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    "args", [["--records", "0"], ["--seed", "-1"], ["--records", "many"], ["--by", "regoin"]]
)
def test_parameters_out_of_range_raise(args, tmp_path):
    with pytest.raises(SystemExit) as left:
        main(["demo", "--out", str(tmp_path / "x"), *args])
    assert left.value.code == BAD_INPUT
    assert not (tmp_path / "x").exists()


def test_demo_prints_its_results(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "r"), *SMALL], catch_exceptions=False)
    for word in (
        "unsafe",
        "protected",
        "Safe against outsiders",
        "contributors alone in a cell",
        "public",
        "checker",
    ):
        assert word in done.stdout
    assert "Three methods" not in done.stdout


def test_demo_compares_methods_on_request(tmp_path):
    args = ["demo", "--out", str(tmp_path / "r"), *SMALL, "--methods"]
    done = CliRunner().invoke(app, args, catch_exceptions=False)
    assert "Three methods" in done.stdout
    for name in ("greedy", "gauss", "optimal"):
        assert name in done.stdout
