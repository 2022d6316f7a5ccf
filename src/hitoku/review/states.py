"""States of a request, their transitions, and permissions.

Each permission is one function. Authors never review their own requests, whatever other roles they have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from hitoku.errors import HitokuError


class RequestState(StrEnum):
    """State of a request."""

    SUBMITTED = "submitted"
    PHASE_1 = "phase 1"
    PHASE_2 = "phase 2"
    RETURNED = "returned"
    APPROVED = "approved"
    RELEASED = "released"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Owner(StrEnum):
    """Role that must act next."""

    SYSTEM = "the application"
    CHECKERS = "checkers"
    SENIORS = "senior checkers"
    AUTHOR = "the researcher"
    NOBODY = "nobody"


OWNERS = {
    RequestState.SUBMITTED: Owner.SYSTEM,
    RequestState.PHASE_1: Owner.CHECKERS,
    RequestState.PHASE_2: Owner.SENIORS,
    RequestState.RETURNED: Owner.AUTHOR,
    RequestState.APPROVED: Owner.SENIORS,
    RequestState.RELEASED: Owner.NOBODY,
    RequestState.REJECTED: Owner.NOBODY,
    RequestState.WITHDRAWN: Owner.NOBODY,
}


class Event(StrEnum):
    """Event that moves a request from one state to another; also its name in the log."""

    SUBMIT = "submit"
    CHECKED = "checked"
    UNREADABLE = "unreadable"
    SETTLE = "settle"
    RETURN = "return"
    APPROVE = "approve"
    REJECT = "reject"
    RELEASE = "release"
    RESUBMIT = "resubmit"
    WITHDRAW = "withdraw"


TRANSITIONS: dict[tuple[RequestState | None, Event], RequestState] = {
    (None, Event.SUBMIT): RequestState.SUBMITTED,
    (RequestState.SUBMITTED, Event.CHECKED): RequestState.PHASE_1,
    (RequestState.SUBMITTED, Event.UNREADABLE): RequestState.RETURNED,
    (RequestState.PHASE_1, Event.SETTLE): RequestState.PHASE_2,
    (RequestState.PHASE_1, Event.RETURN): RequestState.RETURNED,
    (RequestState.PHASE_2, Event.RETURN): RequestState.RETURNED,
    (RequestState.PHASE_2, Event.APPROVE): RequestState.APPROVED,
    (RequestState.PHASE_2, Event.REJECT): RequestState.REJECTED,
    (RequestState.APPROVED, Event.RELEASE): RequestState.RELEASED,
    (RequestState.RETURNED, Event.RESUBMIT): RequestState.SUBMITTED,
    (RequestState.SUBMITTED, Event.WITHDRAW): RequestState.WITHDRAWN,
    (RequestState.PHASE_1, Event.WITHDRAW): RequestState.WITHDRAWN,
    (RequestState.PHASE_2, Event.WITHDRAW): RequestState.WITHDRAWN,
    (RequestState.RETURNED, Event.WITHDRAW): RequestState.WITHDRAWN,
}

OPEN = tuple(state for state in RequestState if OWNERS[state] is not Owner.NOBODY)
CLOSED = tuple(state for state in RequestState if OWNERS[state] is Owner.NOBODY)


class StateError(HitokuError):
    """Error for an action that is not possible in the current state."""


def after(state: RequestState | None, event: Event) -> RequestState:
    """Return the state after an event; raise StateError if it is not allowed.

    Examples
    --------
    >>> after(RequestState.PHASE_1, Event.SETTLE)
    <RequestState.PHASE_2: 'phase 2'>
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise StateError(
            "state_forbids_event",
            "a request that is {state} cannot be: {event}",
            fix="open the request again: another user may have acted first",
            state=state or "not there",
            event=event,
        ) from None


def is_allowed(state: RequestState, event: Event) -> bool:
    """Return whether an event is allowed in a state."""
    return (state, event) in TRANSITIONS


class Role(StrEnum):
    """Role of a user."""

    RESEARCHER = "researcher"
    CHECKER = "checker"
    SENIOR = "senior"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A signed-in user."""

    id: int
    login: str
    name: str
    roles: frozenset[Role]

    @property
    def checks(self) -> bool:
        """Whether the user reviews requests of others."""
        return bool(self.roles & {Role.CHECKER, Role.SENIOR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Facts about a request on which permissions depend."""

    # author, state: author and state of the request.
    author: int
    state: RequestState
    reviewers: dict[int, bool]  # Reviewer ids of this turn, with whether each review is submitted.
    needed: int = 2  # Number of reviews required.
    separate: bool = True  # Whether reviewers of phase 1 are excluded from phase 2.
    claimed_by: int | None = None  # Id of the user who claimed it.

    @property
    def frozen(self) -> int:
        """Number of submitted reviews."""
        return sum(self.reviewers.values())

    @property
    def unblinded(self) -> bool:
        """Whether all reviews are submitted, so that votes are visible."""
        return self.frozen >= self.needed or self.state not in {RequestState.SUBMITTED, RequestState.PHASE_1}


# Permission that depends on a request.
Rule = Callable[[Person, Standing], bool]


def _own(who: Person, what: Standing) -> bool:
    return who.id == what.author


def _foreign(who: Person, what: Standing) -> bool:
    return who.id != what.author and who.checks


def _see(who: Person, what: Standing) -> bool:
    return _own(who, what) or who.checks or Role.ADMINISTRATOR in who.roles


def _review(who: Person, what: Standing) -> bool:
    begun = who.id in what.reviewers
    room = begun or len(what.reviewers) < what.needed
    return (
        _foreign(who, what)
        and what.state is RequestState.PHASE_1
        and room
        and not what.reviewers.get(who.id, False)
    )


def _submit_review(who: Person, what: Standing) -> bool:
    # Allowed again after submission, so that a repeated click succeeds.
    return _foreign(who, what) and what.state is RequestState.PHASE_1 and who.id in what.reviewers


def _settle(who: Person, what: Standing) -> bool:
    mine = what.reviewers.get(who.id, False)
    return _foreign(who, what) and what.state is RequestState.PHASE_1 and what.unblinded and mine


def _decide(who: Person, what: Standing) -> bool:
    fresh = not (what.separate and who.id in what.reviewers)
    return _foreign(who, what) and Role.SENIOR in who.roles and what.state is RequestState.PHASE_2 and fresh


def _give_back(who: Person, what: Standing) -> bool:
    return _settle(who, what) or _decide(who, what)


def _release(who: Person, what: Standing) -> bool:
    return _foreign(who, what) and Role.SENIOR in who.roles and what.state is RequestState.APPROVED


def _claim(who: Person, what: Standing) -> bool:
    return _foreign(who, what) and what.state in {
        RequestState.PHASE_1,
        RequestState.PHASE_2,
        RequestState.APPROVED,
    }


def _retry(who: Person, what: Standing) -> bool:
    return (_foreign(who, what) or Role.ADMINISTRATOR in who.roles) and what.state in {
        RequestState.SUBMITTED,
        RequestState.APPROVED,
    }


def _download(who: Person, what: Standing) -> bool:
    return what.state is RequestState.RELEASED and _see(who, what)


ABOUT_A_REQUEST: dict[str, Rule] = {
    "see": _see,
    # Evidence is for checkers; authors see verdicts and published values.
    "see evidence": _foreign,
    "claim": _claim,
    "review": _review,
    "submit review": _submit_review,
    "settle": _settle,
    "decide": _decide,
    "give back": _give_back,
    "comment": lambda who, what: _own(who, what) or _foreign(who, what),
    "release": _release,
    "download": _download,
    "resubmit": lambda who, what: _own(who, what) and is_allowed(what.state, Event.RESUBMIT),
    "withdraw": lambda who, what: _own(who, what) and is_allowed(what.state, Event.WITHDRAW),
    "retry": _retry,
}

BY_ROLE: dict[str, frozenset[Role]] = {
    "enter": frozenset(Role),
    "see the queue": frozenset({Role.CHECKER, Role.SENIOR, Role.ADMINISTRATOR}),
    "submit": frozenset({Role.RESEARCHER}),
    "see the log": frozenset({Role.SENIOR, Role.ADMINISTRATOR}),
    "see policies": frozenset({Role.CHECKER, Role.SENIOR, Role.ADMINISTRATOR}),
    "change policies": frozenset({Role.SENIOR}),
    "see statistics": frozenset({Role.SENIOR, Role.ADMINISTRATOR}),
    "administer": frozenset({Role.ADMINISTRATOR}),
}


def may(who: Person, permission: str, what: Standing | None = None) -> bool:
    """Return whether a user has a permission, optionally on a request. Raises KeyError if unknown."""
    if permission in BY_ROLE:
        return bool(who.roles & BY_ROLE[permission])
    rule = ABOUT_A_REQUEST[permission]
    return what is not None and rule(who, what)
