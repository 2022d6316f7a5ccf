from __future__ import annotations

from pathlib import Path

import pytest

from hitoku.cli.terminal import progress
from hitoku.errors import DataError
from hitoku.files import require_path


def test_a_path_that_exists_is_returned(tmp_path):
    assert require_path(tmp_path) == tmp_path


def test_a_mistyped_path_names_its_neighbour(tmp_path):
    (tmp_path / "demo-release").mkdir()
    with pytest.raises(DataError) as caught:
        require_path(tmp_path / "demo-relase")
    assert caught.value.fix == "did you mean 'demo-release'?"
    assert caught.value.where == str(tmp_path)


def test_a_path_into_nowhere_is_refused():
    with pytest.raises(DataError):
        require_path(Path("no such folder") / "file.jj")


def test_no_progress_bar_in_a_pipe(capsys):
    with progress(2) as step:
        step("tabulating")
        step("protecting")
    assert capsys.readouterr() == ("", "")


def test_a_progress_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress(2) as step:
        step("tabulating")
        step("protecting")
    out, err = capsys.readouterr()
    assert out == ""
    assert "protecting" in err
