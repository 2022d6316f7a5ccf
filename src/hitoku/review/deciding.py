"""Phase 2: decisions of a senior checker about every output, with facts that support them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import ParameterError, some
from hitoku.files import sha256
from hitoku.messages import Text
from hitoku.review import log
from hitoku.review.context import latest, move, present
from hitoku.review.reviewing import LONGEST_TEXT, Outputs, outputs_of
from hitoku.review.states import Event, Person, RequestState, StateError
from hitoku.review.storage import now
from hitoku.review.tables import decision, output, settled

Outcome = Literal["approve", "refuse"]


@dataclass(frozen=True, slots=True)
class Docket:
    """Decisions about the outputs of the current turn, and outputs without one."""

    decisions: Mapping[int, Row[tuple[object, ...]]]
    undecided: tuple[str, ...]

    @property
    def obstacle(self) -> str:
        """Reason why phase 2 cannot be finished; empty if it can."""
        return f"{len(self.undecided)} undecided: {some(self.undecided, 3)}" if self.undecided else ""


def docket(connection: Connection, number: int, listed: Outputs | None = None) -> Docket:
    """Return the decisions about the current turn of a request.

    Parameters
    ----------
    connection, number
        Write connection to the database, and number of the request.
    listed
        Outputs of the request, if known.
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
    """Return the recommendation of phase 1 for each output."""
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
    """Store a decision about an output.

    Parameters
    ----------
    connection
        Write connection to the database.
    number, output_id, who
        The request, the output, and a senior checker.
    choice
        "approve" or "refuse". A broken output cannot be approved.
    reason
        Reason for the researcher; required to refuse, and to approve an output that does not pass.
    facts
        Facts that support the decision, as in :mod:`hitoku.checks.decisions`.
    cells
        Suppressed cells to release, by their codes.
    expires
        Last day on which the decision allows a release; default: no limit.
    """
    row = connection.execute(sa.select(output).where(output.c.id == output_id)).one()
    turn = latest(connection, number)
    if turn is None or row.submission != turn.id:
        raise StateError(
            "output_of_earlier_turn", "this output is of an earlier turn", fix="open the request again"
        )
    if len(reason) > LONGEST_TEXT:
        raise ParameterError(
            "reason_too_long",
            "a reason has at most {most:_} characters",
            where="reason",
            fix="shorten it",
            most=LONGEST_TEXT,
        )
    if choice == "refuse" and not reason.strip():
        raise StateError(
            "refusal_without_reason",
            "a refusal needs a reason that the researcher can read",
            fix="write what must change",
        )
    if choice == "approve" and not reason.strip() and (row.status != "pass" or cells):
        raise StateError(
            "decision_without_reason",
            "the rules say {status}{kind}: that needs a reason",
            fix="write why it may be released nevertheless",
            status=row.status,
            kind=Text(", and cells are let go") if cells else "",
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
    """Approve all outputs that passed every rule and both reviews; return their number."""
    listed, made = outputs_of(connection, number), docket(connection, number).decisions
    recommended = settled_choices(connection, number)
    if any(each.status != "pass" for each in listed) or any(
        recommended.get(each.id) != "approve" for each in listed
    ):
        raise StateError(
            "not_everything_passed",
            "not everything passed",
            fix="decide about each output by itself: bulk approval is for what is plain",
        )
    new = [each for each in listed if each.id not in made]
    for each in new:
        decide(connection, number, each.id, who, "approve", reason="", facts={})
    return len(new)


def finish(connection: Connection, number: int, who: Person) -> RequestState:
    """Finish phase 2: approved if any output may be released, otherwise rejected."""
    made = docket(connection, number)
    if made.obstacle or not made.decisions:
        raise StateError(
            "phase_2_not_finished",
            "phase 2 cannot be finished: {obstacle}",
            fix="decide about each output",
            obstacle=made.obstacle,
        )
    approved = [place for place, each in made.decisions.items() if each.choice == "approve"]
    return move(connection, number, Event.APPROVE if approved else Event.REJECT, who.login, approved=approved)


SEEN = ("visible", "known to some", "hidden")


def facts_of_form(form: Mapping[str, str]) -> dict[str, Any]:
    """Parse the facts of a form; empty fields are ignored.

    Examples
    --------
    >>> facts_of_form({"sampling_fraction": "0.05", "year": "1998", "seen-region": "hidden", "zeros": ""})
    {'sampling_fraction': 0.05, 'year': 1998, 'observability': {'region': 'hidden'}}
    """
    found: dict[str, Any] = {}
    if form.get("sampling_fraction", "").strip():
        found["sampling_fraction"] = _number(form["sampling_fraction"], "sampling fraction", 0, 1)
    if form.get("year", "").strip():
        found["year"] = int(_number(form["year"], "year of the data", 1799, 2201))
    seen = {
        name.removeprefix("seen-"): word for name, word in form.items() if name.startswith("seen-") and word
    }
    for name, word in seen.items():
        if word not in SEEN:
            raise ParameterError(
                "fact_word_unknown",
                "{name}: unknown choice",
                where="observability",
                fix="one of {seen}",
                name=name,
                seen=", ".join(SEEN),
            )
    if seen:
        found["observability"] = seen
    lines = [line for line in form.get("zeros", "").splitlines() if line.strip()]
    zeros = [", ".join(f"{name}={code}" for name, code in _cell(line).items()) for line in lines]
    if zeros:
        found["structural_zeros"] = zeros
    return found


def cells_of_form(form: Mapping[str, str], withheld: Mapping[str, dict[str, str]]) -> list[dict[str, str]]:
    """Parse the suppressed cells to be released.

    Parameters
    ----------
    form
        Submitted form, with a field "open-3" for cell 3.
    withheld
        Codes of every suppressed cell; other cells cannot be opened.

    Examples
    --------
    >>> cells_of_form({"open-3": "yes"}, {"3": {"region": "N", "job": "c"}})
    [{'region': 'N', 'job': 'c'}]
    """
    asked = [name.removeprefix("open-") for name in form if name.startswith("open-")]
    if not set(asked) <= withheld.keys():
        raise ParameterError(
            "cell_not_withheld", "a cell that is not withheld", where="cells", fix="open the page again"
        )
    return [withheld[each] for each in asked]


def expiry_of_form(form: Mapping[str, str], today: date) -> str | None:
    """Parse the expiry date of a decision; None if empty.

    Examples
    --------
    >>> expiry_of_form({"expires": "2027-03-31"}, date(2026, 11, 17))
    '2027-03-31'
    """
    text = form.get("expires", "").strip()
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ParameterError(
            "last_day_format",
            "the last day is written as 2027-03-31",
            where="expires",
            fix="correct it, or leave it empty",
        ) from None
    if day < today:
        raise ParameterError(
            "last_day_passed", "the last day has passed", where="expires", fix="choose a later one"
        )
    return day.isoformat()


def rests_on(decision: Any) -> list[str]:
    """Describe the facts, opened cells and expiry date of a decision.

    Parameters
    ----------
    decision
        Row with ``facts`` and ``cells`` as JSON, and ``expires``.
    """
    facts = json.loads(decision.facts)
    said = [f"{name} is {word}" for name, word in facts.get("observability", {}).items()]
    if "sampling_fraction" in facts:
        said.append(f"a sample of {facts['sampling_fraction']:.3g} of the population")
    if "year" in facts:
        said.append(f"the data are of {facts['year']}")
    said += [f"empty by definition: {each}" for each in facts.get("structural_zeros", [])]
    opened = [", ".join(f"{n}={code}" for n, code in each.items()) for each in json.loads(decision.cells)]
    said += [f"leaves although withheld: {each or 'all'}" for each in opened]
    return [*said, *([f"until {decision.expires}"] if decision.expires else [])]


def _number(text: str, name: str, above: float, below: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = above
    if not above < value < below:
        raise ParameterError(
            "setting_range",
            "{name} must lie between {low} and {high}",
            where=name,
            fix="correct it",
            name=name,
            low=above,
            high=below,
        )
    return value


def _cell(line: str) -> dict[str, str]:
    """Parse "region=N, job=B"."""
    pairs = [part.partition("=") for part in line.split(",")]
    if not all(equals and name.strip() and code.strip() for name, equals, code in pairs):
        raise ParameterError(
            "structural_zero_format",
            "a structural zero is written variable=code, variable=code",
            where="zeros",
            fix="one cell per line",
        )
    return {name.strip(): code.strip() for name, _, code in pairs}
