"""Whether the log is whole, holds every receipt, and tells what the tables say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hitoku.review import log
from hitoku.review.desk import Desk
from hitoku.review.log import Head
from hitoku.review.replay import differences
from hitoku.review.storage import reading
from hitoku.review.tables import release


def verified(
    desk: Desk, receipts: Sequence[Mapping[str, Any]] = (), export: Path | None = None
) -> tuple[int, list[str]]:
    """Count the entries of a log and name what is wrong with it.

    Parameters
    ----------
    desk
        The application.
    receipts
        Heads that left with outputs: ``entries`` and ``digest``.
    export
        A log that was exported; otherwise that of the database, which is held against the tables as well.
    """
    heads = [Head(int(each["entries"]), str(each["digest"])) for each in receipts]
    with reading(desk.engine) as connection:
        known = connection.execute(sa.select(release.c.entries, release.c.head)).all()
        if export is not None:
            found = log.read_export(export)
            return len(found), log.faults(found, heads)
        found = list(log.entries(connection))
        wrong = log.faults(found, [*heads, *(Head(row.entries, row.head) for row in known)])
        return len(found), [*wrong, *differences(connection, found)]
