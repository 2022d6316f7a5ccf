"""Reports and errors in the language that is asked for: for all commands, for one, or by the environment."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, app, main
from hitoku.errors import ParameterError

WORDS = [
    "protect",
    "people.csv",
    "--by",
    "region",
    "--by",
    "job",
    "--rule",
    "min_frequency:n=3",
    "--out",
    "release",
]


@pytest.fixture(autouse=True)
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(region, job) for region in "NSE" for job in "abc" for _ in range(1 + 4 * (region + job != "Na"))]
    pd.DataFrame(rows, columns=["region", "job"]).to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after", "environment", "lang"),
    [
        pytest.param([], [], {}, "en", id="nothing said"),
        pytest.param([], ["--lang", "ja"], {}, "ja", id="for the command"),
        pytest.param(["--lang", "ja"], [], {}, "ja", id="for all"),
        pytest.param([], [], {"HITOKU_LANG": "ja"}, "ja", id="by the environment"),
        pytest.param(["--lang", "ja"], ["--lang", "en"], {}, "en", id="the command has the last word"),
    ],
)
def test_report_uses_requested_language(people, before, after, environment, lang):
    done = CliRunner().invoke(app, [*before, *WORDS, *after], env=environment, catch_exceptions=False)
    assert done.exit_code == 0
    html = (people / "release" / "checker" / "report.html").read_text("utf-8")
    assert f'<html lang="{lang}">' in html
    assert ("要秘匿セル" in html) is (lang == "ja")


@pytest.mark.parametrize("given", [["--lang", "ja"], []], ids=["asked for", "not asked for"])
def test_error_uses_requested_language(given, capsys):
    with pytest.raises(SystemExit) as left:
        main([*given, "protect", "nowhere.csv", "--by", "region", "--rule", "zero", "--out", "release"])
    assert left.value.code == BAD_INPUT
    told = capsys.readouterr().err
    assert "nowhere.csv" in told
    assert ("ありません" in told) is bool(given)
    assert ("場所: " in told) is bool(given)


def test_unknown_language_raises_before_any_work(people):
    with pytest.raises(ParameterError, match="no language 'xx'"):
        CliRunner().invoke(app, [*WORDS, "--lang", "xx"], catch_exceptions=False)
    assert not (people / "release").exists()
