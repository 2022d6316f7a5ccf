"""Policies: their versions, what changed, and a dry run; and the numbers of the team."""

from __future__ import annotations

import tomllib

from starlette.responses import Response

from hitoku.errors import DataError
from hitoku.review import jobs, policies
from hitoku.review.actions import Action, Call, field_of
from hitoku.review.jobs import Job
from hitoku.review.statistics import team_numbers


def show_all(call: Call) -> Response:
    """Show every version."""
    return call.page("policies.html", versions=policies.versions(call.connection))


def show(call: Call) -> Response:
    """Show one version, what changed, and the last dry run."""
    number = int(call.http.path_params["policy"])
    row = policies.version(call.connection, number)
    if row is None:
        raise DataError("no such policy", where="policy", fix="choose one of the list")
    return call.page(
        "policy.html",
        row=row,
        parts=tomllib.loads(row.text),
        changed=policies.changed(call.connection, row),
        job=jobs.of(call.connection, Job.DRY_RUN, number),
        result=policies.dry_run_result(call.desk, number),
    )


def add(call: Call) -> Response:
    """Add a version."""
    number = policies.add_version(call.connection, field_of(call, "text"), call.who.login)
    return call.go(f"/policies/{number}", "policy-added")


def dry_run(call: Call) -> Response:
    """Find out which outputs that left would fail now."""
    number = int(call.http.path_params["policy"])
    if policies.version(call.connection, number) is None:
        raise DataError("no such policy", where="policy", fix="choose one of the list")
    jobs.ask(call.connection, Job.DRY_RUN, number, call.who.id)
    return call.go(f"/policies/{number}", "dry-run")


def statistics(call: Call) -> Response:
    """Show the numbers of the team."""
    days = call.desk.settings.turnaround_days
    return call.page("statistics.html", numbers=team_numbers(call.connection, days), days=days)


ACTIONS = (
    Action(method="GET", path="/policies", handler=show_all, may="see policies"),
    Action(method="GET", path="/policies/{policy:number}", handler=show, may="see policies"),
    Action(method="POST", path="/policies", handler=add, may="change policies"),
    Action(method="POST", path="/policies/{policy:number}/dry-run", handler=dry_run, may="change policies"),
    Action(method="GET", path="/statistics", handler=statistics, may="see statistics"),
)
