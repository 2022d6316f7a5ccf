"""Append-only log whose entries are chained by hashes, and from which all tables can be rebuilt.

The chain alone does not reveal a truncated end. Head and length of the log are therefore on every receipt: an
export without the head of a receipt is incomplete.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from hitoku.errors import DataError
from hitoku.files import read_csv, sha256, write_csv
from hitoku.review.states import Event
from hitoku.review.storage import now, reading
from hitoku.review.tables import decision, log, release, request, review, settled, vote

# Hash before the first entry.
BEGINNING = "0" * 64
SYSTEM = "system"
COLUMNS = ("number", "at", "who", "event", "request", "body", "before", "digest")


@dataclass(frozen=True, slots=True)
class Head:
    """Head of the log: number of entries, and digest of the last one."""

    entries: int
    digest: str


def append(connection: Connection, who: str, event: str, *, request: int | None = None, **body: Any) -> Head:
    """Append an entry, in the transaction of the change it describes.

    Parameters
    ----------
    connection
        Write connection to the database.
    who
        Login of the user, or "system".
    event
        Event name, as in :func:`replay`.
    request
        Number of the request, if any.
    body
        Data needed to replay the event; user texts only as hashes.
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
    """Return the head of the log."""
    last = connection.execute(
        sa.select(log.c.number, log.c.digest).order_by(log.c.number.desc()).limit(1)
    ).first()
    return Head(0, BEGINNING) if last is None else Head(last.number, last.digest)


def entries(connection: Connection, request: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield entries in order."""
    asked = sa.select(log).order_by(log.c.number)
    if request is not None:
        asked = asked.where(log.c.request == request)
    for row in connection.execute(asked).mappings():
        yield dict(row)


def faults(found: Iterable[Mapping[str, Any]], receipts: Iterable[Head] = ()) -> list[str]:
    """Return the problems of a log; empty if it is intact.

    Parameters
    ----------
    found
        Entries of the log, in order.
    receipts
        Heads stored elsewhere, which must be in the log.
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
    """Return entries as CSV, including all that is needed to verify the chain."""
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
    """Read a file that :func:`to_csv` wrote; raise DataError for other files."""
    try:
        found = from_csv(path.read_text("utf-8"))
        return [{name: entry[name] for name in COLUMNS} for entry in found]
    except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
        raise DataError(
            "not_an_exported_log",
            "{file!r} is not an exported log",
            where=str(path),
            fix="give the log.csv from the page /log",
            file=path.name,
        ) from error


def _digest(entry: Mapping[str, Any]) -> str:
    return sha256(_plain([entry[name] for name in COLUMNS[:-1]]).encode())


def _plain(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


MOVES = {str(event) for event in Event}


@dataclass(eq=True)
class Rebuilt:
    """State of requests, reviews, votes and decisions, rebuilt from the log."""

    states: dict[int, str] = field(default_factory=dict)  # State of each request.
    # Whether each review is submitted, by submission and person.
    reviews: dict[tuple[int, int], bool] = field(default_factory=dict)
    # Votes by submission, person and output.
    votes: dict[tuple[int, int, int], str] = field(default_factory=dict)
    # settled, decisions: settled choices and decisions by output.
    settled: dict[int, str] = field(default_factory=dict)
    decisions: dict[int, str] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)  # Released requests.


def replay(entries: Iterable[Mapping[str, Any]]) -> Rebuilt:
    """Rebuild the state from the entries of a log."""
    found = Rebuilt()
    for entry in entries:
        body, event = json.loads(entry["body"]), entry["event"]
        if event in MOVES:
            found.states[entry["request"]] = body["state"]
            found.settled |= {int(place): choice for place, choice in body.get("choices", {}).items()}
            if event == Event.RELEASE:
                found.released.add(entry["request"])
        elif event == "review begun":
            found.reviews[body["submission"], body["person"]] = False
        elif event == "review submitted":
            found.reviews[body["submission"], body["person"]] = True
        elif event == "vote":
            found.votes[body["submission"], body["person"], body["output"]] = body["choice"]
        elif event == "decision":
            found.decisions[body["output"]] = body["choice"]
    return found


def stored_state(connection: Connection) -> Rebuilt:
    """Read the state from the tables."""
    reviews = {row.id: row for row in connection.execute(sa.select(review))}
    return Rebuilt(
        states={row.id: row.state for row in connection.execute(sa.select(request.c.id, request.c.state))},
        reviews={(row.submission, row.person): row.submitted is not None for row in reviews.values()},
        votes={
            (reviews[row.review].submission, reviews[row.review].person, row.output): row.choice
            for row in connection.execute(sa.select(vote))
        },
        settled={row.output: row.choice for row in connection.execute(sa.select(settled))},
        decisions={row.output: row.choice for row in connection.execute(sa.select(decision))},
        released=set(connection.scalars(sa.select(release.c.request))),
    )


def differences(connection: Connection, entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the differences between the tables and the log."""
    replayed, kept = replay(entries), stored_state(connection)
    words = {
        "states": "the states of requests",
        "reviews": "reviews",
        "votes": "votes",
        "settled": "what reviewers settled on",
        "decisions": "decisions",
        "released": "releases",
    }
    return [
        f"{text} are not those of the log"
        for name, text in words.items()
        if getattr(replayed, name) != getattr(kept, name)
    ]


def verify_log(
    engine: Engine, receipts: Sequence[Mapping[str, Any]] = (), export: Path | None = None
) -> tuple[int, list[str]]:
    """Verify a log; return the number of entries and its problems.

    Parameters
    ----------
    engine
        Engine of the database.
    receipts
        Heads on receipts: ``entries`` and ``digest``.
    export
        Exported log to verify. Default: the log of the database, which is also compared with the tables.
    """
    heads = [Head(int(each["entries"]), str(each["digest"])) for each in receipts]
    with reading(engine) as connection:
        if export is not None:
            found = read_export(export)
            return len(found), faults(found, heads)
        found = list(entries(connection))
        wrong = faults(found, [*heads, *released_heads(connection)])
        return len(found), [*wrong, *differences(connection, found)]


def released_heads(connection: Connection) -> list[Head]:
    """Return the heads on the receipts of this database."""
    known = connection.execute(sa.select(release.c.entries, release.c.head))
    return [Head(row.entries, row.head) for row in known]
