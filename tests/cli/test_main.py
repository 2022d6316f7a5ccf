from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoints

import pytest
import typer

from hitoku import errors
from hitoku.cli import BAD_INPUT, OUR_BUG, add_commands, app, guarded, main


def leave(args, capsys):
    with pytest.raises(SystemExit) as left:
        main(args)
    return left.value.code, *capsys.readouterr()


def test_reproduce_without_papers_explains_installation(capsys):
    alone = typer.Typer()
    alone.callback()(lambda: None)
    add_commands(alone, EntryPoints())
    words = ["reproduce", "castro-2012", "--instances", "x"]
    assert guarded(lambda: alone(words)) == BAD_INPUT
    what, _, fix = capsys.readouterr().err.splitlines()
    assert what == "ParameterError: the package hitoku-papers is not installed"
    assert fix == "  fix: in a checkout of hitoku: python -m pip install ./papers"


def test_missing_file_names_the_current_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, told = leave(["protect", "nofile.csv"], capsys)
    assert code == BAD_INPUT
    assert told.splitlines() == [
        "DataError: no file or folder 'nofile.csv'",
        "  where: the current folder",
        "  fix: check the path",
    ]


def deliberate():
    found, todo = [], [errors.HitokuError]
    while todo:
        found.append(todo.pop())
        todo += found[-1].__subclasses__()
    # Private kinds are made by their own module, with other arguments.
    public = (kind for kind in found if not kind.__name__.startswith("_"))
    return sorted(public, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", deliberate(), ids=lambda kind: kind.__name__)
def test_deliberate_error_prints_three_lines(kind, capsys):
    def command():
        raise kind("no_column", "no column 'turnver'", where="data", fix="did you mean 'turnover'?")

    assert guarded(command) == BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"{kind.__name__}: no column 'turnver'",
        "  where: data",
        "  fix: did you mean 'turnover'?",
    ]


def test_internal_error_is_not_exit_code_1(capsys):
    assert guarded(lambda: {}["nothing"]) == OUR_BUG
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "bug in hitoku" in err


@pytest.mark.parametrize(
    ("stopped", "told"),
    [
        (KeyboardInterrupt(), "interrupted: nothing was written\n"),
        (
            KeyboardInterrupt("greedy keeps nothing"),
            "interrupted: greedy keeps nothing; nothing was written\n",
        ),
    ],
)
def test_interrupt_exits_with_130(stopped, told, capsys):
    def command():
        raise stopped

    assert guarded(command) == 130
    assert capsys.readouterr().err == told
    # Typer turns an interruption into an exit code of its own.
    alone = typer.Typer()
    alone.command()(command)
    assert guarded(lambda: alone([])) == 130
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(("code", "expected"), [(None, 0), (0, 0), (1, 1), (2, 2), ("text", 1)])
def test_command_exit_code_is_returned(code, expected):
    def command():
        sys.exit(code)

    assert guarded(command) == expected


def test_version_option_prints_version(capsys):
    code, out, _ = leave(["--version"], capsys)
    assert code == 0
    assert out.startswith("hitoku ")


def test_unknown_command_raises(capsys):
    assert leave(["protekt"], capsys)[0] == BAD_INPUT


@pytest.mark.parametrize("command", app.registered_commands, ids=lambda command: command.callback.__name__)
def test_every_command_has_help_and_example(command, capsys):
    name = command.name or command.callback.__name__
    code, out, _ = leave([name, "--help"], capsys)
    assert code == 0
    assert f"hitoku {name}" in out.partition("Example")[2]


def test_piped_output_is_not_coloured():
    script = "from hitoku.cli import main; main(['--help'])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Usage: hitoku" in shown.stdout
    assert "\x1b[" not in shown.stdout


def test_python_m_hitoku_runs():
    command = [sys.executable, "-m", "hitoku", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hitoku ")
