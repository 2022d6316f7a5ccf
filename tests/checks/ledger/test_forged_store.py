"""Ledgers that somebody with a hex editor, or with our own code, has made: refused in words."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

import pytest
from tests.raising import raises

from hitoku.checks.ledger import LedgerStore, create, init, receipts, verify_store
from hitoku.errors import DataError


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("insert into vector values ('0', NULL)", id="a vector that is nothing"),
        # bytes(n) is n zeros: this one would not fit into any memory.
        pytest.param("insert into vector values ('0', 4000000000000)", id="a vector that is a number"),
        pytest.param("update secret set key = 4000000000000", id="a key that is a number"),
        pytest.param("update secret set key = 'text'", id="a key that is a text"),
    ],
)
def test_non_bytes_in_store_are_rejected(tmp_path, change):
    path = tmp_path / "x.ledger"
    init(path, policy="japan-2017", checkers=1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("drop table vector")
        database.execute("create table vector (name text, content)")
        database.execute(change)
    with raises("ledger_file_changed"):
        verify_store(path)


@pytest.mark.parametrize(
    "lines",
    [
        [["begin", ["a list"]]],
        [["begin", {}]],
        [["begin", {"version": 4, "key": "K"}], ["output", {}]],
        [["begin", {"version": 4, "key": "K"}], ["release", {"outputs": 7, "number": 1}]],
        [["begin", {"version": 4, "key": "K"}], ["release", {"outputs": [], "number": 1}]],
    ],
)
def test_foreign_bodies_in_valid_chain_raise(tmp_path, lines):
    path, key = tmp_path / "x.ledger", b"k" * 32
    store = LedgerStore(path, [], key)
    for kind, body in lines:
        keyed = {"key": hashlib.sha256(key).hexdigest()} if "key" in body else {}
        store.add(kind, {**body, **keyed} if isinstance(body, dict) else body)
    create(path, store.lines, key)
    with pytest.raises(DataError):
        _ = verify_store(path), receipts(path)
