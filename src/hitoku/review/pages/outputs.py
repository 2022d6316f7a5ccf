"""Pages of outputs: table with layers, cell details, vote and decision; differences between outputs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from starlette.responses import Response

from hitoku.errors import DataError, ParameterError
from hitoku.io import MAX_LISTED, MAX_ROWS
from hitoku.review import deciding, drawing, reviewing
from hitoku.review.actions import Action, Call, field_of
from hitoku.review.deciding import cells_of_form, expiry_of_form, facts_of_form, rests_on
from hitoku.review.drawing import changes, unpack_columns
from hitoku.review.states import RequestState
from hitoku.review.submitting import previous
from hitoku.review.tables import output, submission
from hitoku.web import page_number

# Rows per page of a wide table. A side of a difference with more rows is limited to those around the cells.
FEWEST_ROWS = 20
# Maximum number of cells of a table per page.
MAX_CELLS = 3_000


@lru_cache(maxsize=64)
def _read(path: Path) -> Any:
    found = json.loads(path.read_bytes())
    return {**found, "cells": unpack_columns(found["cells"])} if isinstance(found, dict) else found


def view_of(call: Call, turn: int, place: int) -> dict[str, Any]:
    """Return the drawing of an output, as the worker wrote it."""
    path = call.context.checked(turn) / f"{place:03}.json"
    if not path.is_file():
        raise DataError(
            "output_not_drawn", "the output is not drawn yet", where="output", fix="wait until it is checked"
        )
    found: dict[str, Any] = _read(path)
    return found


def show(call: Call) -> Response:
    """Show an output."""
    row = _row(call)
    view = view_of(call, row.submission, row.place)
    evidence = call.may("see evidence")
    layers = drawing.layers_of(view["cells"]) if evidence else {"leaving": drawing.LAYERS["leaving"]}
    asked = call.http.query_params
    layer = asked.get("layer", "leaving")
    grid, pages = _split_into_pages(view["grid"], page_number(call.http))
    siblings = call.connection.execute(
        sa.select(output).where(output.c.submission == row.submission).order_by(output.c.place)
    ).all()
    present = row.turn == max(
        call.connection.scalars(sa.select(submission.c.turn).where(submission.c.request == row.request))
    )
    listed = siblings if present else None
    made = deciding.docket(call.connection, call.number, listed)
    own = call.who.id == call.standing.author
    values = {
        "row": row,
        "view": view,
        "grid": grid,
        "pages": pages,
        "page": page_number(call.http),
        "layers": layers,
        "layer": layer if layer in layers else "leaving",
        "evidence": evidence,
        "picture": _picture(call, row).is_file(),
        "siblings": siblings,
        "present": present,
        "ballot": reviewing.ballot(call.connection, call.number, call.who.id, listed),
        "opened": {} if own else reviewing.open_votes(call.connection, call.number, call.standing),
        "recommended": {} if own else deciding.settled_choices(call.connection, call.number),
        "decision": None
        if own
        and call.standing.state not in {RequestState.APPROVED, RequestState.RELEASED, RequestState.REJECTED}
        else made.decisions.get(row.id),
        "docket": made,
        "decided_facts": [] if made.decisions.get(row.id) is None else rests_on(made.decisions[row.id]),
        "comments": reviewing.visible(call.connection, call.number, call.who, call.standing, row.id),
        "changed": _find_changes(call, row, view),
        "variables": list(view["published"])[:-1],
    }
    return call.page("grid.html" if call.htmx and asked.get("part") == "grid" else "output.html", **values)


def picture(call: Call) -> Response:
    """Show the chart of an output."""
    row = _row(call)
    path = _picture(call, row)
    if not path.is_file():
        raise DataError(
            "output_without_picture", "this output has no picture", where="output", fix="look at its numbers"
        )
    return Response(path.read_bytes(), media_type="image/png")


def _picture(call: Call, row: Any) -> Path:
    return call.context.checked(row.submission) / f"{row.place:03}.png"


def drawer(call: Call) -> Response:
    """Show the details of a cell."""
    row = _row(call)
    view = view_of(call, row.submission, row.place)
    cell = int(call.http.path_params["cell"])
    cells = view["cells"]
    if not 0 <= cell < len(cells["shown"]):
        raise ParameterError("no_such_cell", "no such cell", where="cell", fix="click on another")
    return call.page(
        "drawer.html",
        label=cells["label"][cell],
        shown=cells["shown"][cell],
        sentences=drawing.sentences(cells, cell, view["verdicts"]),
        mark=drawing.mark(cells, cell),
    )


def cast(call: Call) -> Response:
    """Vote on an output."""
    row, choice = _row(call), call.form.get("choice", "")
    if choice not in reviewing.CHOICES:
        raise ParameterError(
            "no_such_vote", "no such vote", where="choice", fix="approve, or request a change"
        )
    if field_of(call, "text").strip():
        reviewing.say(
            call.connection,
            call.number,
            call.who.id,
            field_of(call, "text"),
            public=call.form.get("public") == "yes",
            who=call.who.login,
            output=row.id,
            independent=not call.standing.unblinded,
        )
    reviewing.cast(call.connection, call.number, row.id, call.who, choice)  # type: ignore[arg-type]
    own = reviewing.ballot(call.connection, call.number, call.who.id)
    if call.htmx:
        return call.page("vote.html", each=row, ballot=own, number=call.number, oob=True)
    return call.go(f"/outputs/{row.id}")


def decide(call: Call) -> Response:
    """Store a decision of phase 2."""
    row, choice = _row(call), call.form.get("choice", "")
    if choice not in {"approve", "refuse"}:
        raise ParameterError("no_such_decision", "no such decision", where="choice", fix="approve or reject")
    deciding.decide(
        call.connection,
        call.number,
        row.id,
        call.who,
        choice,  # type: ignore[arg-type]
        reason=field_of(call, "reason"),
        facts=facts_of_form(call.form),
        cells=cells_of_form(call.form, view_of(call, row.submission, row.place).get("withheld", {})),
        expires=expiry_of_form(call.form, datetime.now(UTC).date()),
    )
    made = deciding.docket(call.connection, call.number)
    listed = reviewing.outputs_of(call.connection, call.number)
    following = next((each.id for each in listed if each.id not in made.decisions), None)
    return call.go(f"/requests/{call.number}" if following is None else f"/outputs/{following}", "decided")


def show_pairs(call: Call) -> Response:
    """Show outputs that single out a group together, side by side, with the cells to subtract."""
    turn = call.connection.execute(
        sa.select(submission)
        .where(submission.c.request == call.number)
        .order_by(submission.c.turn.desc())
        .limit(1)
    ).one()
    path = call.context.checked(turn.id) / "sums.json"
    drawn = _read(path) if path.is_file() else []
    listed = reviewing.outputs_of(call.connection, call.number)
    said = []
    pairs = []
    if listed:
        for each in drawn:
            sides = []
            for side in each["sides"]:
                view = side if side["place"] is None else view_of(call, turn.id, side["place"])
                terms = {int(cell): term for cell, term in side["terms"].items()}
                sides.append(
                    {
                        "name": side["name"],
                        "output": None if side["place"] is None else listed[side["place"]],
                        "view": view,
                        "terms": terms,
                        "grid": _around(view, set(terms)),
                    }
                )
            pairs.append({**each, "sides": sides})
        for each in listed:
            view = view_of(call, turn.id, each.place)
            said += [
                (each, verdict) for verdict in view["verdicts"] if verdict["principle"] == "differencing"
            ]
    return call.page(
        "pairs.html",
        pairs=pairs,
        said=said,
        report=json.loads(turn.report) if turn.report else {},
        number=call.number,
    )


def _row(call: Call) -> Any:
    if call.output is None:
        raise DataError("no_such_output", "no such output", where="output")
    return call.output


def _split_into_pages(grid: list[dict[str, Any]], page: int) -> tuple[list[dict[str, Any]], int]:
    """Split a long table into pages, section by section."""
    total = sum(len(section["rows"]) for section in grid)
    wide = max((len(section["columns"]) for section in grid), default=1)
    high = min(MAX_LISTED, max(FEWEST_ROWS, MAX_CELLS // max(wide, 1)))
    pages = max(1, -(-total // high))
    begin = (min(max(page, 1), pages) - 1) * high
    found, seen = [], 0
    for section in grid:
        rows = section["rows"][max(0, begin - seen) : max(0, begin + high - seen)]
        seen += len(section["rows"])
        if rows:
            found.append({**section, "rows": rows})
    return found, pages


def _around(view: dict[str, Any], wanted: set[int]) -> list[dict[str, Any]]:
    """Return the sections that contain given cells; of long sections the rows around them."""
    found = []
    for section in view["grid"]:
        rows = section["rows"]
        hit = [at for at, row in enumerate(rows) if wanted & set(row["cells"])]
        near = {at + step for at in hit for step in (-2, -1, 0, 1, 2)}
        if hit:
            kept = rows if len(rows) <= FEWEST_ROWS else [row for at, row in enumerate(rows) if at in near]
            found.append({**section, "rows": kept})
    return found


def _find_changes(call: Call, row: Any, view: dict[str, Any]) -> dict[str, Any] | None:
    """Return the changes of an output since the previous turn; None if there is nothing to compare."""
    before = previous(call.connection, call.number)
    if before is None or row.turn != before.turn + 1:
        return None
    old = call.connection.execute(
        sa.select(output).where(output.c.submission == before.id, output.c.name == row.name)
    ).first()
    if old is None:
        return {"new": True, "same": False, "cells": [], "more": 0, "turn": before.turn}
    if old.digest == row.digest:
        return {"new": False, "same": True, "cells": [], "more": 0, "turn": before.turn}
    found = changes(view_of(call, before.id, old.place)["published"], view["published"])
    return {
        "new": False,
        "same": False,
        "cells": found[:MAX_ROWS],
        "more": max(0, len(found) - MAX_ROWS),
        "turn": before.turn,
    }


HERE = "/outputs/{output:number}"
ACTIONS = (
    Action(method="GET", path=HERE, handler=show, may="see"),
    Action(method="GET", path=f"{HERE}/picture.png", handler=picture, may="see"),
    Action(method="GET", path=HERE + "/cells/{cell:number}", handler=drawer, may="see evidence"),
    Action(method="POST", path=f"{HERE}/vote", handler=cast, may="review"),
    Action(method="POST", path=f"{HERE}/decision", handler=decide, may="decide"),
    Action(method="GET", path="/requests/{request:number}/pairs", handler=show_pairs, may="see evidence"),
)
