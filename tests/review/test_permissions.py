"""Who may do what: every route, every role, one's own request and others'; new routes are listed here."""

from __future__ import annotations

import re

import pytest

from hitoku.review import ABOUT_A_REQUEST, ACTIONS, BY_ROLE, Person, RequestState, Role, Standing, may

TEAM = {"checker", "senior", "kai", "administrator"}
# For every permission, who has it on a request of ren in phase 1 that nobody has begun to review.
EXPECTED = {
    "enter": {"author", "researcher", "checker", "senior", "kai", "administrator"},
    "submit": {"author", "researcher", "kai"},
    "see the queue": TEAM,
    "see policies": TEAM,
    "change policies": {"senior", "kai"},
    "see the log": {"senior", "kai", "administrator"},
    "see statistics": {"senior", "kai", "administrator"},
    "administer": {"administrator"},
    "see": {"author", *TEAM},
    "see evidence": {"checker", "senior", "kai"},
    "comment": {"author", "checker", "senior", "kai"},
    "claim": {"checker", "senior", "kai"},
    "review": {"checker", "senior", "kai"},
    # Those who have voted; a checker with a vote is asked below.
    "submit review": set(),
    "settle": set(),
    "decide": set(),
    "give back": set(),
    "release": set(),
    "download": set(),
    "resubmit": set(),
    "withdraw": {"author"},
    "retry": set(),
}
LOGINS = {
    "author": "ren",
    "researcher": "mio",
    "checker": "yui",
    "senior": "haru",
    "kai": "kai",
    "administrator": "aki",
}
# What anybody may ask for, and why.
OPEN = {
    "GET /login": "to sign in",
    "POST /login": "to sign in",
    "GET /oidc/begin": "to sign in elsewhere",
    "GET /oidc/callback": "to come back from there",
    "GET /health": "says two words about the machine",
    "GET /metrics": "asks for loopback or an administrator itself",
}


def test_every_route_declares_a_permission():
    without = {action.name for action in ACTIONS if action.may is None}
    assert without == set(OPEN)
    asked = {action.may for action in ACTIONS if action.may is not None}
    assert asked <= set(EXPECTED)
    assert set(EXPECTED) == set(ABOUT_A_REQUEST) | set(BY_ROLE)


def test_routes_are_unique():
    names = [action.name for action in ACTIONS]
    assert len(names) == len(set(names))


def test_route_permissions_match_role_matrix(centre):
    """Every route and every role, on somebody's request in phase 1: refused exactly where it should be."""
    number = centre.submit("ren")
    output = centre.outputs(number)[0]
    wrong = []
    for action in ACTIONS:
        if action.may is None or action.path == "/logout":
            continue
        path = re.sub(r"\{request:number\}", str(number), action.path)
        path = re.sub(r"\{output:number\}", str(output), path)
        path = re.sub(r"\{(cell|policy|person):number\}", "1", path)
        for role, login in LOGINS.items():
            # Forms are sent empty: whoever passes the permission is told so by another answer.
            browser = centre.browser(login)
            answer = browser.get(path) if action.method == "GET" else browser.post(path, data={"x": "1"})
            refused = answer.status_code in {403, 404}
            if refused == (role in EXPECTED[action.may]):
                wrong.append(f"{action.name} by {role}: {answer.status_code}")
        nobody = centre.browser()
        answer = nobody.get(path) if action.method == "GET" else nobody.post(path)
        if answer.status_code != 303 or not answer.headers["location"].startswith("/login"):
            wrong.append(f"{action.name} by nobody: {answer.status_code}")
        if centre.state(number) != "phase 1":  # somebody withdrew it, as they may
            number = centre.submit("ren", title="Another")
            output = centre.outputs(number)[0]
    assert wrong == []


def test_request_of_another_user_returns_404(centre):
    number = centre.submit("ren")
    mio = centre.browser("mio")
    assert mio.get(f"/requests/{number}").status_code == mio.get("/requests/999").status_code == 404
    assert (
        mio.get(f"/outputs/{centre.outputs(number)[0]}").status_code
        == mio.get("/outputs/999").status_code
        == 404
    )
    assert "Wages" not in mio.get("/mine").text


def somebody(*roles, number=2):
    return Person(id=number, login="x", name="X", roles=frozenset(map(Role, roles)))


def on(state, reviewers=(), author=1, **more):
    return Standing(author=author, state=RequestState(state), reviewers=dict(reviewers), **more)


@pytest.mark.parametrize(
    ("permission", "who", "what", "expected"),
    [
        pytest.param("review", somebody("checker"), on("phase 1"), True, id="a checker reviews"),
        pytest.param("review", somebody("checker"), on("phase 1", {2: True}), False, id="frozen is frozen"),
        pytest.param("review", somebody("checker"), on("phase 1", {3: False, 4: False}), False, id="no room"),
        pytest.param("review", somebody("checker"), on("phase 2"), False, id="too late"),
        pytest.param("submit review", somebody("checker"), on("phase 1", {2: False}), True, id="one's own"),
        pytest.param(
            "submit review", somebody("checker"), on("phase 1", {3: False}), False, id="not another's"
        ),
        pytest.param(
            "settle", somebody("checker"), on("phase 1", {2: True, 3: True}), True, id="both are in"
        ),
        pytest.param(
            "settle", somebody("checker"), on("phase 1", {2: True, 3: False}), False, id="one is not in"
        ),
        pytest.param(
            "settle", somebody("checker"), on("phase 1", {3: True, 4: True}), False, id="no reviewer"
        ),
        pytest.param(
            "decide", somebody("senior"), on("phase 2", {3: True, 4: True}), True, id="a senior decides"
        ),
        pytest.param("decide", somebody("checker"), on("phase 2"), False, id="a checker does not"),
        pytest.param("decide", somebody("senior"), on("phase 2", {2: True}), False, id="not who reviewed"),
        pytest.param(
            "decide", somebody("senior"), on("phase 2", {2: True}, separate=False), True, id="small teams may"
        ),
        pytest.param("decide", somebody("senior"), on("phase 2", author=2), False, id="never the author"),
        pytest.param("release", somebody("senior"), on("approved"), True, id="a senior releases"),
        pytest.param("release", somebody("senior"), on("approved", author=2), False, id="not their own"),
        pytest.param("release", somebody("administrator"), on("approved"), False, id="administrators do not"),
        pytest.param(
            "download", somebody("researcher", number=1), on("released"), True, id="the author gets it"
        ),
        pytest.param(
            "download", somebody("researcher"), on("released"), False, id="another researcher does not"
        ),
        pytest.param(
            "download", somebody("researcher", number=1), on("approved"), False, id="not before it left"
        ),
        pytest.param(
            "resubmit", somebody("researcher", number=1), on("returned"), True, id="the author again"
        ),
        pytest.param(
            "withdraw", somebody("researcher", number=1), on("released"), False, id="what left is gone"
        ),
        pytest.param("retry", somebody("administrator"), on("submitted"), True, id="administrators mend"),
    ],
)
def test_permissions_match_role_and_state(permission, who, what, expected):
    assert may(who, permission, what) is expected


@pytest.mark.parametrize(
    "permission", ["review", "submit review", "settle", "decide", "give back", "claim", "release"]
)
@pytest.mark.parametrize("state", RequestState)
def test_author_cannot_judge_in_any_state(permission, state):
    author = somebody(*Role, number=1)
    assert not may(author, permission, on(state, {1: True, 3: True}, separate=False))


@pytest.mark.parametrize("path", ["/nothing", "/requests/99", "/users"])
def test_forbidden_page_keeps_the_user_navigation(centre, path):
    answer = centre.browser("yui").get(path)
    assert answer.status_code in {403, 404}
    assert 'href="/queue"' in answer.text
    assert "Yui Tanaka" in answer.text
    assert 'href="/users"' not in answer.text
