from __future__ import annotations

import pytest

from hitoku.review import CLOSED, OWNERS, TRANSITIONS, Event, Owner, RequestState, StateError, after


def test_every_state_has_an_owner():
    assert set(OWNERS) == set(RequestState)


def test_states_are_reachable_and_closed_is_final():
    reached = set(TRANSITIONS.values())
    assert reached == set(RequestState)
    assert not {state for state, _ in TRANSITIONS if state in CLOSED}


def test_every_open_state_can_be_closed():
    ways = {state: {after(state, e) for s, e in TRANSITIONS if s == state} for state in RequestState}
    for begin in RequestState:
        seen, todo = set(), [begin]
        while todo:
            state = todo.pop()
            if state not in seen:
                seen.add(state)
                todo += ways[state]
        assert seen & set(CLOSED), begin


def test_release_requires_phase_2():
    assert [state for state, event in TRANSITIONS if event is Event.RELEASE] == [RequestState.APPROVED]
    assert [state for (state, event) in TRANSITIONS if event is Event.APPROVE] == [RequestState.PHASE_2]
    assert OWNERS[RequestState.APPROVED] is Owner.SENIORS


@pytest.mark.parametrize("event", [Event.RELEASE, Event.APPROVE, Event.RESUBMIT])
def test_forbidden_transition_raises(event):
    with pytest.raises(StateError):
        after(RequestState.PHASE_1, event)
