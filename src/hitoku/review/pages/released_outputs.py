"""Pages for releases (files, receipt, letter) and for the log."""

from __future__ import annotations

import sqlalchemy as sa
from starlette.responses import PlainTextResponse, Response

from hitoku.io import MAX_LISTED
from hitoku.review import deciding, jobs, log, reviewing
from hitoku.review.actions import Action, Call
from hitoku.review.jobs import Job
from hitoku.review.releases import RECEIPT, ask_release, checkers_of, letter, zip_release
from hitoku.review.tables import log as log_table
from hitoku.review.tables import release, request
from hitoku.web import page_number, whole_number


def show(call: Call) -> Response:
    """Show the outputs to be released, or already released."""
    made = deciding.docket(call.connection, call.number)
    listed = reviewing.outputs_of(call.connection, call.number)
    folder = call.context.released(call.number)
    return call.page(
        "release.html",
        row=call.connection.execute(sa.select(request).where(request.c.id == call.number)).one(),
        outputs=[(each, made.decisions.get(each.id)) for each in listed],
        checkers=checkers_of(call.connection, call.number),
        job=jobs.of(call.connection, Job.RELEASE, call.number),
        release=call.connection.execute(sa.select(release).where(release.c.request == call.number)).first(),
        letter=letter(call.connection, call.context, call.number),
        files=sorted(path.name for path in folder.iterdir()) if folder.is_dir() else [],
        what=call.standing,
    )


def go(call: Call) -> Response:
    """Enqueue the release of approved outputs."""
    ask_release(call.connection, call.number, call.who)
    return call.go(f"/requests/{call.number}/release", "releasing")


def archive(call: Call) -> Response:
    """Download the released files."""
    name = f"request-{call.number}.zip"
    return Response(
        zip_release(call.connection, call.context, call.number),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def receipt(call: Call) -> Response:
    """Download the receipt."""
    path = call.context.released(call.number) / RECEIPT
    return Response(
        path.read_bytes() if path.is_file() else b"{}",
        media_type="application/json",
        headers={"content-disposition": f'attachment; filename="receipt-{call.number}.json"'},
    )


def show_letter(call: Call) -> Response:
    """Download the letter to the researcher."""
    return PlainTextResponse(letter(call.connection, call.context, call.number))


def show_log(call: Call) -> Response:
    """Show the log, newest entries first."""
    asked = call.http.query_params
    about = asked.get("request", "")
    event = asked.get("event", "")[:40]
    where = [log_table.c.request == number] if (number := whole_number(about)) is not None else []
    if event:
        where.append(log_table.c.event == event)
    page = page_number(call.http)
    total = call.connection.scalar(sa.select(sa.func.count()).select_from(log_table).where(*where)) or 0
    rows = call.connection.execute(
        sa.select(log_table)
        .where(*where)
        .order_by(log_table.c.number.desc())
        .limit(MAX_LISTED)
        .offset(MAX_LISTED * (max(1, page) - 1))
    ).all()
    events = call.connection.scalars(
        sa.select(log_table.c.event).distinct().order_by(log_table.c.event)
    ).all()
    return call.page(
        "log.html",
        rows=rows,
        total=total,
        head=log.head(call.connection),
        about=about,
        event=event,
        events=events,
        page=max(1, page),
        pages=max(1, -(-total // MAX_LISTED)),
    )


def check_log(call: Call) -> Response:
    """Verify the log, and compare it with the tables."""
    found = list(log.entries(call.connection))
    heads = log.released_heads(call.connection)
    wrong = [*log.faults(found, heads), *log.differences(call.connection, found)]
    return call.page("log-check.html", wrong=wrong, entries=len(found), receipts=len(heads))


def export_log(call: Call) -> Response:
    """Download the complete log."""
    return Response(
        log.to_csv(log.entries(call.connection)),
        media_type="text/csv",
        headers={"content-disposition": 'attachment; filename="log.csv"'},
    )


HERE = "/requests/{request:number}/release"
ACTIONS = (
    Action(method="GET", path=HERE, handler=show, may="see"),
    Action(method="POST", path=HERE, handler=go, may="release"),
    Action(method="GET", path=f"{HERE}.zip", handler=archive, may="download"),
    Action(method="GET", path="/requests/{request:number}/receipt.json", handler=receipt, may="download"),
    Action(method="GET", path="/requests/{request:number}/letter.txt", handler=show_letter, may="download"),
    Action(method="GET", path="/log", handler=show_log, may="see the log"),
    Action(method="GET", path="/log/check", handler=check_log, may="see the log"),
    Action(method="GET", path="/log.csv", handler=export_log, may="see the log"),
)
