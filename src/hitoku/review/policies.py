"""Policy versions: author, changes, and effect on released outputs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hitoku.errors import DataError, ParameterError
from hitoku.files import write_file
from hitoku.review import log
from hitoku.review.context import Context
from hitoku.review.storage import now
from hitoku.review.tables import decision, output, policy, release


def add_version(connection: Connection, text: str, by: str) -> int:
    """Add a policy version, which applies to submissions from now on; return its id."""
    from hitoku.checks.policies import parse_policy_text  # noqa: PLC0415 - the server seldom needs it

    read = parse_policy_text(text, "policy")
    same = (policy.c.name == read.name) & (policy.c.digest == read.hash)
    if connection.execute(sa.select(policy.c.id).where(same)).first():
        raise ParameterError(
            "policy_version_exists", "this version exists already", where="policy", fix="change something"
        )
    connection.execute(sa.update(policy).where(policy.c.name == read.name).values(current=False))
    made = connection.execute(
        sa.insert(policy).values(
            name=read.name,
            version=read.version,
            digest=read.hash,
            text=text,
            added=now(),
            added_by=by,
            current=True,
        )
    )
    log.append(connection, by, "policy added", name=read.name, version=read.version, digest=read.hash)
    assert made.inserted_primary_key is not None  # noqa: S101 - for the type checker
    return int(made.inserted_primary_key[0])


def add_shipped(connection: Connection) -> None:
    """Add the bundled policies."""
    from hitoku.checks.policies import FOLDER, policy_names  # noqa: PLC0415 - as above

    for name in policy_names():
        add_version(connection, (FOLDER / f"{name}.toml").read_text("utf-8"), log.SYSTEM)


def versions(connection: Connection) -> Sequence[Row[tuple[object, ...]]]:
    """Return all versions, newest first within each policy."""
    return connection.execute(sa.select(policy).order_by(policy.c.name, policy.c.id.desc())).all()


def version(connection: Connection, number: int) -> Row[tuple[object, ...]] | None:
    """Return a version by its id."""
    return connection.execute(sa.select(policy).where(policy.c.id == number)).first()


def changed_lines(connection: Connection, row: Row[tuple[object, ...]]) -> list[str]:
    """Return the lines that differ from the previous version."""
    before = connection.execute(
        sa.select(policy)
        .where(policy.c.name == row.name, policy.c.id < row.id)
        .order_by(policy.c.id.desc())
        .limit(1)
    ).first()
    if before is None:
        return []
    lines = difflib.unified_diff(before.text.splitlines(), row.text.splitlines(), lineterm="", n=2)
    return list(lines)[2:]


def as_file(connection: Connection, context: Context, name: str) -> str:
    """Write the current version of a policy for the worker; return its path, or an empty text."""
    row = connection.execute(sa.select(policy).where(policy.c.name == name, policy.c.current)).first()
    if row is None:
        return ""
    path = context.policy_file(row.id)
    if not path.exists():
        write_file(path, row.text.encode())
    return str(path)


def dry_run_task(connection: Connection, context: Context, number: int) -> dict[str, Any]:
    """Return the task of a dry run: all released outputs, and the policy."""
    row = version(connection, number)
    if row is None:
        raise DataError("no_such_policy", "no such policy", where="policy", fix="choose one of the list")
    path = context.policy_file(number)
    if not path.exists():
        write_file(path, row.text.encode())
    released = connection.execute(sa.select(release.c.request, release.c.submission)).all()
    left = [
        {
            "request": each.request,
            "submission": str(context.submitted(each.submission)),
            "outputs": list(
                connection.scalars(
                    sa.select(output.c.name)
                    .join(decision, decision.c.output == output.c.id)
                    .where(output.c.submission == each.submission, decision.c.choice == "approve")
                )
            ),
        }
        for each in released
    ]
    return {"kind": "dry run", "policy": str(path), "released": left}


def keep_dry_run(context: Context, number: int, result: dict[str, Any]) -> None:
    """Save the result of a dry run."""
    write_file(context.folder / "dry-runs" / f"{number:06}.json", json.dumps(result).encode(), private=True)


def dry_run_result(context: Context, number: int) -> dict[str, Any] | None:
    """Return the result of the last dry run of a policy; None if there was none."""
    path = context.folder / "dry-runs" / f"{number:06}.json"
    return json.loads(path.read_bytes()) if path.is_file() else None
