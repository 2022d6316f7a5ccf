"""The states of a request, who owns each, and the only ways from one to another."""

from __future__ import annotations

from enum import StrEnum

from hitoku.errors import HitokuError


class State(StrEnum):
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
    State.SUBMITTED: Owner.SYSTEM,
    State.PHASE_1: Owner.CHECKERS,
    State.PHASE_2: Owner.SENIORS,
    State.RETURNED: Owner.AUTHOR,
    State.APPROVED: Owner.SENIORS,
    State.RELEASED: Owner.NOBODY,
    State.REJECTED: Owner.NOBODY,
    State.WITHDRAWN: Owner.NOBODY,
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


TRANSITIONS: dict[tuple[State | None, Event], State] = {
    (None, Event.SUBMIT): State.SUBMITTED,
    (State.SUBMITTED, Event.CHECKED): State.PHASE_1,
    (State.SUBMITTED, Event.UNREADABLE): State.RETURNED,
    (State.PHASE_1, Event.SETTLE): State.PHASE_2,
    (State.PHASE_1, Event.RETURN): State.RETURNED,
    (State.PHASE_2, Event.RETURN): State.RETURNED,
    (State.PHASE_2, Event.APPROVE): State.APPROVED,
    (State.PHASE_2, Event.REJECT): State.REJECTED,
    (State.APPROVED, Event.RELEASE): State.RELEASED,
    (State.RETURNED, Event.RESUBMIT): State.SUBMITTED,
    (State.SUBMITTED, Event.WITHDRAW): State.WITHDRAWN,
    (State.PHASE_1, Event.WITHDRAW): State.WITHDRAWN,
    (State.PHASE_2, Event.WITHDRAW): State.WITHDRAWN,
    (State.RETURNED, Event.WITHDRAW): State.WITHDRAWN,
}

OPEN = tuple(state for state in State if OWNERS[state] is not Owner.NOBODY)
CLOSED = tuple(state for state in State if OWNERS[state] is Owner.NOBODY)


class StateError(HitokuError):
    """Something cannot be done in the state a request is in, or not yet."""


def after(state: State | None, event: Event) -> State:
    """Return the state that an event leads to, or refuse it.

    Examples
    --------
    >>> after(State.PHASE_1, Event.SETTLE)
    <State.PHASE_2: 'phase 2'>
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise StateError(
            f"a request that is {state or 'not there'} cannot be: {event}",
            fix="look at the request again: somebody may have been quicker",
        ) from None


def allowed(state: State, event: Event) -> bool:
    """Tell whether an event can happen in a state."""
    return (state, event) in TRANSITIONS
