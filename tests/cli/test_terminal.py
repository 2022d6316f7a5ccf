from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from hitoku.cli import progress, write_in_any_encoding
from hitoku.errors import DataError
from hitoku.files import require_path


def test_existing_path_is_returned(tmp_path):
    assert require_path(tmp_path) == tmp_path


def test_mistyped_path_suggests_nearest(tmp_path):
    (tmp_path / "demo-release").mkdir()
    with pytest.raises(DataError) as caught:
        require_path(tmp_path / "demo-relase")
    assert caught.value.fix == "did you mean 'demo-release'?"
    assert caught.value.where == str(tmp_path)


def test_path_without_parent_folder_raises():
    with pytest.raises(DataError):
        require_path(Path("no such folder") / "file.jj")


def test_piped_output_has_no_progress_bar(capsys):
    with progress(2) as step:
        step("tabulating")
        step("protecting")
    assert capsys.readouterr() == ("", "")


def test_terminal_shows_progress_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress(2) as step:
        step("tabulating")
        step("protecting")
    out, err = capsys.readouterr()
    assert out == ""
    assert "protecting" in err


@pytest.mark.parametrize(
    ("encoding", "errors", "expected"),
    [
        ("ascii", "strict", b"+ Z\\xfcrich tau x\\udcff"),
        ("ascii", "surrogateescape", b"+ Z\\xfcrich tau x\\udcff"),
        ("cp1252", "strict", b"+ Z\xfcrich tau \xd7\\udcff"),
        ("utf-8", "strict", "✓ Zürich τ ×".encode() + b"\\udcff"),  # noqa: RUF001
        ("ascii", "replace", b"? Z?rich ? ??"),
    ],
)
def test_any_encoding_prints_every_text(encoding, errors, expected, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding, errors))
    write_in_any_encoding()
    print("✓ Zürich τ ×\udcff", end="", flush=True)  # noqa: RUF001, T201
    assert written.getvalue() == expected
