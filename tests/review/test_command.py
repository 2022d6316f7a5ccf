"""``hitoku serve`` and its administration, from the command line."""

from __future__ import annotations

import json
import sys

import pytest
from sqlalchemy.exc import OperationalError
from tests.review.conftest import PASSWORD
from typer.testing import CliRunner

from hitoku.errors import HitokuError, OutputError, ParameterError
from hitoku.review import command, log, read_settings, reading, serve, storage, users


def run(*words, ok=True):
    done = CliRunner().invoke(serve, [str(word) for word in words], catch_exceptions=True)
    if ok and done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_command_line_sets_up_a_centre(tmp_path):
    folder = tmp_path / "centre"
    assert "made" in run("init", folder, "--team", "Data centre", "--http").stdout
    assert folder.stat().st_mode & 0o077 == 0
    added = run("add-user", folder, "yui", "--name", "Yui", "--role", "checker").stdout
    assert "password: " in added
    run("add-user", folder, "ren", "--role", "researcher", "--external")
    run("add-project", folder, "wages", "--member", "ren")
    assert "whole" in run("verify-log", folder).stdout
    assert "form" in run("migrate", folder).stdout
    run("backup", folder, tmp_path / "backup")
    assert "the log is whole" in run("restore", tmp_path / "backup", tmp_path / "again").stdout
    assert "password: " in run("set-password", folder, "yui").stdout


def test_administrator_resets_a_password(centre):
    def sign_in(login, password):
        return centre.browser().post("/login", data={"login": login, "password": password}).status_code

    for login in ("yui", "haru"):
        assert [sign_in(login, "wrong") for _ in range(6)] == [422] * 5 + [429]
    assert "5 failed sign-in(s) reset" in run("unlock", centre.context.folder, "yui").stdout
    assert (sign_in("yui", PASSWORD), sign_in("haru", PASSWORD)) == (303, 429)
    assert "5 failed sign-in(s) reset" in run("unlock", centre.context.folder).stdout
    assert sign_in("haru", PASSWORD) == 303
    with reading(centre.context.engine) as connection:
        events = [(each["who"], each["event"]) for each in log.entries(connection)]
    assert events.count(("command line", "sign-in unlocked")) == 2


@pytest.mark.parametrize("team", ['Centre "A"', r"A\new", "line\nbreak", "\x7f", "統計センター", "a # b"])
def test_team_name_round_trips(tmp_path, team):
    run("init", tmp_path / "centre", "--team", team)
    assert read_settings(tmp_path / "centre").team == team


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add-user", "FOLDER", "x", "--role", "chekcer"), "no role 'chekcer'"),
        (("add-user", "FOLDER", "yui", "--role", "checker"), "already"),
        (("add-project", "FOLDER", "p", "--policy", "japan"), "no policy 'japan'"),
        (("add-project", "FOLDER", "p", "--member", "nobody"), "nobody"),
        (("set-password", "FOLDER", "nobody"), "no person 'nobody'"),
        (("unlock", "FOLDER", "nobody"), "no person 'nobody'"),
        (("--folder", "FOLDER", "--demo"), "nothing to serve"),
        (("--demo", "--host", "0.0.0.0"), "runs on this machine only"),  # noqa: S104 - refused
        (("migrate", "NOTHING"), "no review.toml"),
    ],
)
def test_invalid_serve_arguments_raise(centre, tmp_path, words, said):
    given = [str({"FOLDER": centre.context.folder, "NOTHING": tmp_path}.get(word, word)) for word in words]
    done = run(*given, ok=False)
    assert isinstance(done.exception, HitokuError)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    "words", [("add-user", "yui2", "--role", "checker", "--external"), ("set-password", "yui"), ("migrate",)]
)
def test_read_only_database_raises(centre, words, monkeypatch):
    def refuse(*_, **__):
        raise OperationalError("INSERT", {"password": "of somebody"}, Exception("database or disk is full"))

    for place, name in ((users, "set_password"), (users, "add_person"), (storage, "migrate")):
        monkeypatch.setattr(place, name, refuse)
    done = run(words[0], centre.context.folder, *words[1:], ok=False)
    assert isinstance(done.exception, OutputError)
    assert "cannot write the database: database or disk is full" in str(done.exception)
    assert "somebody" not in str(done.exception)


def test_incomplete_log_exits_with_1(centre, tmp_path):
    with reading(centre.context.engine) as connection:
        entries = list(log.entries(connection))
    folder = centre.context.folder
    head = {"entries": len(entries), "digest": entries[-1]["digest"]}
    (tmp_path / "log.json").write_text(json.dumps(head), "utf-8")
    assert run("verify-log", folder, "--receipt", tmp_path / "log.json").exit_code == 0
    (tmp_path / "cut.csv").write_text(log.to_csv(entries[:-1]), "utf-8")
    done = run("verify-log", folder, "--receipt", tmp_path / "log.json", "--export", tmp_path / "cut.csv")
    assert done.exit_code == 1
    assert "tail was cut" in done.stdout


def test_missing_extra_explains_installation(monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(HitokuError) as refused:
        command._require_extra()
    assert "hitoku[review]" in refused.value.fix


def test_invalid_settings_raise_with_name(centre):
    path = centre.context.folder / "review.toml"
    path.write_text("turnaround_dayz = 3\n", "utf-8")
    with pytest.raises(ParameterError, match="turnaround_dayz") as wrong:
        run("verify-log", centre.context.folder)
    assert "turnaround_days" in wrong.value.fix
