"""The log: append-only, each entry chained to the one before, so that an edit shows.

A chain does not show that its tail was cut off. That is why its head and its length stand on every receipt:
an export that does not contain the head of a receipt is not whole.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.errors import DataError
from hitoku.files import read_csv, sha256, write_csv
from hitoku.review.storage import now
from hitoku.review.tables import log

# What the first entry is chained to.
BEGINNING = "0" * 64
SYSTEM = "system"
COLUMNS = ("number", "at", "who", "event", "request", "body", "before", "digest")


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log: how many entries, and the digest of the last."""

    entries: int
    digest: str


def append(connection: Connection, who: str, event: str, *, request: int | None = None, **body: Any) -> Head:
    """Write an entry, in the transaction of what it tells about.

    Parameters
    ----------
    connection
        Of the writer.
    who
        Login of the person, or "system".
    event
        What happened, as :mod:`hitoku.review.replay` knows it.
    request
        Which request it is about.
    body
        Everything that is needed to do it again; texts that people wrote by their hash alone.
    """
    before = head(connection)
    entry = {
        "number": before.entries + 1,
        "at": now(),
        "who": who,
        "event": event,
        "request": request,
        "body": _plain(body),
        "before": before.digest,
    }
    digest = _digest(entry)
    connection.execute(sa.insert(log).values(**entry, digest=digest))
    return Head(before.entries + 1, digest)


def head(connection: Connection) -> Head:
    """Return the end of the log."""
    last = connection.execute(
        sa.select(log.c.number, log.c.digest).order_by(log.c.number.desc()).limit(1)
    ).first()
    return Head(0, BEGINNING) if last is None else Head(last.number, last.digest)


def entries(connection: Connection, request: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield entries from the first to the last."""
    asked = sa.select(log).order_by(log.c.number)
    if request is not None:
        asked = asked.where(log.c.request == request)
    for row in connection.execute(asked).mappings():
        yield dict(row)


def faults(found: Iterable[Mapping[str, Any]], receipts: Iterable[Head] = ()) -> list[str]:
    """Name what is wrong with a log; nothing when it is whole.

    Parameters
    ----------
    found
        Its entries, from the first to the last.
    receipts
        Heads that were written down elsewhere; each must be in the log where it says.
    """
    wrong: list[str] = []
    before, digests = BEGINNING, []
    for place, entry in enumerate(found, start=1):
        if entry["number"] != place:
            wrong.append(f"entry {place} is missing: number {entry['number']} stands in its place")
            return wrong
        if entry["before"] != before:
            wrong.append(f"entry {place} does not follow the one before it")
        if _digest(entry) != entry["digest"]:
            wrong.append(f"entry {place} was changed after it was written")
        before = entry["digest"]
        digests.append(before)
    for receipt in receipts:
        if receipt.entries > len(digests):
            wrong.append(
                f"the log has {len(digests)} entries, a receipt knows {receipt.entries}: its tail was cut"
            )
        elif receipt.entries and digests[receipt.entries - 1] != receipt.digest:
            wrong.append(f"entry {receipt.entries} is not the one that a receipt knows: another log")
    return wrong


def to_csv(found: Iterable[Mapping[str, Any]]) -> str:
    """Write entries as CSV, everything that is needed to check the chain."""
    text = io.StringIO()
    write_csv(text, chain([COLUMNS], ([entry[name] for name in COLUMNS] for entry in found)))
    return text.getvalue()


def from_csv(text: str) -> list[dict[str, Any]]:
    """Read what :func:`to_csv` wrote."""
    head, *lines = read_csv(io.StringIO(text))
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    return [
        {**row, "number": int(row["number"]), "request": int(row["request"]) if row["request"] else None}
        for row in rows
    ]


def read_export(path: Path) -> list[dict[str, Any]]:
    """Read a file that :func:`to_csv` made; one that is something else is refused."""
    try:
        found = from_csv(path.read_text("utf-8"))
        return [{name: entry[name] for name in COLUMNS} for entry in found]
    except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
        raise DataError(
            f"{path.name!r} is no exported log",
            where=str(path),
            fix="give the log.csv that the page /log hands out",
        ) from error


def _digest(entry: Mapping[str, Any]) -> str:
    return sha256(_plain([entry[name] for name in COLUMNS[:-1]]).encode())


def _plain(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
