"""Phase 1: blinded votes, frozen on submission, then opened and settled; comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError, some
from hitoku.files import sha256
from hitoku.review import log
from hitoku.review.context import latest, move, present
from hitoku.review.states import OWNERS, Event, Owner, Person, RequestState, Standing, StateError
from hitoku.review.storage import now
from hitoku.review.tables import comment, output, person, request, review, settled, vote

Choice = Literal["approve", "change"]
CHOICES = ("approve", "change")


@dataclass(frozen=True, slots=True)
class Ballot:
    """A user's own review of a turn."""

    votes: Mapping[int, str]  # Choice for each output voted on.
    undecided: tuple[str, ...]  # Names of the outputs without a vote.
    silent: tuple[str, ...]  # Names of the outputs with a requested change but no comment.
    submitted: str | None  # Time of submission; None while it can be changed.

    @property
    def obstacle(self) -> str:
        """Reason why the review cannot be submitted; empty if it can."""
        if self.submitted:
            return "your review is submitted"
        if self.undecided:
            return f"{len(self.undecided)} undecided: {some(self.undecided, 3)}"
        if self.silent:
            return f"say why something must change: {some(self.silent, 3)}"
        return ""


Outputs = Sequence[Row[tuple[object, ...]]]


def outputs_of(connection: Connection, number: int) -> Outputs:
    """Return the outputs of the current turn of a request."""
    asked = sa.select(output).where(output.c.submission == present(number)).order_by(output.c.place)
    return connection.execute(asked).all()


def ballot(connection: Connection, number: int, who: int, listed: Outputs | None = None) -> Ballot:
    """Return a user's own review of the current turn.

    Parameters
    ----------
    connection, number, who
        Number of the request, and id of the user.
    listed
        Outputs of the request, if already known.
    """
    own = connection.execute(
        sa.select(review).where(review.c.submission == present(number), review.c.person == who)
    ).first()
    votes: dict[int, str] = {}
    if own is not None:
        rows = connection.execute(sa.select(vote).where(vote.c.review == own.id))
        votes = {each.output: each.choice for each in rows}
    listed = outputs_of(connection, number) if listed is None else listed
    explained = set(
        connection.scalars(
            sa.select(comment.c.output).where(comment.c.request == number, comment.c.person == who)
        )
    )
    return Ballot(
        votes=votes,
        undecided=tuple(each.name for each in listed if each.id not in votes),
        silent=tuple(
            each.name for each in listed if votes.get(each.id) == "change" and each.id not in explained
        ),
        submitted=None if own is None else own.submitted,
    )


def cast(connection: Connection, number: int, output_id: int, who: Person, choice: Choice) -> None:
    """Vote on an output or change the vote; raise StateError after submission."""
    turn = latest(connection, number)
    place = connection.scalar(sa.select(output.c.submission).where(output.c.id == output_id))
    if turn is None or place != turn.id:
        raise StateError(
            "output_of_earlier_turn", "this output is of an earlier turn", fix="open the request again"
        )
    own = _own(connection, turn.id, who.id)
    if own is None:
        connection.execute(sa.insert(review).values(submission=turn.id, person=who.id))
        log.append(connection, who.login, "review begun", request=number, submission=turn.id, person=who.id)
        own = _own(connection, turn.id, who.id)
    if own is None or own.submitted is not None:
        raise StateError(
            "review_submitted",
            "your review is submitted and cannot be changed",
            fix="settle it with the other reviewer",
        )
    this = (vote.c.review == own.id) & (vote.c.output == output_id)
    before = connection.scalar(sa.select(vote.c.choice).where(this))
    if before == choice:
        return
    if before is None:
        connection.execute(sa.insert(vote).values(review=own.id, output=output_id, choice=choice))
    else:
        connection.execute(sa.update(vote).where(this).values(choice=choice))
    log.append(
        connection,
        who.login,
        "vote",
        request=number,
        submission=turn.id,
        person=who.id,
        output=output_id,
        choice=choice,
    )


def submit_review(connection: Connection, number: int, who: Person) -> None:
    """Submit a complete review, which freezes its votes. Idempotent."""
    own = ballot(connection, number, who.id)
    if own.submitted:
        return
    if own.obstacle or not own.votes:
        raise StateError(
            "review_not_submittable",
            "the review cannot be submitted: {obstacle}",
            fix="decide about each",
            obstacle=own.obstacle or "no votes",
        )
    turn = latest(connection, number)
    assert turn is not None  # noqa: S101 - there are votes
    connection.execute(
        sa.update(review)
        .where(review.c.submission == turn.id, review.c.person == who.id)
        .values(submitted=now())
    )
    log.append(connection, who.login, "review submitted", request=number, submission=turn.id, person=who.id)


def open_votes(connection: Connection, number: int, what: Standing) -> dict[str, dict[int, str]]:
    """Return the votes of all reviewers by name after all are submitted; before, nothing."""
    turn = latest(connection, number)
    if not what.unblinded or turn is None:
        return {}
    rows = connection.execute(
        sa.select(person.c.name, vote.c.output, vote.c.choice)
        .join(review, review.c.id == vote.c.review)
        .join(person, person.c.id == review.c.person)
        .where(review.c.submission == turn.id, review.c.submitted.is_not(None))
        .order_by(review.c.id)
    )
    found: dict[str, dict[int, str]] = {}
    for each in rows:
        found.setdefault(each.name, {})[each.output] = each.choice
    return found


def settle(connection: Connection, number: int, who: Person, choices: Mapping[int, str]) -> None:
    """Record the agreed choices and move the request to phase 2.

    Parameters
    ----------
    connection
        Write connection to the database.
    number, who
        Number of the request, and one of its reviewers.
    choices
        Choices for outputs on which votes differ; unanimous votes stand.
    """
    agreed = _agreed_choices(connection, number, choices)
    for place, choice in agreed.items():
        connection.execute(sa.insert(settled).values(output=place, person=who.id, choice=choice))
    move(
        connection,
        number,
        Event.SETTLE,
        who.login,
        choices={str(place): choice for place, choice in agreed.items()},
        person=who.id,
    )


def disputed_outputs(connection: Connection, number: int) -> list[Row[tuple[object, ...]]]:
    """Return the outputs on which submitted votes differ."""
    votes = _frozen(connection, number)
    return [each for each in outputs_of(connection, number) if len(set(votes.get(each.id, []))) > 1]


def _agreed_choices(connection: Connection, number: int, choices: Mapping[int, str]) -> dict[int, str]:
    votes = _frozen(connection, number)
    agreed: dict[int, str] = {}
    open_ones = []
    for each in outputs_of(connection, number):
        said = set(votes.get(each.id, []))
        if len(said) == 1:
            agreed[each.id] = said.pop()
        elif choices.get(each.id) in CHOICES:
            agreed[each.id] = choices[each.id]
        else:
            open_ones.append(each.name)
    if open_ones:
        raise StateError(
            "votes_differ",
            "votes differ on {outputs}",
            fix="agree on each of them first",
            outputs=some(open_ones, 3),
        )
    return agreed


def _frozen(connection: Connection, number: int) -> dict[int, list[str]]:
    turn = latest(connection, number)
    rows = connection.execute(
        sa.select(vote.c.output, vote.c.choice)
        .join(review, review.c.id == vote.c.review)
        .where(review.c.submission == (turn.id if turn else 0), review.c.submitted.is_not(None))
    )
    found: dict[int, list[str]] = {}
    for each in rows:
        found.setdefault(each.output, []).append(each.choice)
    return found


def give_back(connection: Connection, number: int, who: Person) -> None:
    """Return a request to its researcher; requested changes need a public comment in this turn."""
    silent = unexplained_requests(connection, number)
    if silent:
        raise StateError(
            "review_without_request",
            "the researcher would not know what to change: {outputs}",
            fix="write a public comment on each of them",
            outputs=some(silent, 3),
        )
    move(connection, number, Event.RETURN, who.login)


def unexplained_requests(connection: Connection, number: int) -> list[str]:
    """Return the outputs with a requested change but no public comment; or "the request"."""
    votes = _frozen(connection, number)
    turn = latest(connection, number)
    rows = connection.execute(
        sa.select(comment.c.output).where(
            comment.c.request == number, comment.c.public, comment.c.turn == (turn.turn if turn else 0)
        )
    ).all()
    explained = {each.output for each in rows}
    if not explained:
        return ["the request"]
    listed = outputs_of(connection, number)
    return [
        each.name
        for each in listed
        if "change" in votes.get(each.id, []) and each.id not in explained and None not in explained
    ]


def _own(connection: Connection, turn: int, who: int) -> Row[tuple[object, ...]] | None:
    return connection.execute(
        sa.select(review).where(review.c.submission == turn, review.c.person == who)
    ).first()


LONGEST_TEXT = 20_000


def say(
    connection: Connection,
    number: int,
    speaker: int,
    text: str,
    *,
    public: bool,
    who: str,
    output: int | None = None,
    independent: bool = False,
) -> int:
    """Save a comment. The log stores only its hash, because the text may be confidential.

    Parameters
    ----------
    connection
        Write connection to the database.
    number, output
        Number of the request, and id of the output.
    speaker, who
        Id and login of the author.
    text
        Text of the comment.
    public
        Whether the researcher may read it when the request is returned.
    independent
        Whether it was written before votes were opened.
    """
    said = text.strip()
    if not 0 < len(said) <= LONGEST_TEXT:
        raise ParameterError(
            "comment_length",
            "a comment has 1 to {most:_} characters",
            where="comment",
            fix="write something",
            most=LONGEST_TEXT,
        )
    turn = connection.scalar(sa.select(request.c.turn).where(request.c.id == number)) or 0
    made = connection.execute(
        sa.insert(comment).values(
            request=number,
            output=output,
            person=speaker,
            turn=turn,
            independent=independent,
            public=public,
            at=now(),
            text=said,
        )
    )
    assert made.inserted_primary_key is not None  # noqa: S101 - for the type checker
    key = int(made.inserted_primary_key[0])
    log.append(
        connection,
        who,
        "comment",
        request=number,
        comment=key,
        output=output,
        public=public,
        sha256=sha256(said.encode()),
    )
    return key


def visible(
    connection: Connection, number: int, who: Person, what: Standing, output: int | None = None
) -> Sequence[Row[tuple[object, ...]]]:
    """Return the comments that a user may read, in order.

    Researchers read public comments of earlier turns only, so that they never see half a review. Checkers
    read all comments except those that others wrote in this turn before votes were opened.
    """
    turn = connection.scalar(sa.select(request.c.turn).where(request.c.id == number)) or 0
    asked = (
        sa.select(comment, person.c.name.label("speaker"))
        .join(person, person.c.id == comment.c.person)
        .where(comment.c.request == number)
        .order_by(comment.c.id)
    )
    if output is not None:
        asked = asked.where(comment.c.output == output)
    mine = comment.c.person == who.id
    if who.id == what.author:
        theirs = OWNERS[what.state] in {Owner.AUTHOR, Owner.NOBODY} or what.state is RequestState.APPROVED
        past = sa.true() if theirs else comment.c.turn < turn
        asked = asked.where(mine | (comment.c.public & past))
    elif not what.unblinded:
        asked = asked.where(mine | sa.not_(comment.c.independent) | (comment.c.turn < turn))
    return connection.execute(asked).all()
