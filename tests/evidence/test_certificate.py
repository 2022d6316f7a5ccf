from __future__ import annotations

import errno
import gzip
import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.errors import OutputError
from hitoku.evidence import (
    AttainedRange,
    AuditProblem,
    Demand,
    Stream,
    Witness,
    WitnessSearch,
    audit,
    pieces,
)
from hitoku.evidence import certificate as certificates
from hitoku.evidence.verify import divide, fingerprint, verify
from hitoku.model import Need, Protection, Release, Table


@pytest.fixture(scope="module")
def certificate():
    table = Table.from_array(np.array([[20, 15], [72, 1]]) / 4, names=["a", "b"], codes=["xy", "pq"])
    table = replace(table, upper=np.where(table.inner, 100 / 3, np.inf))
    need = Need(unsafe=table.value == 0.25, lower=0.25, upper=1 / 3, width=0.5)
    found = audit(table, need, Release.of(table, Protection.withhold(table, table.inner, need)))
    assert found.safe
    return found.certificate


def test_file_content_matches_the_reference(certificate):
    content = certificate.content
    assert content["format"] == "hitoku certificate 4"
    assert (content["measure"], content["integer"], content["variables"]) == ("value", False, ["a", "b"])
    assert content["codes"][4] == ["y", "q"]
    assert content["values"] == [5, "3.75", "8.75", 18, "0.25", "18.25", 23, 4, 27]
    assert content["lower"] == [0] * 9
    assert content["upper"] == ["100/3", "100/3", None, "100/3", "100/3", None, None, None, None]
    assert content["withheld"] == [0, 1, 3, 4]
    assert [[0, 1, 2], [1, 1, -1]] in content["relations"]
    (unsafe,) = content["unsafe"]
    assert (unsafe["cell"], unsafe["lower"], unsafe["upper"], unsafe["width"]) == (4, "0.25", "1/3", "0.5")
    low, high = (content["witnesses"][unsafe[side]] for side in ("low", "high"))
    deviations = [
        Fraction(dict(zip(w["cells"], w["differences"], strict=True))[4], w["denominator"])
        for w in (low, high)
    ]
    assert deviations[0] == Fraction(-1, 4)  # it cannot go below zero, and must get there
    assert Fraction(1, 3) <= deviations[1] <= Fraction(15, 4)
    assert certificate.digest == content["sha256"]


def test_certificate_is_written_into_checker_folder(certificate, tmp_path):
    path = certificate.write(tmp_path)
    assert path == tmp_path / "checker" / "certificate.json.gz"
    assert json.loads(gzip.decompress(path.read_bytes())) == certificate.content
    path.rename(path.with_name("certificate.json"))
    assert certificate.write(tmp_path).name == "certificate.json"
    assert len(list((tmp_path / "checker").iterdir())) == 1


def test_streamed_file_equals_memory_content(certificate, tmp_path):
    content = {name: part for name, part in certificate.content.items() if name != "sha256"}
    assert certificate.digest == fingerprint(content)
    plain = json.dumps(certificate.content, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    assert certificate.write(tmp_path / "proof.json").read_bytes() == plain
    assert gzip.decompress(certificate.write(tmp_path / "proof.json.gz").read_bytes()) == plain


@settings(max_examples=32)
@given(
    lists=st.dictionaries(st.text(max_size=3), st.lists(st.one_of(st.integers(), st.text(), st.none()))),
    at_once=st.integers(1, 3),
)
def test_streamed_pieces_equal_json_output(lists, at_once):
    streams = {
        name: Stream(lambda part=part: iter(part), at_once) if len(part) % 2 else part
        for name, part in lists.items()
    }
    assert b"".join(pieces(streams)) == json.dumps(lists, sort_keys=True, separators=(",", ":")).encode()


def test_interrupted_write_keeps_previous_certificate(certificate, tmp_path, monkeypatch):
    path = certificate.write(tmp_path / "proof.json.gz")
    before = path.read_bytes()

    def full(_):
        yield b"{"
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(certificates, "pieces", full)
    with pytest.raises(OutputError, match="disk is full"):
        certificate.write(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["proof.json.gz"]


def test_missing_folders_are_created(certificate, tmp_path):
    assert verify(certificate.write(tmp_path / "deep" / "er" / "proof.json")).ok


def test_unwritable_path_raises_with_name(certificate, tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OutputError) as caught:
        certificate.write(tmp_path / "file" / "proof.json")
    assert "proof.json" in caught.value.what
    assert caught.value.where == str(tmp_path / "file")


def test_unused_witness_is_dropped():
    problem = AuditProblem(
        cells=np.arange(3),
        rows=[{0: 1, 1: 1, 2: 1}],
        relation=np.arange(1),
        lower=[Fraction(-9)] * 3,
        upper=[Fraction(9)] * 3,
        scale=1,
        integer=False,
        demands={
            0: Demand(Fraction(2), Fraction(2), Fraction(0)),
            1: Demand(Fraction(0), Fraction(1), Fraction(0)),
            2: Demand(Fraction(0), Fraction(0), Fraction(4)),
        },
    )
    search = WitnessSearch(problem, frozenset())
    steps = {0: 1, 2: -1}, {0: 2, 1: 1, 2: -3}, {0: -2, 1: -2, 2: 4}
    for moved in steps:
        search.add(Witness(1, moved))
    assert len(search.witnesses) == 3
    found = search.proof()
    assert found.witnesses == (search.witnesses[1], search.witnesses[2])
    assert found.attained[0] == AttainedRange(Fraction(-2), Fraction(2), 1, 0)
    assert found.attained[1] == AttainedRange(Fraction(0), Fraction(1), None, 0)
    assert found.attained[2] == AttainedRange(Fraction(-3), Fraction(4), 0, 1)
    assert not found.failed
    assert not found.undecided


@given(
    content=st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            ),
            max_leaves=6,
        ),
        max_size=4,
    )
)
def test_streamed_fingerprint_matches_whole_record(content):
    rest = {name: part for name, part in content.items() if name != "sha256"}
    written = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    assert fingerprint({**content, "sha256": "any"}) == hashlib.sha256(written).hexdigest()


@given(move=st.fractions(max_denominator=9) | st.integers(-99, 99), below=st.integers(1, 9))
def test_scaled_deviations_are_exact(move, below):
    found = divide(move, below)
    assert found * below == move
    assert isinstance(found, int) == ((Fraction(move) / below).denominator == 1)
