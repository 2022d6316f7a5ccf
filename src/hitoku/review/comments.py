"""What people say about a request: in private among checkers, or to the researcher; and who sees it when."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError
from hitoku.files import sha256
from hitoku.review import log
from hitoku.review.permissions import Person, Standing
from hitoku.review.states import OWNERS, Owner, RequestState
from hitoku.review.storage import now
from hitoku.review.tables import comment, person, request

LONGEST = 10_000


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
    """Write a comment down; the log has its hash, for texts may be confidential.

    Parameters
    ----------
    connection
        Of the writer.
    number, output
        The request, and the output it is about.
    speaker, who
        Number and login of whoever says it.
    text
        What they say.
    public
        The researcher may read it, when it is their turn.
    independent
        Said before votes were open.
    """
    said = text.strip()
    if not 0 < len(said) <= LONGEST:
        raise ParameterError(
            f"a comment has 1 to {LONGEST:_} characters", where="comment", fix="write something"
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
    """Return the comments that somebody may read, from the first to the last.

    The researcher reads public ones, and those of a turn under review only when it is over: half a review is
    none. Checkers read all, but for what others said about this turn before votes were open.
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
