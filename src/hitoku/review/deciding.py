"""Phase 2: somebody who knows the data decides about every output, with facts that can be checked later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError, some
from hitoku.files import sha256
from hitoku.review import log
from hitoku.review.comments import LONGEST
from hitoku.review.desk import latest, move, present
from hitoku.review.permissions import Person
from hitoku.review.reviewing import Outputs, outputs_of
from hitoku.review.states import Event, RequestState, StateError
from hitoku.review.storage import now
from hitoku.review.tables import decision, output, settled

Outcome = Literal["approve", "refuse"]


@dataclass(frozen=True, slots=True)
class Docket:
    """What was decided about the outputs of the present turn, and what is missing."""

    decisions: Mapping[int, Row[tuple[object, ...]]]
    undecided: tuple[str, ...]

    @property
    def obstacle(self) -> str:
        """Why phase 2 cannot be finished; empty when it can."""
        return f"{len(self.undecided)} undecided: {some(self.undecided, 3)}" if self.undecided else ""


def docket(connection: Connection, number: int, listed: Outputs | None = None) -> Docket:
    """Look at the decisions about the present turn of a request.

    Parameters
    ----------
    connection, number
        The request.
    listed
        Its outputs, by whoever has them already.
    """
    listed = outputs_of(connection, number) if listed is None else listed
    rows = connection.execute(
        sa.select(decision)
        .join(output, output.c.id == decision.c.output)
        .where(output.c.submission == present(number))
    )
    made = {each.output: each for each in rows}
    return Docket(made, tuple(each.name for each in listed if each.id not in made))


def settled_choices(connection: Connection, number: int) -> dict[int, str]:
    """Return what phase 1 recommends, output by output."""
    rows = connection.execute(
        sa.select(settled)
        .join(output, output.c.id == settled.c.output)
        .where(output.c.submission == present(number))
    )
    return {each.output: each.choice for each in rows}


def decide(
    connection: Connection,
    number: int,
    output_id: int,
    who: Person,
    choice: Outcome,
    *,
    reason: str,
    facts: Mapping[str, Any],
    cells: Sequence[Mapping[str, str]] = (),
    expires: str | None = None,
) -> None:
    """Decide about an output.

    Parameters
    ----------
    connection
        Of the writer.
    number, output_id, who
        The request, the output, and a senior checker.
    choice
        Approve or refuse. What the rules find broken cannot be approved.
    reason
        For the researcher; needed for a refusal, and for an approval of what does not pass by itself.
    facts
        As :mod:`hitoku.checks.decisions` has them: what the decision rests on.
    cells
        Numbers that leave although they are withheld, by their codes.
    expires
        The last day on which the output may leave because of this.
    """
    row = connection.execute(sa.select(output).where(output.c.id == output_id)).one()
    turn = latest(connection, number)
    if turn is None or row.submission != turn.id:
        raise StateError("this output is of an earlier turn", fix="open the request again")
    if len(reason) > LONGEST:
        raise ParameterError(f"a reason has at most {LONGEST:_} characters", where="reason", fix="shorten it")
    if choice == "refuse" and not reason.strip():
        raise StateError(
            "a refusal needs a reason that the researcher can read", fix="write what must change"
        )
    if choice == "approve" and not reason.strip() and (row.status != "pass" or cells):
        raise StateError(
            f"the rules say {row.status}{', and cells are let go' if cells else ''}: that needs a reason",
            fix="write why it may leave all the same",
        )
    values = {
        "person": who.id,
        "choice": choice,
        "reason": reason.strip(),
        "facts": json.dumps(facts, sort_keys=True),
        "cells": json.dumps([dict(each) for each in cells], sort_keys=True),
        "expires": expires,
        "decided": now(),
    }
    known = connection.execute(sa.select(decision.c.output).where(decision.c.output == output_id)).first()
    if known is None:
        connection.execute(sa.insert(decision).values(output=output_id, **values))
    else:
        connection.execute(sa.update(decision).where(decision.c.output == output_id).values(**values))
    log.append(
        connection,
        who.login,
        "decision",
        request=number,
        output=output_id,
        person=who.id,
        choice=choice,
        facts=dict(facts),
        **({"cells": [dict(each) for each in cells]} if cells else {}),
        **({"expires": expires} if expires else {}),
        reason=sha256(reason.strip().encode()),
    )


def approve_passing(connection: Connection, number: int, who: Person) -> int:
    """Approve at once what passed every rule and both reviews; the only bulk approval there is."""
    listed, made = outputs_of(connection, number), docket(connection, number).decisions
    recommended = settled_choices(connection, number)
    if any(each.status != "pass" for each in listed) or any(
        recommended.get(each.id) != "approve" for each in listed
    ):
        raise StateError(
            "not everything passed",
            fix="decide about each output by itself: bulk approval is for what is plain",
        )
    new = [each for each in listed if each.id not in made]
    for each in new:
        decide(connection, number, each.id, who, "approve", reason="", facts={})
    return len(new)


def finish(connection: Connection, number: int, who: Person) -> RequestState:
    """End phase 2: approved when anything may leave, rejected when nothing may."""
    made = docket(connection, number)
    if made.obstacle or not made.decisions:
        raise StateError(f"phase 2 cannot be finished: {made.obstacle}", fix="decide about each output")
    approved = [place for place, each in made.decisions.items() if each.choice == "approve"]
    return move(connection, number, Event.APPROVE if approved else Event.REJECT, who.login, approved=approved)
