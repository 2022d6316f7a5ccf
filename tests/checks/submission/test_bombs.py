"""Small files that unpack to fill a memory, pipes, and depths: a finding, quickly."""

from __future__ import annotations

import gzip
import sys

import pytest
from tests.checks.submissions import reseal, session
from tools.mutations import TRACEBACK, fuzz

from hitoku.checks.submission import recheck
from hitoku.evidence.verify import verify
from tools import mutations


@pytest.fixture
def folder(tmp_path):
    return session().submit(tmp_path / "submission")


def test_decompression_bomb_raises(folder):
    path = folder / "checker" / "01-people.certificate.json.gz"
    path.write_bytes(gzip.compress(b" " * 60_000_000, 9))
    reseal(folder)
    assert path.stat().st_size < 100_000
    assert "two hundred times" in verify(path).reason
    assert verify(path).code == 2
    first, *others = recheck(folder).outputs
    assert "the certificate cannot be checked: it unpacks" in str(first.findings[0])
    assert [each.state for each in others] == ["releasable", "releasable"]


def test_certificate_of_earlier_version_must_be_renewed(folder):
    path = folder / "checker" / "01-people.certificate.json.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress(text.replace("certificate 4", "certificate 2").encode(), mtime=0))
    reseal(folder)
    first = recheck(folder).outputs[0]
    (found,) = first.findings
    assert "written by an earlier version of hitoku: protect again" in found.reason
    assert "refuted" not in str(found)
    assert found.advice == "create the output again"
    assert first.state != "releasable"


def test_mutated_submissions_raise_without_traceback():
    found = fuzz(12, minutes=5, seed=1)
    assert found.total() == 12
    assert found[TRACEBACK] == 0
    assert found["found"] + found["refused"] > 6


def test_interrupted_mutations_report_progress(monkeypatch, capsys):
    def one(_, seed):
        if seed == 9:
            raise KeyboardInterrupt
        return "found"

    monkeypatch.setattr(mutations, "check_one", one)
    monkeypatch.setattr(sys, "argv", ["mutations", "--seed", "7", "--count", "5"])
    monkeypatch.setattr(mutations.signal, "signal", lambda *_: None)
    assert mutations.main() == 0
    told = capsys.readouterr().out
    assert "2 mutated submissions from seed 7: 2 found" in told
    assert "--seed 9" in told
