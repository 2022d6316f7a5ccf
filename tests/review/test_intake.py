from __future__ import annotations

import os
import stat
import struct
import time
import zipfile

import pytest
import sqlalchemy as sa
from tests.review.conftest import packed

from hitoku.errors import DataError
from hitoku.review import ReviewSettings, copy_folder, intake, unpack

SMALL = ReviewSettings(unpacked_bytes=20_000_000, most_files=20)


def archive(tmp_path, files, **options):
    path = tmp_path / "upload.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, content, **options)
    return path


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


GOOD = [("manifest.json", b"{}"), ("public/01.csv", b"a,b\n")]


@pytest.mark.parametrize("prefix", ["", "submission/"], ids=["as it is", "in a folder"])
def test_submission_archive_is_unpacked(tmp_path, prefix):
    place, digest = unpack(archive(tmp_path, [(prefix + n, c) for n, c in GOOD]), tmp_path, "in", SMALL)
    assert (place / "public" / "01.csv").read_bytes() == b"a,b\n"
    assert len(digest) == 64


@pytest.mark.parametrize(
    ("files", "word"),
    [
        pytest.param([*GOOD, ("../outside", b"x")], "outside", id="traversal"),
        pytest.param([*GOOD, ("a/../../outside", b"x")], "outside", id="traversal inside"),
        pytest.param([*GOOD, ("/etc/cron.d/x", b"x")], "outside", id="absolute"),
        pytest.param([*GOOD, ("..\\outside", b"x")], "outside", id="backslash"),
        pytest.param([*GOOD, ("C:evil", b"x")], "outside", id="drive"),
        pytest.param([*GOOD, ("line\nbreak", b"x")], "odd name", id="control character"),
        pytest.param([*GOOD, (link("public/link"), b"/etc/passwd")], "link", id="symbolic link"),
        pytest.param([*GOOD, ("MANIFEST.json", b"x")], "twice", id="twice, by case"),
        pytest.param([(f"f{n}", b"x") for n in range(30)], "more than 20 files", id="too many files"),
        pytest.param([*GOOD, ("big", b"\0" * 30_000_000)], "larger than", id="too large"),
        pytest.param([*GOOD, ("bomb", b"\0" * 15_000_000)], "too tightly", id="bomb"),
        pytest.param([("other.json", b"{}")], "no manifest.json", id="no submission"),
        pytest.param([], "empty", id="empty"),
    ],
)
def test_irregular_archive_raises_and_leaves_nothing(tmp_path, files, word):
    quarantine = tmp_path / "quarantine"
    quarantine.mkdir()
    with pytest.raises(DataError, match=word):
        unpack(archive(tmp_path, files), quarantine, "in", SMALL)
    assert list(quarantine.iterdir()) == []
    assert not (tmp_path / "outside").exists()


def test_archive_with_false_sizes_is_stopped(tmp_path):
    path = archive(tmp_path, [*GOOD, ("lie", b"\0" * 5_000_000)])
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"PK\x01\x02")  # the last entry of the directory
    struct.pack_into("<I", raw, at + 24, 10)
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError):
        unpack(path, tmp_path, "in", SMALL)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all", os.urandom(2000)])
def test_invalid_archive_raises(tmp_path, content):
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable zip archive"):
        unpack(path, tmp_path, "in", SMALL)


def test_folder_with_symbolic_link_raises(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "manifest.json").write_text("{}")
    (source / "link").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match="link"):
        copy_folder(source, tmp_path, "in", SMALL)


FORM = {
    "project": "1",
    "title": "Wages",
    "context": "people",
    "controls": "withheld",
    "nonce": "a-nonce-of-a-form",
}


def test_repeated_upload_makes_one_request(centre):
    files = {"submission": ("s.zip", packed(centre.submission / "first"), "application/zip")}
    ren = centre.browser("ren")
    answers = [ren.post("/requests", data=FORM, files=files) for _ in range(2)]
    assert [answer.headers["location"] for answer in answers] == ["/requests/1?said=submitted"] * 2
    assert centre.state(1) == "submitted"
    with centre.context.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM request")) == 1
        assert connection.scalar(sa.text("SELECT count(*) FROM job WHERE kind = 'check'")) == 1
    assert (centre.context.submitted(1) / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"title": " "}, 422),
        ({"context": ""}, 422),
        ({"controls": "x" * 20_001}, 422),
        ({"project": "99"}, 422),
        ({"project": "x"}, 422),
        ({"nonce": "<b>"}, 422),
    ],
)
def test_incomplete_form_creates_nothing(centre, change, status):
    files = {"submission": ("s.zip", packed(centre.submission / "first"), "application/zip")}
    assert centre.browser("ren").post("/requests", data=FORM | change, files=files).status_code == status
    with centre.context.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM request")) == 0


def test_invalid_upload_raises_and_leaves_nothing(centre):
    files = {"submission": ("s.zip", b"rubbish", "application/zip")}
    answer = centre.browser("ren").post("/requests", data=FORM, files=files)
    assert answer.status_code == 422
    assert "not a readable zip archive" in answer.text
    assert list(centre.context.quarantine.iterdir()) == []


def test_oversized_body_is_rejected_before_reading(centre):
    answer = centre.browser("ren").post("/requests", headers={"content-length": "999999999999"})
    assert answer.status_code == 413


def drop(centre, project, login, words=True):
    place = centre.context.inbox / project / login
    place.mkdir(parents=True)
    (place / "wages.zip").write_bytes(packed(centre.submission / "first"))
    if words:
        (place / "wages.toml").write_text('title = "Dropped"\ncontext = "c"\ncontrols = "d"\n', "utf-8")
    old = time.time() - 60
    os.utime(place / "wages.zip", (old, old))
    return place


def test_watched_folder_takes_submission_once(centre):
    place = drop(centre, "wages", "ren")
    assert intake.take_from_inbox(centre.context) == 1
    assert intake.take_from_inbox(centre.context) == 0
    assert list(place.iterdir()) == []
    with centre.context.engine.connect() as connection:
        assert connection.execute(sa.text("SELECT title, state FROM request")).all() == [
            ("Dropped", "submitted")
        ]


def test_incomplete_upload_in_folder_is_left_alone(centre):
    place = drop(centre, "wages", "ren")
    os.utime(place / "wages.zip")
    assert intake.take_from_inbox(centre.context) == 0


@pytest.mark.parametrize(("project", "login"), [("wages", "nobody"), ("nothing", "ren"), ("wages", "yui")])
def test_unauthorised_submission_is_set_aside(centre, project, login):
    drop(centre, project, login)
    intake.take_from_inbox(centre.context)
    aside = sorted((centre.context.inbox / "refused").iterdir())
    assert [path.suffix for path in aside] == [".zip", ".txt"]
    assert aside[1].read_text("utf-8").strip()
