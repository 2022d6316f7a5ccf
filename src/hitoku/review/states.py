"""The states of a request, who owns each, and the only ways from one to another."""

from __future__ import annotations

from enum import StrEnum

from hitoku.errors import HitokuError


class RequestState(StrEnum):
    """Where a request stands."""

    SUBMITTED = "submitted"
    PHASE_1 = "phase 1"
    PHASE_2 = "phase 2"
    RETURNED = "returned"
    APPROVED = "approved"
    RELEASED = "released"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Owner(StrEnum):
    """Whose turn it is."""

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
    """What moves a request from one state to another; also its name in the log."""

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
    """Something cannot be done in the state a request is in, or not yet."""


def after(state: RequestState | None, event: Event) -> RequestState:
    """Return the state that an event leads to, or refuse it.

    Examples
    --------
    >>> after(RequestState.PHASE_1, Event.SETTLE)
    <RequestState.PHASE_2: 'phase 2'>
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise StateError(
            f"a request that is {state or 'not there'} cannot be: {event}",
            fix="look at the request again: somebody may have been quicker",
        ) from None


def allowed(state: RequestState, event: Event) -> bool:
    """Tell whether an event can happen in a state."""
    return (state, event) in TRANSITIONS
