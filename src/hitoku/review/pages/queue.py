"""The queue of the team, and a researcher's own requests."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from starlette.responses import Response

from hitoku.errors import ParameterError
from hitoku.review import log
from hitoku.review.actions import Action, Call, field_of
from hitoku.review.intake import unpack
from hitoku.review.states import OPEN
from hitoku.review.submitting import new_request, projects_of
from hitoku.review.tables import request
from hitoku.review.waiting import PAGE, TAB_WORDS, TABS, counts, lines, opening_tab, projects
from hitoku.web import page_number, whole_number


def show_queue(call: Call) -> Response:
    """Show what waits."""
    asked = call.http.query_params
    tab = asked.get("tab") if asked.get("tab") in TABS else opening_tab(call.who)
    chosen = {
        "tab": str(tab),
        "project": asked.get("project", ""),
        "words": asked.get("words", "")[:100],
        "claimed": asked.get("claimed", ""),
    }
    page = page_number(call.http)
    found, total = lines(
        call.connection,
        call.who,
        call.desk.settings,
        tab=chosen["tab"],
        project_name=chosen["project"],
        words=chosen["words"],
        claimed=chosen["claimed"],
        page=page,
    )
    return call.page(
        "queue.html",
        lines=found,
        total=total,
        pages=-(-total // PAGE),
        page=page,
        chosen=chosen,
        tabs=TAB_WORDS,
        counts=counts(call.connection),
        projects=projects(call.connection),
        days=call.desk.settings.turnaround_days,
    )


def show_mine(call: Call) -> Response:
    """Show a researcher's own requests."""
    page = page_number(call.http)
    found, total = lines(call.connection, call.who, call.desk.settings, own=True, page=page)
    return call.page(
        "mine.html", lines=found, total=total, pages=-(-total // PAGE), page=page, open_states=OPEN
    )


def show_form(call: Call) -> Response:
    """Show the form for a new request."""
    return call.page(
        "new.html",
        projects=projects_of(call.connection, call.who),
        nonce=secrets.token_urlsafe(16),
        sent={},
        wrong="",
    )


def upload(call: Call) -> object:
    """Unpack an upload in quarantine, outside of any transaction."""
    packed = call.files.get("submission")
    if packed is None or not packed.size:
        raise ParameterError(
            "no file was chosen", where="submission", fix="choose the zip archive of the submission"
        )
    nonce = nonce_of(call)
    folder = call.desk.quarantine
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{nonce}-{secrets.token_hex(4)}.zip"
    try:
        with place.open("xb") as file:
            while chunk := packed.file.read(1 << 20):
                file.write(chunk)
        return unpack(place, folder, f"{nonce}-{secrets.token_hex(4)}", call.desk.settings)
    finally:
        place.unlink(missing_ok=True)


def nonce_of(call: Call) -> str:
    """Return the number that a form may be used once with."""
    nonce = call.form.get("nonce", "")
    if not (8 <= len(nonce) <= 64 and nonce.replace("-", "").replace("_", "").isalnum()):
        raise ParameterError("the form is not ours", where="nonce", fix="open the page again")
    return nonce


def submit(call: Call) -> Response:
    """Take in a new request."""
    folder, digest = call.prepared
    project_id = call.form.get("project", "")
    number = new_request(
        call.connection,
        call.desk,
        call.who,
        project_id=whole_number(project_id, 0),
        title=field_of(call, "title"),
        context=field_of(call, "context"),
        controls=field_of(call, "controls"),
        folder=folder,
        digest=digest,
        nonce=nonce_of(call),
    )
    return call.go(f"/requests/{number}", "submitted")


def claim(call: Call) -> Response:
    """Say that one works on a request, so that others take another."""
    connection, number = call.connection, call.number
    connection.execute(sa.update(request).where(request.c.id == number).values(claimed_by=call.who.id))
    log.append(connection, call.who.login, "claim", request=number, person=call.who.id)
    return call.go(f"/requests/{number}", "claimed")


def unclaim(call: Call) -> Response:
    """Leave a request to others."""
    connection, number = call.connection, call.number
    connection.execute(sa.update(request).where(request.c.id == number).values(claimed_by=None))
    log.append(connection, call.who.login, "unclaim", request=number, person=call.who.id)
    return call.go("/queue", "unclaimed")


ACTIONS = (
    Action(method="GET", path="/queue", handler=show_queue, may="see the queue"),
    Action(method="GET", path="/mine", handler=show_mine, may="submit"),
    Action(method="GET", path="/new", handler=show_form, may="submit"),
    Action(method="POST", path="/requests", handler=submit, may="submit", takes_files=True, prepare=upload),
    Action(method="POST", path="/requests/{request:number}/claim", handler=claim, may="claim"),
    Action(method="POST", path="/requests/{request:number}/unclaim", handler=unclaim, may="claim"),
)
