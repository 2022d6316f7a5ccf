"""The context of the review application: its settings, its database, and where its files are.

What a centre decides about its application is one TOML file in its folder; every setting has a default.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.engine import Connection, Engine, Row

from hitoku.errors import ParameterError
from hitoku.files import write_file
from hitoku.parameters import Count, whole
from hitoku.review import log
from hitoku.review.states import CLOSED, Event, RequestState, Standing, after
from hitoku.review.storage import now, open_database
from hitoku.review.tables import request, review, submission
from hitoku.toml import load_toml, toml_value, validated

FILE = "review.toml"


class Proxy(BaseModel):
    """A proxy that signs people in and names them in a header; believed from listed addresses only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    header: Annotated[str, Field(min_length=1)] = "X-Remote-User"
    addresses: Annotated[tuple[str, ...], Field(min_length=1)]


class Oidc(BaseModel):
    """An identity provider (OpenID Connect); people are known by a claim of its tokens.

    Parameters
    ----------
    issuer, client
        Its address, and our name there.
    secret_file
        A file with the secret that it gave us; not in the settings, which are read more often.
    redirect
        Where it sends people back to: https://our.name/oidc/callback.
    claim
        What has somebody's login.
    button
        What the page calls it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Annotated[str, Field(min_length=1)]
    client: Annotated[str, Field(min_length=1)]
    secret_file: Annotated[str, Field(min_length=1)]
    redirect: Annotated[str, Field(pattern=r"^https?://.+/oidc/callback$")]
    claim: str = "preferred_username"
    button: str = "Sign in through the centre"


class ReviewSettings(BaseModel):
    """The settings.

    Parameters
    ----------
    database
        Address of the database; empty for a SQLite file in the folder.
    team
        What pages call the centre.
    turnaround_days
        Working days within which a request is answered.
    reviews
        Blinded reviews that phase 1 takes.
    separate_phases
        Whoever reviewed in phase 1 does not decide in phase 2.
    idle_minutes, session_hours
        How long a session lasts without a click, and at most.
    https
        Cookies are sent over https only; set it to false for a try on loopback.
    check_seconds
        How long the check of a submission may take.
    upload_bytes, unpacked_bytes, most_files
        How large a submission may be, packed and unpacked.
    hosts
        Names under which the application is reached; anything else is refused.
    proxies
        Addresses of proxies in front of the application: the address that they name in X-Forwarded-For counts
        when wrong passwords are counted.
    proxy, oidc
        Other ways to sign in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str = ""
    team: str = "Output checking"
    turnaround_days: Count = 5
    reviews: Annotated[int, whole(1, 5)] = 2
    separate_phases: bool = True
    idle_minutes: Count = 60
    session_hours: Count = 12
    https: bool = True
    check_seconds: Count = 900
    upload_bytes: Count = 200_000_000
    unpacked_bytes: Count = 1_000_000_000
    most_files: Count = 2_000
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    proxies: tuple[str, ...] = ()
    proxy: Proxy | None = None
    oidc: Oidc | None = None


def read_settings(folder: Path) -> ReviewSettings:
    """Read the settings of a folder; the first thing that is wrong is named."""
    path = folder / FILE
    if not path.is_file():
        raise ParameterError(
            "settings_missing",
            "no {file} in {folder}",
            where=str(folder),
            fix="hitoku serve init FOLDER",
            file=FILE,
            folder=folder.name or folder,
        )
    try:
        given, origin = load_toml(path.read_text("utf-8"), str(path), "file of settings")
    except UnicodeDecodeError:
        raise ParameterError("not_utf8", "not UTF-8 text", where=str(path), fix="save it as UTF-8") from None
    return validated(ReviewSettings, given, origin, otherwise="see docs/how-to/run-the-review-application.md")


def write_settings(folder: Path, **given: Any) -> None:
    """Begin a file of settings: those given, and the others as comments."""
    defaults = ReviewSettings().model_dump(exclude={"proxy", "oidc"})
    lines = ["# Settings of the review application. A line that is commented out shows the default.", ""]
    for name, usual in defaults.items():
        value = given.get(name, usual)
        lines.append(f"{'' if name in given else '# '}{name} = {toml_value(value)}")
    lines += ["", "# [proxy]", '# header = "X-Remote-User"', '# addresses = ["127.0.0.1"]', ""]
    write_file(folder / FILE, "\n".join(lines).encode(), private=True)


@dataclass(frozen=True, slots=True)
class Context:
    """A folder with everything of one application.

    Parameters
    ----------
    folder
        Where it all is.
    settings
        From the folder's file.
    engine
        The database.
    """

    folder: Path
    settings: ReviewSettings
    engine: Engine

    @classmethod
    def open(cls, folder: Path) -> Context:
        """Open a folder that ``hitoku serve init`` made."""
        settings = read_settings(folder)
        place = folder.resolve()
        return cls(
            place, settings, open_database(settings.database or f"sqlite:///{place / 'review.sqlite'}")
        )

    @property
    def quarantine(self) -> Path:
        """Where uploads are looked at before anything trusts them."""
        return self.folder / "quarantine"

    @property
    def inbox(self) -> Path:
        """The watched folder: PROJECT/LOGIN/NAME.zip."""
        return self.folder / "inbox"

    def submitted(self, number: int) -> Path:
        """Where a submission is, as it was handed over."""
        return self.folder / "submissions" / f"{number:06}"

    def checked(self, number: int) -> Path:
        """Where the worker wrote what it found about a submission."""
        return self.folder / "checks" / f"{number:06}"

    def released(self, number: int) -> Path:
        """Where what left of a request is kept."""
        return self.folder / "released" / f"{number:06}"

    def policy_file(self, number: int) -> Path:
        """Where a version of a policy is written for the worker."""
        return self.folder / "policies" / f"{number:06}.toml"


def latest(connection: Connection, number: int) -> Row[tuple[object, ...]] | None:
    """Return the submission of the present turn."""
    return connection.execute(
        sa.select(submission)
        .where(submission.c.request == number)
        .order_by(submission.c.turn.desc())
        .limit(1)
    ).first()


def present(number: int) -> sa.ScalarSelect[int]:
    """Return the number of the submission of the present turn, for use within a question."""
    return (
        sa.select(submission.c.id)
        .where(submission.c.request == number)
        .order_by(submission.c.turn.desc())
        .limit(1)
        .scalar_subquery()
    )


def standing(connection: Connection, number: int, settings: ReviewSettings) -> Standing | None:
    """Return what permissions ask about a request; None when there is none of this number."""
    row = connection.execute(sa.select(request).where(request.c.id == number)).first()
    if row is None:
        return None
    turn = latest(connection, number)
    reviews = connection.execute(
        sa.select(review.c.person, review.c.submitted).where(review.c.submission == (turn.id if turn else 0))
    )
    return Standing(
        author=row.author,
        state=RequestState(row.state),
        reviewers={each.person: each.submitted is not None for each in reviews},
        needed=settings.reviews,
        separate=settings.separate_phases,
        claimed_by=row.claimed_by,
    )


def move(connection: Connection, number: int, event: Event, who: str, **body: object) -> RequestState:
    """Take a request to its next state and write it into the log; the only place that changes a state."""
    row = connection.execute(sa.select(request.c.state, request.c.turn).where(request.c.id == number)).one()
    state = after(RequestState(row.state), event)
    changes: dict[str, object] = {"state": str(state), "claimed_by": None}
    if event is Event.RESUBMIT:
        changes |= {"turn": row.turn + 1, "submitted": now()}
    if state in CLOSED:
        changes["closed"] = now()
    connection.execute(sa.update(request).where(request.c.id == number).values(**changes))
    log.append(connection, who, str(event), request=number, state=str(state), **body)
    return state
