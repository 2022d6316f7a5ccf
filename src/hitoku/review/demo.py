"""A centre that never was: people, data, a project, and submissions that a newcomer can review at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hitoku.checks.session.session import Session
from hitoku.review.desk import Desk
from hitoku.review.founding import add_member, add_project, found
from hitoku.review.intake import copy_folder
from hitoku.review.people import add_person, known
from hitoku.review.permissions import Person
from hitoku.review.storage import writing
from hitoku.review.submitting import new_request
from hitoku.review.tables import project
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
N_ENTERPRISES = 2_000


def make_demo(folder: Path) -> Desk:
    """Make a centre in a folder that does not exist yet; its submissions wait for the worker."""
    desk = found(folder, team="Demo centre", https=False)
    data = register(n=N_ENTERPRISES, seed=4).records
    place = folder / "data" / "enterprises.parquet"
    place.parent.mkdir()
    data.to_parquet(place)
    with writing(desk.engine) as connection:
        for login, name, roles in PEOPLE:
            add_person(connection, login, name, roles, PASSWORD, by="system")
        add_project(
            connection,
            desk,
            PROJECT,
            data=place.resolve(),
            unit="enterprise",
            policy="japan-2017",
        )
        for login in ("ren", "mio"):
            add_member(connection, PROJECT, login)
    for title, author, session in _sessions(place):
        _submit(desk, title, author, session)
    return desk


def _sessions(data: Path) -> list[tuple[str, str, Session]]:
    """Three days of work: one where everything is fine, one with something to look at, one with a trap."""
    turnover = _session("turnover by size", data)
    turnover.frequency_table(by=["size"], name="enterprises by size")
    turnover.magnitude_table(by=["size"], value="turnover", name="turnover by size")
    turnover.mean("employees", by="size", name="mean employees")
    towns = _session("towns", data)
    towns.frequency_table(by=["region", "size"], name="enterprises by town and size")
    towns.percentile("turnover", 50, by="region", name="median turnover by town")
    towns.regression("turnover ~ employees + C(size)", name="turnover and employees")
    trap = _session("large and small", data)
    trap.frequency_table(by=["region"], name="all enterprises by town")
    trap.frequency_table(
        by=["region"], where={"size": ["1 micro", "2 small", "3 medium"]}, name="without the large ones"
    )
    return [
        ("Turnover by size class", "ren", turnover),
        ("Towns", "mio", towns),
        ("Large and small", "ren", trap),
    ]


def _session(name: str, data: Path) -> Session:
    return Session(name, str(data), unit="enterprise", unit_word="enterprise")


def _submit(desk: Desk, title: str, author: str, session: Session) -> None:
    work = desk.quarantine / f"demo-{title.replace(' ', '-')}"
    session.submit(work)
    folder, digest = copy_folder(work, desk.quarantine, f"{work.name}-in", desk.settings)
    shutil.rmtree(work)
    with writing(desk.engine) as connection:
        new_request(
            connection,
            desk,
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
    who = known(connection, login)
    assert who is not None  # noqa: S101 - made above
    return who
