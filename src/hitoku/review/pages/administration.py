"""People, and numbers for whoever watches the machine."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from starlette.responses import PlainTextResponse, Response

from hitoku.errors import ParameterError
from hitoku.review import people
from hitoku.review.actions import NO_PAGE, TO_BEGINNING, Action, Call, field_of, problem
from hitoku.review.permissions import Role
from hitoku.review.tables import job, person, request, session
from hitoku.web import is_loopback


def show(call: Call) -> Response:
    """Show everybody, and who is signed in."""
    rows = call.connection.execute(sa.select(person).order_by(person.c.name)).all()
    open_ones = call.connection.execute(
        sa.select(session.c.person, sa.func.count(), sa.func.max(session.c.seen))
        .where(session.c.ended.is_(None))
        .group_by(session.c.person)
    ).all()
    return call.page(
        "people.html", people=rows, sessions={row[0]: (row[1], row[2]) for row in open_ones}, given=""
    )


def add(call: Call) -> Response:
    """Add somebody; their first password is shown once."""
    roles = [str(role) for role in Role if call.form.get(f"role-{role}") == "yes"]
    password = secrets.token_urlsafe(12)
    people.add_person(
        call.connection,
        field_of(call, "login", most=100).strip(),
        field_of(call, "name", most=200).strip(),
        roles,
        password,
        by=call.who.login,
    )
    rows = call.connection.execute(sa.select(person).order_by(person.c.name)).all()
    return call.page("people.html", people=rows, sessions={}, given=password)


def change(call: Call) -> Response:
    """Sign somebody out everywhere, shut them out, or let them in."""
    row = call.connection.execute(
        sa.select(person).where(person.c.id == int(call.http.path_params["person"]))
    ).first()
    if row is None:
        raise ParameterError("no such person", where="people", fix="choose one of the list")
    what = call.form.get("what", "")
    if what == "sign-out":
        people.end_sessions(call.connection, row.id)
    elif what in {"shut-out", "let-in"} and row.id != call.who.id:
        people.set_active(call.connection, row.login, active=what == "let-in", by=call.who.login)
    else:
        raise ParameterError("this cannot be done", where="people", fix="nobody shuts themselves out")
    return call.go("/people", "person-changed")


def metrics(call: Call) -> Response:
    """Say how much is done and how quickly, as Prometheus reads it; to this machine and to administrators."""
    if not is_loopback(call.http) and not call.may("administer"):
        found = None if call.person is None else (call.person, call.token)
        return problem(call.desk, call.http, 404, NO_PAGE, TO_BEGINNING, found)
    counts, seconds = call.http.app.state.counts, call.http.app.state.seconds
    lines = ["# TYPE hitoku_answers_total counter"]
    lines += [
        f'hitoku_answers_total{{route="{route}",status="{status}"}} {n}'
        for (route, status), n in sorted(counts.items())
    ]
    lines += ["# TYPE hitoku_seconds_total counter"]
    lines += [
        f'hitoku_seconds_total{{route="{route}"}} {spent:.3f}' for route, spent in sorted(seconds.items())
    ]
    for name, table in (("requests", request), ("jobs", job)):
        rows = call.connection.execute(
            sa.select(table.c.state, sa.func.count()).group_by(table.c.state)
        ).all()
        lines += [f"# TYPE hitoku_{name} gauge"]
        lines += [f'hitoku_{name}{{state="{state}"}} {n}' for state, n in sorted(map(tuple, rows))]
    return PlainTextResponse("\n".join(lines) + "\n")


ACTIONS = (
    Action(method="GET", path="/people", handler=show, may="administer"),
    Action(method="POST", path="/people", handler=add, may="administer"),
    Action(method="POST", path="/people/{person:number}", handler=change, may="administer"),
    Action(method="GET", path="/metrics", handler=metrics, may=None),
)
