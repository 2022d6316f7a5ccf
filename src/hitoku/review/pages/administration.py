"""Pages for users, policies and monitoring."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from starlette.responses import PlainTextResponse, Response

from hitoku.errors import DataError, ParameterError
from hitoku.review import jobs, policies, users
from hitoku.review.actions import NO_PAGE, TO_BEGINNING, Action, Call, field_of, problem
from hitoku.review.jobs import Job
from hitoku.review.states import Role
from hitoku.review.tables import job, person, request, session
from hitoku.review.waiting import team_numbers
from hitoku.toml import load_toml
from hitoku.web import is_loopback


def show_users(call: Call) -> Response:
    """Show all users and their sessions."""
    rows = call.connection.execute(sa.select(person).order_by(person.c.name)).all()
    open_ones = call.connection.execute(
        sa.select(session.c.person, sa.func.count(), sa.func.max(session.c.seen))
        .where(session.c.ended.is_(None))
        .group_by(session.c.person)
    ).all()
    return call.page(
        "users.html", users=rows, sessions={row[0]: (row[1], row[2]) for row in open_ones}, given=""
    )


def add_user(call: Call) -> Response:
    """Add a user; the initial password is shown once."""
    roles = [str(role) for role in Role if call.form.get(f"role-{role}") == "yes"]
    password = secrets.token_urlsafe(12)
    users.add_person(
        call.connection,
        field_of(call, "login", most=100).strip(),
        field_of(call, "name", most=200).strip(),
        roles,
        password,
        by=call.who.login,
    )
    rows = call.connection.execute(sa.select(person).order_by(person.c.name)).all()
    return call.page("users.html", users=rows, sessions={}, given=password)


def change_user(call: Call) -> Response:
    """End all sessions of a user, disable them, or enable them."""
    row = call.connection.execute(
        sa.select(person).where(person.c.id == int(call.http.path_params["person"]))
    ).first()
    if row is None:
        raise ParameterError("no_such_person", "no such person", where="users", fix="choose one of the list")
    what = call.form.get("what", "")
    if what == "sign-out":
        users.end_sessions(call.connection, row.id)
    elif what in {"shut-out", "let-in"} and row.id != call.who.id:
        users.set_active(call.connection, row.login, active=what == "let-in", by=call.who.login)
    else:
        raise ParameterError(
            "action_impossible", "this cannot be done", where="users", fix="users cannot lock themselves out"
        )
    return call.go("/users", "person-changed")


def metrics(call: Call) -> Response:
    """Return metrics in Prometheus format; restricted to this machine and administrators."""
    if not is_loopback(call.http) and not call.may("administer"):
        found = None if call.person is None else (call.person, call.token)
        return problem(call.context, call.http, 404, NO_PAGE, TO_BEGINNING, found)
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


def show_policies(call: Call) -> Response:
    """Show all policy versions."""
    return call.page("policies.html", versions=policies.versions(call.connection))


def show_policy(call: Call) -> Response:
    """Show a policy version, its changes, and the last dry run."""
    number = int(call.http.path_params["policy"])
    row = policies.version(call.connection, number)
    if row is None:
        raise DataError("no_such_policy", "no such policy", where="policy", fix="choose one of the list")
    return call.page(
        "policy.html",
        row=row,
        parts=load_toml(row.text, row.name)[0],
        changed=policies.changed_lines(call.connection, row),
        job=jobs.of(call.connection, Job.DRY_RUN, number),
        result=policies.dry_run_result(call.context, number),
    )


def add_policy(call: Call) -> Response:
    """Add a policy version."""
    number = policies.add_version(call.connection, field_of(call, "text"), call.who.login)
    return call.go(f"/policies/{number}", "policy-added")


def dry_run(call: Call) -> Response:
    """Start a dry run: which released outputs would fail now."""
    number = int(call.http.path_params["policy"])
    if policies.version(call.connection, number) is None:
        raise DataError("no_such_policy", "no such policy", where="policy", fix="choose one of the list")
    jobs.ask(call.connection, Job.DRY_RUN, number, call.who.id)
    return call.go(f"/policies/{number}", "dry-run")


def statistics(call: Call) -> Response:
    """Show the statistics of the team."""
    days = call.context.settings.turnaround_days
    return call.page("statistics.html", numbers=team_numbers(call.connection, days), days=days)


ACTIONS = (
    Action(method="GET", path="/users", handler=show_users, may="administer"),
    Action(method="POST", path="/users", handler=add_user, may="administer"),
    Action(method="POST", path="/users/{person:number}", handler=change_user, may="administer"),
    Action(method="GET", path="/metrics", handler=metrics, may=None),
    Action(method="GET", path="/policies", handler=show_policies, may="see policies"),
    Action(method="GET", path="/policies/{policy:number}", handler=show_policy, may="see policies"),
    Action(method="POST", path="/policies", handler=add_policy, may="change policies"),
    Action(method="POST", path="/policies/{policy:number}/dry-run", handler=dry_run, may="change policies"),
    Action(method="GET", path="/statistics", handler=statistics, may="see statistics"),
)
