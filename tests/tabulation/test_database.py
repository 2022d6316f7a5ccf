"""What DuckDB raises arrives as ours, and Ctrl-C as what it is."""

from __future__ import annotations

import os
import signal
import threading

import duckdb
import pytest

from hitoku.errors import DataError, TableError
from hitoku.tabulation import translate_errors


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (duckdb.OutOfMemoryException("full"), TableError),
        (duckdb.ConversionException("'4711' is no number"), DataError),
        (OSError("gone"), DataError),
        (duckdb.InterruptException("INTERRUPT Error: Interrupted!"), KeyboardInterrupt),
        (RuntimeError("Query interrupted"), KeyboardInterrupt),
        (RuntimeError("something of ours"), RuntimeError),
    ],
)
def test_database_errors_become_hitoku_errors(raised, told):
    with pytest.raises(told) as caught, translate_errors("firms.csv"):
        raise raised
    assert caught.type is told
    assert "4711" not in str(caught.value)


def test_interrupted_query_raises_keyboard_interrupt():
    """A query that would take years; DuckDB itself calls the signal a RuntimeError."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    connection = duckdb.connect(":memory:")
    pressed = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    pressed.start()
    try:
        with pytest.raises(KeyboardInterrupt), translate_errors("firms.csv"):
            connection.execute(
                "CREATE TABLE t AS SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b"
            )
    finally:
        pressed.join()
        signal.signal(signal.SIGINT, before)
        connection.close()
