from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, app, main
from hitoku.evidence.verify import FORMAT, fingerprint

# A row 4 + 6 = 10 with both parts withheld: each may be anything from 0 to 10.
ROW = {
    "format": FORMAT,
    "measure": "count",
    "integer": True,
    "variables": ["sex"],
    "codes": [["f"], ["m"], ["Total"]],
    "values": [4, 6, 10],
    "lower": [0, 0, 0],
    "upper": [None, None, None],
    "withheld": [0, 1],
    "relations": [[[0, 1, 2], [1, 1, -1]]],
    "unsafe": [{"cell": 0, "lower": 4, "upper": 6, "width": 10, "low": 0, "high": 1}],
    "witnesses": [
        {"denominator": 1, "cells": [0, 1], "differences": [-4, 4]},
        {"denominator": 1, "cells": [0, 1], "differences": [6, -6]},
    ],
}


@pytest.fixture
def certificate(tmp_path):
    def write(**changes):
        content = {**ROW, **changes}
        content["sha256"] = fingerprint(content)
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def run(*args):
    return CliRunner().invoke(app, ["verify", *args], catch_exceptions=False)


def test_valid_certificate_verifies(certificate):
    done = run(certificate())
    assert done.exit_code == 0
    assert done.stdout.startswith("yes: ")


def test_invalid_certificate_fails(certificate):
    too_much = [{**ROW["unsafe"][0], "upper": 7}]
    done = run(certificate(unsafe=too_much))
    assert done.exit_code == 1
    assert done.stdout.startswith("no: ")


@pytest.mark.parametrize(("withheld", "proved", "code"), [([0, 1], True, 0), ([1], False, 1)])
def test_verify_json_output(certificate, withheld, proved, code):
    done = run(certificate(withheld=withheld), "--json")
    assert done.exit_code == code
    assert json.loads(done.stdout)["proved"] is proved


def test_path_without_certificate_raises(tmp_path, capsys):
    path = tmp_path / "letter.txt"
    path.write_text("dear checker", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["verify", str(path)])
    out, err = capsys.readouterr()
    assert left.value.code == BAD_INPUT
    assert out == ""
    assert [line.split(":")[0].strip() for line in err.splitlines()] == ["CertificateError", "where", "fix"]


def test_verify_prints_rows_and_premises(certificate):
    done = run(certificate())
    assert "outsider, single cells  proved  proved again here for 1 unsafe cells" in done.stdout
    assert "taken on trust:" in done.stdout
    told = json.loads(run(certificate(), "--json").stdout)
    assert [row["attacker"] for row in told["rows"]] == ["outsider"]
    assert len(told["trusted"]) > 3


def other(tmp_path, name, **changes):
    """Write a further certificate."""
    content = {**ROW, **changes}
    content["sha256"] = fingerprint(content)
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_several_folders_end_with_failures(certificate, tmp_path):
    good, wrong = certificate(), other(tmp_path, "wrong.json", withheld=[1])
    earlier = other(tmp_path, "earlier.json", format="hitoku certificate 1")
    done = run(good, wrong, earlier)
    assert done.exit_code == BAD_INPUT
    said = done.stdout.splitlines()
    assert said[-3] == "2 of 3 fail:"
    assert said[-2].startswith(f"  {wrong}: ")
    assert said[-1] == f"  {earlier}: written by an earlier version of hitoku: protect again"
    assert run(good, wrong).exit_code == 1
    told = json.loads(run(good, wrong, "--json").stdout)
    assert (told["proved"], [one["proved"] for one in told["releases"]]) == (False, [True, False])
    whole = run(good, other(tmp_path, "another.json"))
    assert (whole.exit_code, whole.stdout.splitlines()[-1]) == (0, "all 2 hold")


def test_certificate_of_earlier_version_raises(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["verify", other(tmp_path, "earlier.json", format="hitoku certificate 2")])
    assert left.value.code == BAD_INPUT
    assert "written by an earlier version of hitoku: protect again" in capsys.readouterr().err
