"""Synthetic centre for demonstrations: users, data, a project, and submissions."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.checks.session import Session
from hitoku.review.context import Context
from hitoku.review.intake import copy_folder
from hitoku.review.setup import add_member, add_project, create_folder
from hitoku.review.states import Person
from hitoku.review.storage import writing
from hitoku.review.submitting import new_request
from hitoku.review.tables import project
from hitoku.review.users import add_person, user_by_login
from hitoku.samples import register

PASSWORD = "hitoku-demo"  # noqa: S105 - of people who do not exist, on loopback
PEOPLE = (
    ("ren", "Ren Aoki", ("researcher",)),
    ("mio", "Mio Sato", ("researcher",)),
    ("yui", "Yui Tanaka", ("checker",)),
    ("sota", "Sota Mori", ("checker",)),
    ("haru", "Haru Ito", ("senior",)),
    ("aki", "Aki Kondo", ("administrator",)),
)
PROJECT = "Lantern Isles"


def make_demo(folder: Path) -> Context:
    """Create a centre in a new folder, with users, data and a project, without submissions."""
    context = create_folder(folder, team="Demo centre", https=False)
    data = _data(context)
    data.parent.mkdir()
    register(n=2_000, seed=4).records.to_parquet(data)
    with writing(context.engine) as connection:
        for login, name, roles in PEOPLE:
            add_person(connection, login, name, roles, PASSWORD, by="system")
        add_project(connection, context, PROJECT, data=data.resolve(), unit="enterprise", policy="japan-2017")
        for login in ("ren", "mio"):
            add_member(connection, PROJECT, login)
    return context


def hand_in(context: Context) -> None:
    """Make three submissions, which the worker then checks."""
    days = (
        ("Large and small", "ren", _trap),
        ("Turnover by size class", "ren", _sizes),
        ("Towns", "mio", _towns),
    )
    for title, author, day in days:
        submit(context, title, author, day(_data(context)))


def _trap(data: Path) -> Session:
    """Make two tables that are safe separately, but disclose a few enterprises together."""
    work = _session("large and small", data)
    work.frequency_table(by=["region"], name="all enterprises by town")
    work.frequency_table(
        by=["region"], where={"size": ["1 micro", "2 small", "3 medium"]}, name="without the large ones"
    )
    return work


def _sizes(data: Path) -> Session:
    """Make a submission without problems."""
    work = _session("turnover by size", data)
    work.frequency_table(by=["size"], name="enterprises by size")
    work.magnitude_table(by=["size"], value="turnover", name="turnover by size")
    work.mean("employees", by="size", name="mean employees")
    return work


def _towns(data: Path) -> Session:
    """Make a submission with suppressed cells, a chart, medians and a model."""
    work = _session("towns", data)
    work.frequency_table(by=["region", "size"], name="enterprises by town and size")
    work.histogram("employees", [5, 10, 20, 50, 100], name="enterprises by employees")
    work.percentile("turnover", 50, by="region", name="median turnover by town")
    if find_spec("statsmodels"):  # installed with the extra "regression"
        work.regression("turnover ~ employees + C(size)", name="turnover and employees")
    return work


def _data(context: Context) -> Path:
    return context.folder / "data" / "enterprises.parquet"


def _session(name: str, data: Path) -> Session:
    return Session(name, str(data), unit="enterprise", unit_word="enterprise")


def submit(context: Context, title: str, author: str, session: Session) -> None:
    """Submit the outputs of a session."""
    work = context.quarantine / f"demo-{title.replace(' ', '-')}"
    session.submit(work)
    folder, digest = copy_folder(work, context.quarantine, f"{work.name}-in", context.settings)
    shutil.rmtree(work)
    with writing(context.engine) as connection:
        new_request(
            connection,
            context,
            _person(connection, author),
            project_id=connection.scalar(sa.select(project.c.id).where(project.c.name == PROJECT)) or 0,
            title=title,
            context="Enterprises of the made-up register, all of them, for a paper on small towns.",
            controls="Cells that the policy hits are withheld, with others for their sake.",
            folder=folder,
            digest=digest,
            nonce=f"demo-{digest[:40]}",
        )


def _person(connection: Connection, login: str) -> Person:
    who = user_by_login(connection, login)
    assert who is not None  # noqa: S101 - made above
    return who


if __name__ == "__main__":
    hand_in(Context.open(Path(sys.argv[1])))
