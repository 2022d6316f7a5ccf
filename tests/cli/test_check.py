from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from tests.checks.submissions import PEOPLE, session
from typer.testing import CliRunner

from hitoku.checks.ledger import init
from hitoku.checks.session import Session
from hitoku.cli import BAD_INPUT, FOUND, app, main
from hitoku.errors import ParameterError
from hitoku.files import rearm
from hitoku.io import write_jj
from hitoku.model import Need, Protection, Table

EXCEPTION = """
[[decision]]
output = "top"
decision = "release"
principle = "individual_value"
reason = "nobody sees an income"
facts.observability = {income = "hidden"}
who = "M. <Sato>"
when = 2026-11-16
"""


def ledger_run(*args):
    return CliRunner().invoke(app, ["ledger", *map(str, args)], catch_exceptions=False)


def run(*args):
    return CliRunner().invoke(app, ["check", *map(str, args)], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path):
    return session().submit(tmp_path / "submission")


@pytest.fixture
def failing(tmp_path):
    work = Session("wages", PEOPLE, unit="id")
    work.summary("max", "income", name="top")
    return work.submit(tmp_path / "failing")


def test_check_page_uses_requested_language(failing):
    result = run(failing, "--lang", "ja")
    assert result.exit_code == FOUND
    html = failing.with_name("failing-report").joinpath("report.html").read_text("utf-8")
    assert '<html lang="ja">' in html
    assert "個別値" in html
    with pytest.raises(ParameterError, match="no language 'xx'"):
        run(failing, "--lang", "xx")


def test_submission_pages_include_outputs_and_matrix(folder):
    result = run(folder)
    assert result.exit_code == 0
    for name in ("1. people (frequency_table)", "2. incomes (magnitude_table)", "3. means (average)"):
        assert name in result.output
    assert re.search(r"^people +- +pass +- +- +pass +pass +pass$", result.output, flags=re.MULTILINE)


def test_console_page_and_json_have_the_same_rows(folder, tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    result = run(folder, "--data", tmp_path / "people.parquet", "--unit", "id")
    report = folder.parent / "submission-report"
    html = (report / "report.html").read_text("utf-8")
    for output in json.loads((report / "report.json").read_text("utf-8"))["outputs"]:
        verdict = output["verdict"]
        assert f"   {verdict['colour']}: {verdict['headline']}\n" in result.output
        assert verdict["headline"] in html
        assert [row["attacker"] for row in verdict["rows"] if row["in_scope"]][:2] == ["outsider", "groups"]
        for row in verdict["rows"]:
            reason = "" if row["status"] in {"proved", "passed"} else f" ({row['reason']})"
            line = f" {row['status']}: {row['label']}{reason}\n"
            assert (line in result.output) or not row["applies"]
            assert row["label"] in html
        assert verdict["colour"] == "green"


def test_check_leaves_submission_unchanged(folder):
    run(folder)
    assert run(folder).exit_code == 0
    report = folder.parent / "submission-report"
    assert sorted(path.name for path in report.iterdir()) == ["cells", "report.html", "report.json"]
    html = (report / "report.html").read_text("utf-8")
    assert html.count('<section class="output"') == 3
    assert not re.search(r"(src|href)=.(?!#)", html)  # nothing from elsewhere
    assert json.loads((report / "report.json").read_text("utf-8"))["ok"] is True


def test_data_option_leaves_no_row_undecided(folder, tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    result = run(folder, "--data", tmp_path / "people.parquet", "--unit", "id", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["tally"] == {"pass": 3, "review": 0, "fail": 0, "exception granted": 0}


def test_failed_check_exits_with_1(failing, tmp_path):
    result = run(failing, "--json", "--out", tmp_path / "report")
    assert result.exit_code == FOUND
    found = json.loads(result.output)
    assert found["outputs"][0]["principles"]["individual_value"] == "fail"
    assert "✗ fail" in (tmp_path / "report" / "report.html").read_text("utf-8")


def test_exception_is_shown_with_its_checker(failing, tmp_path):
    (tmp_path / "decided.toml").write_text(EXCEPTION, encoding="utf-8")
    result = run(failing, "--decisions", tmp_path / "decided.toml")
    assert result.exit_code == 0
    assert "nobody sees an income (income is hidden), decided by M. <Sato> on 2026-11-16" in result.output
    html = (tmp_path / "failing-report" / "report.html").read_text("utf-8")
    assert "! exception granted" in html
    assert "M. &lt;Sato&gt;" in html


@pytest.mark.parametrize("file", ["manifest.json", "policy.json", "public/01-people.csv"])
def test_corrupted_submission_raises_with_file_name(folder, file, capsys):
    path = folder / file
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(folder)])
    assert leaving.value.code == BAD_INPUT
    assert file in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--policy", "japan-2018"], "japan-2017"),
        (["--out", "submission/report"], "would change it"),
        (["--ledger", "none.ledger"], "no ledger"),
        (["--decisions", "none.toml"], "none.toml"),
    ],
)
def test_invalid_input_exits_with_2(folder, monkeypatch, capsys, args, words):
    monkeypatch.chdir(folder.parent)
    with pytest.raises(SystemExit) as leaving:
        main(["check", "submission", *args])
    assert leaving.value.code == BAD_INPUT
    assert words in capsys.readouterr().err


def test_table_suppressed_elsewhere_is_checked(tmp_path, capsys):
    table = Table.from_array([[20, 15], [72, 1]])
    need = Need(unsafe=table.value == 1, lower=1.0, upper=1.0)
    # Alone, the 1 is a row total minus its neighbour.
    for withheld, code in ((need.unsafe, FOUND), (table.inner, 0)):
        write_jj(tmp_path / "table.jj", table, need, Protection.withhold(table, withheld, need))
        result = run(tmp_path / "table.jj")
        assert result.exit_code == code
        assert "running hitoku audit" in result.stderr
    (tmp_path / "cells.csv").write_text("region,value\nN,1\n", encoding="utf-8")
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(tmp_path / "cells.csv")])
    assert leaving.value.code == BAD_INPUT
    assert "hitoku check FILE --by COLUMN" in capsys.readouterr().err


def test_release_folder_is_checked_and_other_folder_rejected(tmp_path, capsys):
    pd.DataFrame({"region": ["a"] * 9 + ["b"] * 12, "sex": ["f", "m", "m"] * 7}).to_csv(tmp_path / "all.csv")
    options = [
        "--by",
        "region",
        "--by",
        "sex",
        "--rule",
        "min_frequency:n=4",
        "--out",
        str(tmp_path / "release"),
    ]
    made = CliRunner().invoke(app, ["protect", str(tmp_path / "all.csv"), *options])
    assert made.exit_code == 0, made.output
    result = run(tmp_path / "release")
    assert result.exit_code == 0
    assert "✓ Safe against outsiders and derivable groups" in result.stdout
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as leaving:
        main(["check", str(tmp_path / "empty")])
    assert leaving.value.code == BAD_INPUT
    assert "manifest.json is missing" in capsys.readouterr().err


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "people.parquet"
    PEOPLE.to_parquet(path)
    return path


def test_released_output_is_compared_with_next(tmp_path, data):
    ledger = tmp_path / "wages.ledger"
    first = Session("first", str(data), unit="id")
    first.frequency_table(by=["region"], name="regions")
    known = first.submit(tmp_path / "first")
    options = ("--ledger", ledger, "--data", data)
    assert ledger_run("init", ledger, "--policy", "japan-2017", "--unit", "id").exit_code == 0
    before = ledger.read_bytes()
    assert run(known, *options).exit_code == 0
    assert ledger.read_bytes() == before
    signed = (*options, "--release", "--checker", "M. Sato", "--checker", "A. Ito")
    gone = run(known, *signed)
    assert "released: 1 output(s), receipt 1" in gone.output
    assert sorted(path.name for path in (tmp_path / "first-released").iterdir()) == [
        "01-regions.csv",
        "01-regions.json",
        "receipt.json",
        "receipt.txt",
    ]
    assert "released before, receipt 1" in run(known, *signed).output
    # The same regions without six people: by subtraction a group of six.
    second = Session("second", str(data), unit="id")
    second.frequency_table(by=["region"], where={"income": list(range(21, 57))}, name="fewer")
    result = run(second.submit(tmp_path / "second"), *signed)
    assert result.exit_code == FOUND
    assert "NOTHING was released: 1 output(s) are undecided: fewer (differencing fail)" in result.output
    assert not (tmp_path / "second-released").exists()
    shown = ledger_run("show", ledger)
    assert "first: regions; by M. Sato, A. Ito" in shown.output
    assert "1 output(s) recorded" in shown.output
    head = json.loads((tmp_path / "first-released" / "receipt.json").read_text("utf-8"))["head"]
    assert "all hashes match" in ledger_run("verify", ledger, "--head", head).output
    assert ledger_run("receipt", ledger, "1", "--out", tmp_path / "again").exit_code == 0
    assert (tmp_path / "again" / "01-regions.csv").exists()


def test_control_characters_in_names_are_escaped(tmp_path):
    work = Session("wages", PEOPLE, unit="id")
    work.frequency_table(by=["region"], name="a\x1b[2J\nb: pass")
    result = run(work.submit(tmp_path / "submission"))
    assert "\x1b" not in result.output
    assert "a\\x1b[2J\\nb: pass" in result.output


def test_check_release_rejects_policy_and_unit(folder, data, capsys):
    with pytest.raises(SystemExit) as left:
        main(["check", str(folder), "--release", "--ledger", "x", "--data", str(data), "--unit", "id"])
    assert left.value.code == BAD_INPUT
    assert "set by the ledger" in capsys.readouterr().err


def test_release_option_requires_ledger_and_data(folder, capsys):
    with pytest.raises(SystemExit) as left:
        main(["check", str(folder), "--release"])
    assert left.value.code == BAD_INPUT
    assert "--ledger and --data" in capsys.readouterr().err


def test_since_reports_changes_and_keeps_other_folders(tmp_path, capsys):
    people = pd.DataFrame({"region": ["N"] * 30 + ["S"] * 40, "x": range(70)})
    for number in (1, 2):
        work = Session("s", people)
        work.frequency_table("region", name="people")
        work.mean("x", by="region", name=f"means {number}")
        work.submit(tmp_path / f"s{number}")
    words = ["check", str(tmp_path / "s2"), "--since", str(tmp_path / "s1")]
    with pytest.raises(SystemExit) as left:
        main([*words, "--out", str(tmp_path / "r")])
    assert left.value.code == 0
    told = capsys.readouterr().out
    assert "people: the same" in told
    assert "means 2: new" in told
    assert "means 1: gone" in told
    assert "Since the last submission" in (tmp_path / "r" / "report.html").read_text("utf-8")
    assert json.loads((tmp_path / "r" / "report.json").read_text("utf-8"))["changes"]["means 2"] == "new"
    (tmp_path / "r" / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit) as left:
        main([*words, "--out", str(tmp_path / "r")])
    assert left.value.code == 2
    assert "'r' also holds 'thesis.txt'" in capsys.readouterr().err
    assert (tmp_path / "r" / "thesis.txt").read_text() == "mine"


def test_formulas_are_kept_on_request(tmp_path):
    people = pd.DataFrame({"code": ["=1+1"] * 30 + ["'-a"] * 40})
    people.to_parquet(tmp_path / "p.parquet")
    init(tmp_path / "l", policy="japan-2017", checkers=1)
    for number, more in enumerate(([], ["--keep-formulas"])):
        work = Session(f"s{number}", people)
        work.crosstab("code", name=f"codes {number}")
        folder = work.submit(tmp_path / f"s{number}")
        given = ["--ledger", str(tmp_path / "l"), "--data", str(tmp_path / "p.parquet"), "--checker", "Ito"]
        with pytest.raises(SystemExit) as left:
            main(["check", str(folder), "--release", *given, *more])
        assert left.value.code == 0
        released = tmp_path / f"s{number}-released" / f"01-codes-{number}.csv"
        codes = [line.rpartition(",")[0] for line in released.read_text("utf-8").splitlines()[1:]]
        assert [code.startswith("'=") for code in codes] == [False, not more]
        assert (list(map(rearm, codes)) if not more else codes) == ["'-a", "=1+1"]
