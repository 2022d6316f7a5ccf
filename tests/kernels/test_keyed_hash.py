"""Pseudonyms made in one pass against the standard library's, one at a time."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitoku.checks.arrow_columns import packed_texts
from hitoku.checks.ledger import membership
from hitoku.checks.ledger.membership import pseudonyms
from hitoku.kernels.keyed_hash import keyed_hashes


def one_at_a_time(texts, key):
    return [int.from_bytes(hashlib.blake2b(t, key=key, digest_size=8).digest(), "little") for t in texts]


def at_once(texts, key):
    offsets = np.cumsum([0, *map(len, texts)])
    return keyed_hashes(
        np.frombuffer(b"".join(texts), dtype=np.uint8), offsets, np.frombuffer(key, dtype=np.uint8)
    ).tolist()


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1000])
def test_texts_of_every_length_around_a_block(length):
    texts = [bytes(range(256)) * 4, b"x" * length, b"", bytes([255]) * length]
    assert at_once(texts, bytes(range(32))) == one_at_a_time(texts, bytes(range(32)))


@given(
    texts=st.lists(st.binary(max_size=300), min_size=1, max_size=5), key=st.binary(min_size=1, max_size=64)
)
def test_any_texts_under_any_key(texts, key):
    assert at_once(texts, key) == one_at_a_time(texts, key)


@pytest.mark.parametrize(
    "units",
    [
        pytest.param(pa.array([3, -1, 2**62]), id="whole numbers"),
        pytest.param(pa.array([1, 200], pa.uint8()), id="small ones"),
        pytest.param(pa.array(["ann", "", "東京都 " * 40]), id="texts"),
        pytest.param(pa.array(["a", "b", "c"], pa.large_string())[1:], id="a part of an array"),
        pytest.param(pa.array([1.5, 2.0]), id="what Arrow writes otherwise than Python"),
        pytest.param(pa.array([True, False]), id="truth values"),
    ],
)
def test_a_unit_has_one_pseudonym_however_it_is_made(monkeypatch, units):
    key = bytes(range(32))
    expected = one_at_a_time([str(unit).encode() for unit in units.to_pylist()], key)
    for many in (0, 10**9):
        monkeypatch.setattr(membership, "MANY", many)
        assert pseudonyms(packed_texts(units) or units.to_pylist(), key).tolist() == expected
        assert pseudonyms(units.to_pylist(), key).tolist() == expected
