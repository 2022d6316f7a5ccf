"""One DuckDB instance for all inputs of a process, because opening one costs more than most inputs.

Each caller gets a new empty database in it, which is detached some calls later.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import duckdb

# Databases that stay attached. An entry point uses at most three at once.
MAX_OPEN = 8


def share() -> None:
    """Replace :func:`duckdb.connect` by new databases of one single-threaded instance in memory."""
    whole = duckdb.connect(":memory:", config={"threads": 1, "autoinstall_known_extensions": False})
    whole.execute("SET enable_progress_bar = false")
    attached: deque[str] = deque()
    n = 0

    def connect(*_: Any, **__: Any) -> duckdb.DuckDBPyConnection:
        nonlocal n
        n += 1
        attached.append(f"part_{n}")
        own = whole.cursor()
        own.execute(f"ATTACH ':memory:' AS {attached[-1]}")
        own.execute(f"USE {attached[-1]}")
        if len(attached) > MAX_OPEN:
            whole.execute(f"DETACH {attached.popleft()}")
        return own

    duckdb.connect = connect
