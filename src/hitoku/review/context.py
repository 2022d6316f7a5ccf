"""Context of the review application: settings, database and folders.

Settings of a centre are one TOML file in its folder; every setting has a default.
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
from hitoku.toml import load_toml, toml_value, validate_keys

FILE = "review.toml"


class Proxy(BaseModel):
    """Proxy that authenticates users and names them in a header; trusted only from the listed addresses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    header: Annotated[str, Field(min_length=1)] = "X-Remote-User"
    addresses: Annotated[tuple[str, ...], Field(min_length=1)]


class Oidc(BaseModel):
    """OpenID Connect identity provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # issuer, client: address of the provider, and the client id of this application.
    issuer: Annotated[str, Field(min_length=1)]
    client: Annotated[str, Field(min_length=1)]
    # File with the client secret; kept out of the settings, which more people read.
    secret_file: Annotated[str, Field(min_length=1)]
    # Redirect address: https://our.name/oidc/callback.
    redirect: Annotated[str, Field(pattern=r"^https?://.+/oidc/callback$")]
    claim: str = "preferred_username"  # Claim that contains the login.
    button: str = "Sign in through the centre"  # Label of the button.


class ReviewSettings(BaseModel):
    """The settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str = ""  # Address of the database. Default: a SQLite file in the folder.
    team: str = "Output checking"  # Name of the team shown on pages.
    turnaround_days: Count = 5  # Working days within which requests are answered.
    reviews: Annotated[int, whole(1, 5)] = 2  # Number of blinded reviews in phase 1.
    separate_phases: bool = True  # Whether reviewers of phase 1 are excluded from deciding in phase 2.
    # idle_minutes, session_hours: duration of a session without activity, and in total.
    idle_minutes: Count = 60
    session_hours: Count = 12
    https: bool = True  # Whether cookies require https; set to false for tests on loopback.
    check_seconds: Count = 900  # Time limit for checking a submission.
    # upload_bytes, unpacked_bytes, most_files: limits of a submission: bytes packed, bytes unpacked, and
    # number of files.
    upload_bytes: Count = 200_000_000
    unpacked_bytes: Count = 1_000_000_000
    most_files: Count = 2_000
    # Host names of the application; other hosts are rejected.
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    # Addresses of trusted proxies, whose X-Forwarded-For header identifies the client when failed sign-ins
    # are counted.
    proxies: tuple[str, ...] = ()
    # proxy, oidc: other ways to sign in. Default: none.
    proxy: Proxy | None = None
    oidc: Oidc | None = None


def read_settings(folder: Path) -> ReviewSettings:
    """Read the settings of a folder; raise ParameterError for the first invalid one."""
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
    return validate_keys(
        ReviewSettings, given, origin, otherwise="see docs/how-to/run-the-review-application.md"
    )


def write_settings(folder: Path, **given: Any) -> None:
    """Write a settings file with the given values, and defaults as comments."""
    defaults = ReviewSettings().model_dump(exclude={"proxy", "oidc"})
    lines = ["# Settings of the review application. A line that is commented out shows the default.", ""]
    for name, usual in defaults.items():
        value = given.get(name, usual)
        lines.append(f"{'' if name in given else '# '}{name} = {toml_value(value)}")
    lines += ["", "# [proxy]", '# header = "X-Remote-User"', '# addresses = ["127.0.0.1"]', ""]
    write_file(folder / FILE, "\n".join(lines).encode(), private=True)


@dataclass(frozen=True, slots=True)
class Context:
    """Folder, settings and database of an application."""

    folder: Path  # Folder of the application.
    settings: ReviewSettings  # Settings read from the folder.
    engine: Engine  # Database engine.

    @classmethod
    def open(cls, folder: Path) -> Context:
        """Open a folder created by ``hitoku serve init``."""
        settings = read_settings(folder)
        place = folder.resolve()
        return cls(
            place, settings, open_database(settings.database or f"sqlite:///{place / 'review.sqlite'}")
        )

    @property
    def quarantine(self) -> Path:
        """Folder for uploads that have not been validated."""
        return self.folder / "quarantine"

    @property
    def inbox(self) -> Path:
        """Watched folder for submissions: PROJECT/LOGIN/NAME.zip."""
        return self.folder / "inbox"

    def submitted(self, number: int) -> Path:
        """Return the folder of a submission as received."""
        return self.folder / "submissions" / f"{number:06}"

    def checked(self, number: int) -> Path:
        """Return the folder of the check results of a submission."""
        return self.folder / "checks" / f"{number:06}"

    def released(self, number: int) -> Path:
        """Return the folder of the released files of a request."""
        return self.folder / "released" / f"{number:06}"

    def policy_file(self, number: int) -> Path:
        """Return the path of a policy version, written for the worker."""
        return self.folder / "policies" / f"{number:06}.toml"


def latest(connection: Connection, number: int) -> Row[tuple[object, ...]] | None:
    """Return the submission of the current turn."""
    return connection.execute(
        sa.select(submission)
        .where(submission.c.request == number)
        .order_by(submission.c.turn.desc())
        .limit(1)
    ).first()


def present(number: int) -> sa.ScalarSelect[int]:
    """Return a subquery for the id of the submission of the current turn."""
    return (
        sa.select(submission.c.id)
        .where(submission.c.request == number)
        .order_by(submission.c.turn.desc())
        .limit(1)
        .scalar_subquery()
    )


def standing(connection: Connection, number: int, settings: ReviewSettings) -> Standing | None:
    """Return the standing of a request for permission checks; None if it does not exist."""
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
    """Move a request to its next state and log it. All state changes use this function."""
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
