"""Setup of a centre: folder, database and projects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.errors import ParameterError, did_you_mean
from hitoku.files import new_folder
from hitoku.review import log
from hitoku.review.context import Context, write_settings
from hitoku.review.policies import add_shipped
from hitoku.review.storage import migrate, writable, writing
from hitoku.review.tables import member, person, project
from hitoku.review.tables import policy as policies


def create_folder(folder: Path, **settings: Any) -> Context:
    """Create a folder with settings, a database and the bundled policies, all or nothing."""
    with new_folder(folder) as draft:
        write_settings(draft, **settings)
        context = Context.open(draft)
        for place in (context.quarantine, context.inbox, draft / "ledgers"):
            place.mkdir()
        with writable(context.engine):
            migrate(context.engine)
            with writing(context.engine) as connection:
                _begin(connection)
        context.engine.dispose()  # close the file before the folder is renamed
    return Context.open(folder)


def _begin(connection: Connection) -> None:
    """Add the initial data, unless a run that was killed has already done so in an external database."""
    if any(connection.scalar(sa.select(sa.func.count()).select_from(each)) for each in (person, project)):
        raise ParameterError(
            "database_taken",
            "the database is in use by another application",
            where="--database",
            fix="name another database",
        )
    if not connection.scalar(sa.select(sa.func.count()).select_from(policies)):
        add_shipped(connection)


def add_project(
    connection: Connection,
    context: Context,
    name: str,
    *,
    data: Path | None,
    unit: str,
    policy: str,
    ledger: Path | None = None,
) -> int:
    """Add a project; data and ledger are paths on this machine.

    Parameters
    ----------
    connection, context, name
        Database, application, and name of the project.
    data
        Parquet or CSV file. Without data, differences are tested through codes, and nothing can be released.
    unit
        Column that names the unit; empty if every record is a unit.
    policy
        Name of the policy.
    ledger
        Ledger of the data. Default: a ledger in the folder, for this project alone.
    """
    names = connection.scalars(sa.select(policies.c.name).distinct()).all()
    if policy not in names:
        raise ParameterError(
            "unknown_policy",
            "no policy {policy!r}",
            where="policy",
            fix=did_you_mean(policy, names),
            policy=policy,
        )
    if connection.execute(sa.select(project.c.id).where(project.c.name == name)).first():
        raise ParameterError(
            "project_exists",
            "project {project!r} exists already",
            where="project",
            fix="choose another name",
            project=name,
        )
    if not name.strip() or "/" in name or name.startswith("."):
        raise ParameterError(
            "project_name_invalid", "a project's name has no slash and no dot in front", where="project"
        )
    slug = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    place = ledger or (context.folder / "ledgers" / f"{slug}.ledger" if data is not None else None)
    made = connection.execute(
        sa.insert(project).values(
            name=name, data=str(data or ""), unit=unit, ledger=str(place or ""), policy=policy
        )
    )
    log.append(connection, log.SYSTEM, "project added", name=name)
    assert made.inserted_primary_key is not None  # noqa: S101 - for the type checker
    return int(made.inserted_primary_key[0])


def add_member(connection: Connection, project_name: str, login: str) -> None:
    """Add a researcher to a project."""
    where = connection.scalar(sa.select(project.c.id).where(project.c.name == project_name))
    who = connection.scalar(sa.select(person.c.id).where(person.c.login == login))
    if where is None or who is None:
        raise ParameterError(
            "unknown_project_or_login",
            "no project {project!r}, or no user {login!r}",
            where="member",
            fix="add them first",
            project=project_name,
            login=login,
        )
    connection.execute(sa.insert(member).values(project=where, person=who))
    log.append(connection, log.SYSTEM, "member added", project=where, login=login)
