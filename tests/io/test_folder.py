from __future__ import annotations

import pytest

from hitoku.errors import OutputError
from hitoku.io.folder import new_folder


def test_a_folder_appears_when_the_block_succeeds(tmp_path):
    target = tmp_path / "deep" / "out"
    with new_folder(target) as draft:
        (draft / "a.txt").write_text("a")
        assert not target.exists()
    assert [p.name for p in target.iterdir()] == ["a.txt"]
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with new_folder(tmp_path / "out") as draft:
        (draft / "a.txt").write_text("a")
    assert (tmp_path / "out" / "a.txt").read_text() == "a"


def test_after_an_error_nothing_is_left(tmp_path):
    def fail():
        with new_folder(tmp_path / "out") as draft:
            (draft / "secret.txt").write_text("secret")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_there_already_is_not_touched(tmp_path, kind):
    target = tmp_path / "out"
    kept = target
    if kind == "folder":
        target.mkdir()
        kept = target / "old.txt"
    kept.write_text("old")
    with pytest.raises(OutputError, match="already holds something") as caught, new_folder(target):
        pass
    assert caught.value.fix
    assert kept.read_text() == "old"


def test_a_parent_that_is_a_file_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"), new_folder(tmp_path / "file" / "out"):
        pass
