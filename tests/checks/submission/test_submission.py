from __future__ import annotations

import csv
import hashlib
import json
import os
import tempfile
from datetime import UTC, datetime

import pytest
from tests.checks.submissions import PEOPLE, reseal, resealed, session, written
from tests.raising import raises

from hitoku.checks import ExceptionRequest
from hitoku.checks.submission import read_submission, recheck, write_submission
from hitoku.evidence.verify import verify


@pytest.fixture
def folder(tmp_path):
    return session().submit(tmp_path / "submission")


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_submission_round_trips(tmp_path):
    work = session()
    found = read_submission(work.submit(tmp_path / "submission"))
    assert (found.name, found.policy, found.data) == ("wages", work.policy, work.records.hash)
    assert [each.to_dict() for each in found.outputs] == [each.to_dict() for each in work.outputs]
    assert repr(found) == "Submission('wages', 3 outputs)"


def test_released_files_need_no_hitoku(folder):
    rows = list(csv.DictReader((folder / "public" / "01-people.csv").read_text("utf-8").splitlines()))
    shown = {(row["region"], row["job"]): row["count"] for row in rows}
    assert shown["N", "c"] == "x"
    assert shown["N", "Total"] == "100"
    assert sum(value == "x" for value in shown.values()) >= 4


def test_protected_table_has_verifiable_certificate(folder):
    assert verify(folder / "checker" / "01-people.certificate.json.gz").ok


def test_files_omit_cell_membership(tmp_path):
    work = session()
    assert work.outputs[0].membership is not None
    for path in files(work.submit(tmp_path / "submission")):
        if path.suffix == ".json":
            assert "membership" not in path.read_text("utf-8")
            lists = [part for part in _lists(json.loads(path.read_text("utf-8"))) if len(part) >= len(PEOPLE)]
            assert lists == []


def _lists(content):
    if isinstance(content, dict):
        for part in content.values():
            yield from _lists(part)
    elif isinstance(content, list):
        yield content
        for part in content:
            yield from _lists(part)


def test_same_session_writes_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    one, two = session().submit(tmp_path / "one"), session().submit(tmp_path / "two")
    assert [path.read_bytes() for path in files(one)] == [path.read_bytes() for path in files(two)]


@pytest.mark.parametrize("where", [0.0, 0.31, 0.5, 0.77, 1.0])
def test_corrupted_byte_raises_with_file_name(folder, where):
    for path in files(folder):
        intact = path.read_bytes()
        place = int(where * (len(intact) - 1))
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 1]) + intact[place + 1 :])
        with raises("submission_not_trusted", file=path.relative_to(folder).as_posix()):
            read_submission(folder)
        path.write_bytes(intact)
    read_submission(folder)


def test_changed_manifest_byte_raises(folder):
    path = folder / "manifest.json"
    intact = path.read_bytes()
    for place in range(len(intact)):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 1]) + intact[place + 1 :])
        with raises("submission_not_trusted"):
            read_submission(folder)


def test_missing_file_raises_with_name(folder):
    for path in files(folder):
        intact = path.read_bytes()
        path.unlink()
        with raises("submission_not_trusted", file=path.relative_to(folder).as_posix()):
            read_submission(folder)
        path.write_bytes(intact)


@pytest.mark.parametrize("name", ["extra.csv", "public/04-more.csv", "checker/.hidden"])
def test_extra_file_raises_with_name(folder, name):
    (folder / name).write_text("x", encoding="utf-8")
    with raises("submission_not_trusted", file=name):
        read_submission(folder)


def test_symbolic_link_raises(folder, tmp_path):
    path = folder / "public" / "01-people.csv"
    path.rename(tmp_path / "elsewhere.csv")
    path.symlink_to(tmp_path / "elsewhere.csv")
    with raises("submission_not_trusted", problem="is a link"):
        read_submission(folder)


def test_renamed_output_raises(folder):
    resealed(folder, "checker/01-people.json", lambda content: content.update(name="incomes"))
    first, *others = recheck(folder).outputs
    assert "another output" in str(first.findings[0])
    assert [each.status for each in others] == ["pass", "pass"]


def test_existing_folder_is_not_changed(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with raises("folder_not_empty"):
        session().submit(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hitoku.checks.submission.writing._fill", full)
    with raises("cannot_write", kind="the disk is full"):
        session().submit(tmp_path / "submission")
    assert list(tmp_path.iterdir()) == []


def test_empty_session_or_repeated_name_raises(tmp_path):
    work = session()
    work.outputs.append(work.outputs[0])
    with raises("output_names_repeated", names="people"):
        work.submit(tmp_path / "submission")
    work.outputs.clear()
    with raises("nothing_to_submit"):
        work.submit(tmp_path / "submission")


def manifested(folder, change):
    """Change the manifest and make its own hash fit."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    del manifest["sha256"]
    change(manifest)
    manifest["sha256"] = hashlib.sha256(written(manifest)).hexdigest()
    (folder / "manifest.json").write_bytes(written(manifest))


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest["files"].update({"../../secret": "0" * 64}),
        lambda manifest: manifest["outputs"][0].update(files="../../elsewhere/01-people"),
        lambda manifest: manifest["outputs"][0].update(files="/etc/passwd"),
        lambda manifest: manifest["outputs"][0].update(files=3),
        lambda manifest: manifest["outputs"][0].pop("kind"),
        lambda manifest: manifest["outputs"][1].update(files=manifest["outputs"][0]["files"]),
        lambda manifest: manifest.update(outputs="people"),
        lambda manifest: manifest.update(outputs=[]),
        lambda manifest: manifest.update(files=[]),
        lambda manifest: manifest.update(name={"a": 1}),
    ],
)
def test_malformed_manifest_raises(folder, change):
    manifested(folder, change)
    with raises("submission_not_trusted"):
        read_submission(folder)


@pytest.mark.parametrize("name", ["checker/01-people.json", "policy.json", "public/02-incomes.json"])
def test_deeply_nested_json_raises(folder, name):
    (folder / name).write_bytes(b"[" * 100_000 + b"]" * 100_000)
    reseal(folder)
    if name == "policy.json":
        with raises("submission_not_trusted"):
            read_submission(folder)
        return
    states = [each.state for each in recheck(folder).outputs]
    assert states.count("broken") == 1
    assert states.count("releasable") == 2


@pytest.mark.parametrize("where", ["region", {"region": 3}])
def test_invalid_filter_raises(folder, where):
    resealed(folder, "checker/03-means.json", lambda output: output.update(where=where))
    *others, last = recheck(folder).outputs
    assert "file: where" in str(last.findings[0])
    assert [each.status for each in others] == ["pass", "pass"]


def test_oversized_code_lists_are_rejected(folder):
    codes = [[str(number) for number in range(30_000)]] * 2
    resealed(folder, "checker/01-people.json", lambda output: output["evidence"].update(codes=codes))
    assert "not one value for each cell" in str(recheck(folder).outputs[0].findings[0])


def test_binary_table_file_raises(folder):
    (folder / "public" / "01-people.csv").write_bytes(b"\xff\xfe")
    reseal(folder)
    assert "the CSV file to be released" in str(recheck(folder).outputs[0].findings[0])


def test_named_pipe_raises_without_waiting(folder):
    for name in ("checker/01-people.json", "manifest.json"):
        path = folder / name
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        with raises("submission_not_trusted", file=name):
            read_submission(folder)
        path.unlink()
        path.write_bytes(content)
    read_submission(folder)


def test_too_many_folders_raise(folder):
    (folder / "checker" / "deep" / "er").mkdir(parents=True)
    with raises("submission_not_trusted", file="checker/deep", problem="is not in the manifest"):
        read_submission(folder)


def test_submission_is_readable_by_group_only(folder):
    modes = {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if path.is_dir()}
    assert modes == {0o750}
    assert {path.stat().st_mode & 0o777 for path in files(folder)} == {0o640}


def test_manifest_names_researcher_outputs_and_time(tmp_path):
    work = session(researcher="R. Kimura")
    when = datetime(2026, 11, 16, 8, tzinfo=UTC)
    asked = ExceptionRequest(
        output="people", principle="units", reason="known", cells=[{"region": "N", "job": "c"}]
    )
    folder = write_submission(
        tmp_path / "submission",
        "wages",
        work.outputs,
        work.policy,
        researcher="R. Kimura",
        unit="id",
        n_units=240,
        n_records=240,
        requests=[asked],
        comments={"means": "for the yearbook"},
        when=when,
    )
    found = read_submission(folder)
    assert (found.researcher, found.written, found.unit) == ("R. Kimura", "2026-11-16T08:00:00+00:00", "id")
    assert (found.n_units, found.n_records, found.requests) == (240, 240, (asked,))
    assert found.comments == {"means": "for the yearbook"}


def test_other_submission_format_raises_with_version(folder):
    manifested(folder, lambda manifest: manifest.update(format="hitoku submission 1"))
    with raises("submission_not_trusted"):
        read_submission(folder)


def test_session_writes_only_on_submit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session()
    session(ledger=tmp_path / "x.ledger")
    assert list(tmp_path.iterdir()) == []
