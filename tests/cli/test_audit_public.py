"""``hitoku audit`` of a published table from elsewhere, and the arithmetic behind failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hitoku.__main__ import main

BY = ["--by", "region", "--by", "size", "--value", "n"]


def run(words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "public.csv").write_text("region,size,n\n" + text)
        return "public.csv"

    return write


def test_intervals_follow_from_published_sums(table, capsys):
    path = table("N,1,x\nN,2,x\nN,Total,7\nS,1,x\nS,2,c\nS,Total,5\nTotal,1,8\nTotal,2,4\nTotal,Total,12\n")
    assert run(["audit", path, *BY, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["withheld"], found["recomputable"], found["null_dimension"]) == (4, 0, 1)
    # By hand: N1 + N2 = 7, S1 + S2 = 5, N1 + S1 = 8, N2 + S2 = 4, none below zero.
    intervals = {row["cell"]: (row["low"], row["high"]) for row in found["intervals"]}
    assert intervals == {
        "region=N, size=1": (3, 7),
        "region=N, size=2": (0, 4),
        "region=S, size=1": (1, 5),
        "region=S, size=2": (0, 4),
    }


def test_cell_suppressed_alone_is_recomputable(table, capsys):
    path = table("N,1,x\nN,2,5\nN,Total,7\nS,1,6\nS,2,1\nS,Total,7\n")
    assert run(["audit", path, *BY]) == 1
    said = capsys.readouterr().out
    assert "1 cells are suppressed; 1 of them can be recomputed exactly" in said
    assert "region=N, size=1: 2 to 2" in said
    assert "Not judged" in said


def test_wrong_total_is_reported(table, capsys):
    path = table("N,1,2\nN,2,5\nN,Total,8\nS,1,6\nS,2,1\nS,Total,7\n")
    assert run(["audit", path, *BY]) == 2
    assert "region=N, size=Total" in capsys.readouterr().err


def test_arithmetic_is_printed_and_in_json(table, capsys):
    path = table("")
    marks = ["--frequency", "n", "--mark", "mark", "--rule", "min_frequency:n=3"]
    Path(path).write_text("region,size,n,mark\nN,1,2,x\nN,2,5,\nS,1,6,\nS,2,9,\n")
    assert run(["audit", path, *BY, *marks]) == 1
    assert "= 2" in capsys.readouterr().out
    assert run(["audit", path, *BY, *marks, "--json"]) == 1
    arithmetic = json.loads(capsys.readouterr().out)["arithmetic"]
    assert list(arithmetic) == ["region=N, size=1"]
    assert arithmetic["region=N, size=1"].endswith("= 2")


@pytest.mark.parametrize(
    ("rule", "fix"),
    [
        ("p_percent:p=0.1", "did you mean p_percent:p=10?"),
        ("few_contributors:n=1", "few_contributors:n=3"),
        ("min_frequency:n=3,5", "min_frequency:n=3.5"),
        ("p%:10", "p_percent:p=..."),
        ("p_percent:p=10", "--value"),
    ],
)
def test_input_mistakes_are_reported(rule, fix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("g,x\na,1\nb,2\n")
    assert run(["protect", "a.csv", "--by", "g", "--rule", rule, "--out", "o"]) == 2
    assert fix in capsys.readouterr().err


def test_small_percentage_with_sign_is_accepted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("g,x\na,1\na,2\na,3\nb,2\nb,3\nb,3\n")
    words = ["protect", "a.csv", "--by", "g", "--value", "x", "--rule", "p_percent:p=0.1%", "--out", "o"]
    assert run(words) == 0


def test_identifier_column_is_rejected(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("g,x\n" + "".join(f"f{n},1\n" for n in range(300)))
    assert run(["protect", "a.csv", "--by", "g", "--rule", "min_frequency:n=3", "--out", "o"]) == 2
    assert "300 of them in a single record" in capsys.readouterr().err


def test_unwritable_folder_is_found_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "a.csv").write_text("g,x\na,oops\n")
    words = ["protect", "a.csv", "--by", "g", "--value", "x", "--rule", "p_percent:p=10", "--out", "file/o"]
    assert run(words) == 2
    assert "cannot write" in capsys.readouterr().err
