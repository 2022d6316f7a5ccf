"""What everything in the application is handed: settings, database, and where files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, Row

from hitoku.review import log
from hitoku.review.settings import ReviewSettings, read_settings
from hitoku.review.states import CLOSED, Event, RequestState, Standing, after
from hitoku.review.storage import now, open_database
from hitoku.review.tables import request, review, submission


@dataclass(frozen=True, slots=True)
class Desk:
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
    def open(cls, folder: Path) -> Desk:
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
