"""``hitoku check`` on a table that was suppressed by hand, or by τ-ARGUS."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import FOUND, app

# North: 40 30 20; South: 30 3 21; East: 25 28 22. The 3 is withheld, and three more with it.
CELLS = [
    ("N", "a", 40, ""),
    ("N", "b", 30, "x"),
    ("N", "c", 20, "x"),
    ("S", "a", 30, ""),
    ("S", "b", 3, "x"),
    ("S", "c", 21, "x"),
    ("E", "a", 25, ""),
    ("E", "b", 28, ""),
    ("E", "c", 22, ""),
]
BY = ["--by", "region", "--by", "job", "--value", "n", "--policy", "japan-2017"]


def written(path, cells, head="region,job,n,status"):
    path.write_text("\n".join([head, *(",".join(map(str, cell)) for cell in cells)]) + "\n", encoding="utf-8")
    return path


def run(*args):
    return CliRunner().invoke(app, ["check", *map(str, args)], catch_exceptions=False)


def test_hand_suppressed_table_is_checked_by_policy(tmp_path):
    result = run(written(tmp_path / "cells.csv", CELLS), *BY, "--json")
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert found["outputs"][0]["principles"] == {
        "individual_value": "-",
        "units": "pass",
        "freedom": "-",
        "dominance": "-",
        "group": "pass",
        "interval": "pass",
        "differencing": "review",
    }
    assert (tmp_path / "cells-report" / "report.html").is_file()


def test_open_rows_are_printed_with_their_reason(tmp_path):
    """Codes alone do not say who is in the cells, so derivable groups stay open."""
    lines = [line.strip() for line in run(written(tmp_path / "cells.csv", CELLS), *BY).output.splitlines()]
    reason = "compared through codes; who is in the cells is not known"
    assert f"? not decided: derivable groups of units ({reason})" in lines
    assert "✓ passed: outsider, single cells" in lines


@pytest.mark.parametrize(
    ("published", "principle"),
    [
        pytest.param({("S", "b")}, "units", id="a small cell is shown"),
        pytest.param({("S", "c"), ("N", "c")}, "interval", id="it follows from its row"),
    ],
)
def test_insufficient_pattern_fails(tmp_path, published, principle):
    cells = [(r, j, n, "" if (r, j) in published else mark) for r, j, n, mark in CELLS]
    result = run(written(tmp_path / "cells.csv", cells), *BY, "--json")
    assert result.exit_code == FOUND
    assert json.loads(result.output)["outputs"][0]["principles"][principle] == "fail"


def argus(path, cells, shown=None):
    """Write a safe file as τ-ARGUS does: totals first, x where withheld."""
    shown = shown or {}
    table = {(r, j): n for r, j, n, _ in cells}
    marks = {(r, j) for r, j, _, mark in cells if mark}
    lines = []
    for region in ("Total", "N", "S", "E"):
        for job in ("Total", "a", "b", "c"):
            inside = [n for (r, j), n in table.items() if region in ("Total", r) and job in ("Total", j)]
            text = "x" if (region, job) in marks else str(shown.get((region, job), sum(inside)))
            lines.append(f'"{region}","{job}",{text}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_safe_file_statuses_are_read_as_suppression(tmp_path):
    true = written(tmp_path / "true.csv", [cell[:3] for cell in CELLS], "region,job,n")
    assert run(true, *BY, "--safe", argus(tmp_path / "safe.csv", CELLS)).exit_code == 0
    alone = [(r, j, n, mark if (r, j) == ("S", "b") else "") for r, j, n, mark in CELLS]
    assert run(true, *BY, "--safe", argus(tmp_path / "safe.csv", alone)).exit_code == FOUND


def test_safe_file_with_other_value_raises(tmp_path):
    true = written(tmp_path / "true.csv", [cell[:3] for cell in CELLS], "region,job,n")
    result = run(true, *BY, "--safe", argus(tmp_path / "safe.csv", CELLS, {("E", "a"): 26}))
    assert result.exit_code == FOUND
    assert "1 cell(s) are published with another value" in result.output


def test_amounts_without_contributions_are_not_testable_for_dominance(tmp_path):
    cells = [(r, j, 100.5 * n, n, mark) for r, j, n, mark in CELLS]
    path = written(tmp_path / "cells.csv", cells, "region,job,turnover,n,status")
    options = ["--by", "region", "--by", "job", "--value", "turnover", "--policy", "japan-2017"]
    found = json.loads(run(path, *options, "--frequency", "n", "--json").output)["outputs"][0]
    assert found["principles"]["dominance"] == "review"
    assert found["principles"]["units"] == found["principles"]["interval"] == "pass"


def test_amounts_with_contributions_meet_the_dominance_rule(tmp_path):
    # In N the largest of 40 has 2,400 of 4,000.
    cells = [
        ("N", 4000, 40, 2400, 40, ""),
        ("S", 5000, 50, 250, 50, ""),
        ("E", 6000, 60, 300, 60, ""),
        ("Total", 15_000, 150, 2400, 300, ""),
    ]
    path = written(tmp_path / "cells.csv", cells, "region,turnover,n,first,second,status")
    options = ["--by", "region", "--value", "turnover", "--frequency", "n", "--policy", "japan-2017"]
    more = ["--largest", "first", "--largest", "second", "--json"]
    found = json.loads(run(path, *options, *more).output)["outputs"][0]
    assert found["principles"]["dominance"] == "fail"
    assert found["principles"]["units"] == "pass"
