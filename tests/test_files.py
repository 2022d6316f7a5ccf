from __future__ import annotations

import errno
import gzip
import hashlib
import os
import stat
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku import files
from hitoku.errors import DataError, OutputError
from hitoku.files import (
    disarm,
    new_file,
    new_files,
    new_folder,
    private_folder,
    read_file,
    rearm,
    sha256,
    spill_folder,
    write_file,
)
from hitoku.io import read_jj


def test_folder_appears_after_successful_block(tmp_path):
    target = tmp_path / "deep" / "out"
    with new_folder(target) as draft:
        (draft / "a.txt").write_text("a")
        assert not target.exists()
    assert [p.name for p in target.iterdir()] == ["a.txt"]
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def test_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with new_folder(tmp_path / "out") as draft:
        (draft / "a.txt").write_text("a")
    assert (tmp_path / "out" / "a.txt").read_text() == "a"


def test_error_leaves_nothing(tmp_path):
    def fail():
        with new_folder(tmp_path / "out") as draft:
            (draft / "secret.txt").write_text("secret")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_existing_folder_is_not_changed(tmp_path, kind):
    target = tmp_path / "out"
    kept = target
    if kind == "folder":
        target.mkdir()
        kept = target / "old.txt"
    kept.write_text("old")
    with pytest.raises(OutputError, match="is not empty") as caught, new_folder(target):
        pass
    assert caught.value.fix
    assert kept.read_text() == "old"


def test_parent_that_is_a_file_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"), new_folder(tmp_path / "file" / "out"):
        pass


def test_file_is_replaced_after_successful_block(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with new_file(target) as draft:
        draft.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_failed_block_keeps_the_file(tmp_path):
    def fail():
        with new_file(tmp_path / "a.txt") as draft:
            draft.write_text("half")
            raise RuntimeError

    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(RuntimeError):
        fail()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("fails", [False, True])
def test_files_in_several_folders_appear_together(tmp_path, fails):
    def move():
        with new_files(pairs):
            assert not any(target.exists() for _, target in pairs)
            if fails:
                raise RuntimeError

    pairs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / f"draft-{name}").write_text(name)
        pairs.append((tmp_path / f"draft-{name}", tmp_path / name / "a.txt"))
    if fails:
        with pytest.raises(RuntimeError):
            move()
    else:
        move()
    for name in ("one", "two"):
        assert [path.read_text() for path in (tmp_path / name).iterdir()] == ([] if fails else [name])


def test_bytes_are_written_into_new_folder(tmp_path):
    write_file(tmp_path / "deep" / "key", b"secret", private=True)
    write_file(tmp_path / "deep" / "open", b"open")
    assert (tmp_path / "deep" / "key").read_bytes() == b"secret"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").iterdir()}
    assert modes["key"] == stat.S_IRUSR | stat.S_IWUSR
    assert modes["open"] & stat.S_IRUSR
    assert sorted(modes) == ["key", "open"]


def test_folder_that_cannot_be_created_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write 'a'"):
        write_file(tmp_path / "file" / "a", b"")


def test_reading_stops_at_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5) == b"12345"
    with pytest.raises(DataError, match="longer than 4 bytes"):
        read_file(tmp_path / "a", 4)
    with pytest.raises(DataError, match="cannot read 'b'"):
        read_file(tmp_path / "b", 5)


def test_file_hash_equals_hash_of_bytes(tmp_path):
    content = bytes(range(256)) * 5_000
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == sha256(content) == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_named_in_error(tmp_path, number):
    def write():
        with new_folder(tmp_path / "out") as draft:
            (draft / "half").write_text("half")
            raise OSError(number, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full") as full:
        write()
    assert "free disk space" in full.value.fix
    assert list(tmp_path.iterdir()) == []


@given(st.text(alphabet="'=+-@\t\r1.,a", max_size=6))
def test_disarmed_code_is_restored(text):
    assert rearm(disarm(text)) == text
    shown = disarm(text)
    assert not shown.startswith(("=", "@", "\t", "\r")) or len(shown) == 1


def test_named_pipe_raises_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file"):
        read_file(tmp_path / "pipe", 10)
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with pytest.raises(DataError, match="cannot read"):
        read_file(tmp_path / "link", 10, links=False)


KILLED = """
import os, signal, sys
from pathlib import Path
from hitoku.files import new_folder
with new_folder(Path(sys.argv[1])) as draft:
    (draft / "secret.txt").write_text("4711")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_killed_program_are_removed(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out")], check=False, timeout=60)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".draft")
    mine = tmp_path / ".out-abc.draft"  # of another shape: somebody else's
    mine.mkdir()
    with new_folder(tmp_path / "out") as draft:
        (draft / "a.txt").write_text("a")
        # A draft that somebody is working on is left alone.
        with private_folder(tmp_path, "out") as other:
            (other / "b.txt").write_text("b")
            assert (draft / "a.txt").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out-abc.draft", "out"]


def test_spilled_records_of_killed_run_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".hitoku-spill-abcd1234.draft"
    left.mkdir()
    (left / "duckdb_temp_storage_0.tmp").write_bytes(b"records")
    with spill_folder() as used:
        assert list(tmp_path.iterdir()) == [used]
        assert used.stat().st_mode & 0o777 == 0o700
        with spill_folder():
            assert used.exists()
    assert list(tmp_path.iterdir()) == []


def test_oversized_gz_file_is_not_fully_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LEAST_UNPACKED", 1_000)
    bomb = gzip.compress(b"0" * 1_000_000)
    assert len(bomb) * files.MAX_GROWTH < 1_000_000
    with pytest.raises(OSError, match="when unpacked"):
        files.unpack(bomb)
    table = "".join(f"{n} {n * n} s\n" for n in range(20_000)).encode()
    assert files.unpack(gzip.compress(table)) == table
    (tmp_path / "x.jj.gz").write_bytes(bomb)
    with pytest.raises(DataError, match="cannot read the JJ file"):
        read_jj(tmp_path / "x.jj.gz")
