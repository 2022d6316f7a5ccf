"""Pages of requests: queue, submission form, request, and actions on it."""

from __future__ import annotations

import json
import secrets
from typing import Any

import sqlalchemy as sa
from starlette.responses import Response

from hitoku.errors import ParameterError
from hitoku.io import MAX_LISTED
from hitoku.review import deciding, jobs, log, reviewing
from hitoku.review.actions import Action, Call, field_of
from hitoku.review.context import latest, move
from hitoku.review.intake import unpack
from hitoku.review.jobs import Job
from hitoku.review.states import OPEN, Event, RequestState
from hitoku.review.storage import now, read_moment
from hitoku.review.submitting import new_request, new_turn, projects_of
from hitoku.review.tables import person, project, release, request
from hitoku.review.waiting import TAB_WORDS, TABS, counts, lines, opening_tab, projects, working_days
from hitoku.web import page_number, whole_number


def show_queue(call: Call) -> Response:
    """Show the queue."""
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
        call.context.settings,
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
        pages=-(-total // MAX_LISTED),
        page=page,
        chosen=chosen,
        tabs=TAB_WORDS,
        counts=counts(call.connection),
        projects=projects(call.connection),
        days=call.context.settings.turnaround_days,
    )


def show_mine(call: Call) -> Response:
    """Show a researcher's own requests."""
    page = page_number(call.http)
    found, total = lines(call.connection, call.who, call.context.settings, own=True, page=page)
    return call.page(
        "mine.html", lines=found, total=total, pages=-(-total // MAX_LISTED), page=page, open_states=OPEN
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
    """Unpack an upload in quarantine, outside any transaction."""
    packed = call.files.get("submission")
    if packed is None or not packed.size:
        raise ParameterError(
            "no_file_chosen",
            "no file was chosen",
            where="submission",
            fix="choose the zip archive of the submission",
        )
    nonce = nonce_of(call)
    folder = call.context.quarantine
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{nonce}-{secrets.token_hex(4)}.zip"
    try:
        with place.open("xb") as file:
            while chunk := packed.file.read(1 << 20):
                file.write(chunk)
        return unpack(place, folder, f"{nonce}-{secrets.token_hex(4)}", call.context.settings)
    finally:
        place.unlink(missing_ok=True)


def nonce_of(call: Call) -> str:
    """Return a nonce, with which a form can be submitted once."""
    nonce = call.form.get("nonce", "")
    if not (8 <= len(nonce) <= 64 and nonce.replace("-", "").replace("_", "").isalnum()):
        raise ParameterError(
            "form_not_ours", "invalid or expired form", where="nonce", fix="open the page again"
        )
    return nonce


def submit(call: Call) -> Response:
    """Create a request."""
    folder, digest = call.prepared
    project_id = call.form.get("project", "")
    number = new_request(
        call.connection,
        call.context,
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
    """Claim a request, so that others choose another."""
    connection, number = call.connection, call.number
    connection.execute(sa.update(request).where(request.c.id == number).values(claimed_by=call.who.id))
    log.append(connection, call.who.login, "claim", request=number, person=call.who.id)
    return call.go(f"/requests/{number}", "claimed")


def unclaim(call: Call) -> Response:
    """Give up the claim on a request."""
    connection, number = call.connection, call.number
    connection.execute(sa.update(request).where(request.c.id == number).values(claimed_by=None))
    log.append(connection, call.who.login, "unclaim", request=number, person=call.who.id)
    return call.go("/queue", "unclaimed")


def overview(call: Call) -> dict[str, Any]:
    """Return the values for the page of a request."""
    connection, number, what = call.connection, call.number, call.standing
    row = connection.execute(
        sa.select(request, project.c.name.label("project_name"), person.c.name.label("author_name"))
        .join(project, project.c.id == request.c.project)
        .join(person, person.c.id == request.c.author)
        .where(request.c.id == number)
    ).one()
    turn = latest(connection, number)
    outputs = reviewing.outputs_of(connection, number)
    claimer = connection.scalar(sa.select(person.c.name).where(person.c.id == row.claimed_by))
    until = read_moment(row.closed or now())
    return {
        "row": row,
        "turn": turn,
        "what": what,
        "report": json.loads(turn.report) if turn is not None and turn.report else None,
        "outputs": [(each, json.loads(each.principles)) for each in outputs],
        "ballot": reviewing.ballot(connection, number, call.who.id, outputs),
        "opened": {} if call.who.id == what.author else reviewing.open_votes(connection, number, what),
        "split": []
        if not call.may("settle")
        else [each.id for each in reviewing.disputed_outputs(connection, number)],
        "settled": deciding.settled_choices(connection, number) if call.who.id != what.author else {},
        "docket": deciding.docket(connection, number, outputs),
        "show_decisions": call.who.id != what.author
        or what.state in {RequestState.RELEASED, RequestState.REJECTED, RequestState.APPROVED},
        "comments": reviewing.visible(connection, number, call.who, what),
        "names": {each.id: each.name for each in outputs},
        "claimer": claimer or "",
        "check": jobs.of(connection, Job.CHECK, turn.id) if turn is not None else None,
        "leaving": jobs.of(connection, Job.RELEASE, number),
        "release": connection.execute(sa.select(release).where(release.c.request == number)).first(),
        "age": working_days(read_moment(row.submitted), until),
        "days": call.context.settings.turnaround_days,
        "nonce": secrets.token_urlsafe(16),
        "all_pass": bool(outputs) and all(each.status == "pass" for each in outputs),
        "silent": reviewing.unexplained_requests(connection, number) if call.may("give back") else [],
    }


def show(call: Call) -> Response:
    """Show a request."""
    return call.page("request.html", **overview(call))


def progress(call: Call) -> Response:
    """Show the progress of a job; the page reloads when it is done."""
    turn = latest(call.connection, call.number)
    job = jobs.of(call.connection, Job.CHECK, turn.id) if turn is not None else None
    leaving = jobs.of(call.connection, Job.RELEASE, call.number)
    busy = call.standing.state is RequestState.SUBMITTED or (
        call.standing.state is RequestState.APPROVED
        and leaving is not None
        and leaving.state != jobs.Stage.FAILED
    )
    if not busy or (
        call.standing.state is RequestState.SUBMITTED and job is not None and job.state == jobs.Stage.FAILED
    ):
        return Response(status_code=204, headers={"HX-Refresh": "true"})
    shown = job if call.standing.state is RequestState.SUBMITTED else leaving
    return call.page("progress.html", job=shown, number=call.number)


def submit_review(call: Call) -> Response:
    """Submit the user's review."""
    reviewing.submit_review(call.connection, call.number, call.who)
    return call.go(f"/requests/{call.number}", "review-submitted")


def settle(call: Call) -> Response:
    """Settle the votes and move the request to phase 2."""
    choices = {
        number: value
        for name, value in call.form.items()
        if name.startswith("choice-") and (number := whole_number(name.removeprefix("choice-"))) is not None
    }
    reviewing.settle(call.connection, call.number, call.who, choices)
    return call.go(f"/requests/{call.number}", "settled")


def give_back(call: Call) -> Response:
    """Return the request to its researcher."""
    reviewing.give_back(call.connection, call.number, call.who)
    return call.go(f"/requests/{call.number}", "returned")


def approve_passing(call: Call) -> Response:
    """Approve all outputs that passed."""
    deciding.approve_passing(call.connection, call.number, call.who)
    return call.go(f"/requests/{call.number}", "decided")


def finish(call: Call) -> Response:
    """Finish phase 2."""
    state = deciding.finish(call.connection, call.number, call.who)
    return call.go(f"/requests/{call.number}", "approved" if state is RequestState.APPROVED else "rejected")


def comment(call: Call) -> Response:
    """Comment on a request or one of its outputs."""
    about = call.form.get("output", "")
    places = {each.id for each in reviewing.outputs_of(call.connection, call.number)}
    number = whole_number(about)
    output = number if number in places else None
    own = call.who.id == call.standing.author
    reviewing.say(
        call.connection,
        call.number,
        call.who.id,
        field_of(call, "text"),
        public=own or call.form.get("public") == "yes",
        who=call.who.login,
        output=output,
        independent=not own and not call.standing.unblinded,
    )
    back = (
        f"/outputs/{output}"
        if output is not None and call.form.get("back") == "output"
        else f"/requests/{call.number}"
    )
    return call.go(back, "commented")


def resubmit(call: Call) -> Response:
    """Add a turn to a returned request."""
    folder, digest = call.prepared
    new_turn(
        call.connection,
        call.context,
        call.who,
        call.number,
        folder=folder,
        digest=digest,
        nonce=nonce_of(call),
    )
    return call.go(f"/requests/{call.number}", "resubmitted")


def withdraw(call: Call) -> Response:
    """Withdraw a request."""
    move(call.connection, call.number, Event.WITHDRAW, call.who.login)
    return call.go(f"/requests/{call.number}", "withdrawn")


def retry(call: Call) -> Response:
    """Retry a failed check or release."""
    turn = latest(call.connection, call.number)
    if call.standing.state is RequestState.SUBMITTED and turn is not None:
        jobs.ask(call.connection, Job.CHECK, turn.id, call.who.id)
    else:
        jobs.ask(call.connection, Job.RELEASE, call.number, call.who.id)
    return call.go(f"/requests/{call.number}", "retried")


HERE = "/requests/{request:number}"
ACTIONS = (
    Action(method="GET", path="/queue", handler=show_queue, may="see the queue"),
    Action(method="GET", path="/mine", handler=show_mine, may="submit"),
    Action(method="GET", path="/new", handler=show_form, may="submit"),
    Action(method="POST", path="/requests", handler=submit, may="submit", takes_files=True, prepare=upload),
    Action(method="POST", path="/requests/{request:number}/claim", handler=claim, may="claim"),
    Action(method="POST", path="/requests/{request:number}/unclaim", handler=unclaim, may="claim"),
    Action(method="GET", path=HERE, handler=show, may="see"),
    Action(method="GET", path=f"{HERE}/progress", handler=progress, may="see"),
    Action(method="POST", path=f"{HERE}/review", handler=submit_review, may="submit review"),
    Action(method="POST", path=f"{HERE}/settle", handler=settle, may="settle"),
    Action(method="POST", path=f"{HERE}/return", handler=give_back, may="give back"),
    Action(method="POST", path=f"{HERE}/approve-passing", handler=approve_passing, may="decide"),
    Action(method="POST", path=f"{HERE}/finish", handler=finish, may="decide"),
    Action(method="POST", path=f"{HERE}/comments", handler=comment, may="comment"),
    Action(
        method="POST",
        path=f"{HERE}/turns",
        handler=resubmit,
        may="resubmit",
        takes_files=True,
        prepare=upload,
    ),
    Action(method="POST", path=f"{HERE}/withdraw", handler=withdraw, may="withdraw"),
    Action(method="POST", path=f"{HERE}/retry", handler=retry, may="retry"),
)
