"""One DuckDB for all inputs of a process: opening one costs more than most inputs do.

Each caller gets a database of its own inside it, empty, which is detached some callers later.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import duckdb

# So many may be in use at once; nothing in a door opens more than three.
OPEN = 8


def share() -> None:
    """Let :func:`duckdb.connect` hand out parts of one database in memory, with one thread."""
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
        if len(attached) > OPEN:
            whole.execute(f"DETACH {attached.popleft()}")
        return own

    duckdb.connect = connect
