"""The state of everything, made again from the log alone; what the tables say must be the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.review.states import Event
from hitoku.review.tables import decision, release, request, review, settled, vote

MOVES = {str(event) for event in Event}


@dataclass(eq=True)
class Rebuilt:
    """Requests, reviews, votes and decisions.

    Parameters
    ----------
    states
        The state of each request.
    reviews
        By submission and person, whether the review is frozen.
    votes
        By submission, person and output.
    settled, decisions
        By output.
    released
        Requests that were released.
    """

    states: dict[int, str] = field(default_factory=dict)
    reviews: dict[tuple[int, int], bool] = field(default_factory=dict)
    votes: dict[tuple[int, int, int], str] = field(default_factory=dict)
    settled: dict[int, str] = field(default_factory=dict)
    decisions: dict[int, str] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)


def replay(entries: Iterable[Mapping[str, Any]]) -> Rebuilt:
    """Make everything again from the entries of a log."""
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


def stored(connection: Connection) -> Rebuilt:
    """Read the same from the tables."""
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
    """Name what the tables say and the log does not, or the other way round."""
    told, kept = replay(entries), stored(connection)
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
        if getattr(told, name) != getattr(kept, name)
    ]
