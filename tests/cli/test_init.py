from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hitoku.cli import BAD_INPUT, app, main
from hitoku.evidence.verify import verify
from hitoku.samples import register


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register(150).records.to_csv("firms.csv", index=False)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_drafted_recipe_runs_unchanged(data):
    done = run("init", "firms.csv")
    assert done.exit_code == 0
    assert "hitoku protect recipe.toml" in done.stdout
    assert run("protect", "recipe.toml").exit_code == 0
    assert verify(data / "firms-release").ok


def test_init_json_output(data):
    done = run("init", "firms.csv", "--out", "sub/mine.toml", "--json")
    assert json.loads(done.stdout) == {"data": "firms.csv", "recipe": "sub/mine.toml"}
    assert (data / "sub" / "mine.toml").is_file()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["firm.csv"], "did you mean 'firms.csv'?", id="no file"),
        pytest.param(["notes.xyz"], "what kind of file", id="another kind"),
        pytest.param(["firms.csv", "--out", "notes.xyz"], "exists already", id="occupied"),
    ],
)
def test_invalid_input_raises_with_fix(data, capsys, words, told):
    (data / "notes.xyz").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["init", *words])
    assert left.value.code == BAD_INPUT
    assert told in capsys.readouterr().err
    assert (data / "notes.xyz").read_text("utf-8") == "mine"
    assert not (data / "recipe.toml").exists()
