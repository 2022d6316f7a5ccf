"""Sign-in, sign-out and health check."""

from __future__ import annotations

import time
from datetime import timedelta
from urllib.parse import quote, unquote

from starlette.responses import JSONResponse, RedirectResponse, Response

from hitoku.errors import DataError
from hitoku.review import log, users
from hitoku.review.actions import COOKIE, Action, Call, remember
from hitoku.review.oidc import Begun, Provider
from hitoku.review.states import Person
from hitoku.review.storage import reachable, writing
from hitoku.review.users import DEVICE_LASTS, cookie_name
from hitoku.web import local_path

# Without activity for this many seconds, a worker counts as down.
SILENCE = timedelta(minutes=1)
# Cookie during a sign-in at the identity provider, and its lifetime in minutes.
ELSEWHERE, MAX_ELSEWHERE = "hitoku_elsewhere", timedelta(minutes=10)


def show_login(call: Call) -> Response:
    """Show the sign-in form."""
    if call.person is not None:
        return call.go(local_path(call.http.query_params.get("next", "/")))
    return call.page("login.html", login="", wrong="", next=call.http.query_params.get("next", "/"))


def sign_in(call: Call) -> Response:
    """Check a password and begin a session."""
    login, back = call.form.get("login", "").strip(), call.form.get("next", "/")
    origin = _origin(call, login)
    if users.is_throttled(call.connection, login, origin):
        wrong = "There were too many attempts. Wait a quarter of an hour, or ask the administrator."
        return call.page("login.html", status=429, login=login, wrong=wrong, next=back)
    found = call.prepared
    if found is None:
        users.note_failure(call.connection, login, origin, call.address)
        return call.page(
            "login.html", status=422, login=login, wrong="Login and password do not fit together.", next=back
        )
    if call.token:
        users.end_session(call.connection, call.token)
    token = users.begin_session(call.connection, found.id)
    log.append(call.connection, found.login, "signed in")
    response = call.go(local_path(back))
    remember(response, token, call.context)
    response.set_cookie(
        cookie_name(found.login),
        users.device_cookie(call.connection, found),
        max_age=int(DEVICE_LASTS.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=call.context.settings.https,
        path="/login",
    )
    return response


def _origin(call: Call, login: str) -> str:
    """Return the origin by which failed sign-ins are counted: a known device, or the address."""
    cookie = call.http.cookies.get(cookie_name(login), "")
    return users.origin_of(call.connection, login, call.address, cookie)


def compare(call: Call) -> Person | None:
    """Check the password before taking the write lock, because hashing is slow by design."""
    login = call.form.get("login", "").strip()
    if users.is_throttled(call.connection, login, _origin(call, login)):
        return None
    return users.password_matches(call.connection, login, call.form.get("password", ""))


def sign_out(call: Call) -> Response:
    """End the session."""
    users.end_session(call.connection, call.token)
    log.append(call.connection, call.who.login, "signed out")
    response = call.go("/login")
    response.delete_cookie(COOKIE, path="/")
    return response


def begin_elsewhere(call: Call) -> Response:
    """Redirect to the identity provider."""
    provider = _provider(call)
    begun = Begun.fresh()
    response = RedirectResponse(provider.address(begun), 303)
    after = quote(local_path(call.http.query_params.get("next", "/")), safe="")
    response.set_cookie(
        ELSEWHERE,
        f"{begun.packed()}|{after}",
        max_age=int(MAX_ELSEWHERE.total_seconds()),
        httponly=True,
        # SameSite=Lax: sent on the redirect back, but not with forms of other sites.
        samesite="lax",
        secure=call.context.settings.https,
        path="/oidc",
    )
    return response


def back_from_elsewhere(call: Call) -> Response:
    """Verify the provider's response, and begin a session for a known user."""
    provider = _provider(call)
    kept, _, after = call.http.cookies.get(ELSEWHERE, "").partition("|")
    begun, asked = Begun.unpacked(kept), call.http.query_params
    if begun is None or not users.same_secret(begun.state, asked.get("state", "")) or not asked.get("code"):
        raise DataError(
            "sign_in_expired",
            "this sign-in was not begun here, or took too long",
            where="oidc",
            fix="sign in again",
        )
    login = provider.login(asked["code"], begun)
    with writing(call.context.engine) as connection:
        found = users.user_by_login(connection, login)
        if found is None:
            log.append(
                connection,
                log.SYSTEM,
                "sign-in refused",
                address=call.address,
            )
        else:
            token = users.begin_session(connection, found.id)
            log.append(connection, found.login, "signed in")
    if found is None:
        raise DataError(
            "not_registered", "you are not one of the users here", where="oidc", fix="ask the administrator"
        )
    response = call.go(local_path(unquote(after)))
    remember(response, token, call.context)
    response.delete_cookie(ELSEWHERE, path="/oidc")
    return response


def _provider(call: Call) -> Provider:
    provider: Provider | None = call.http.app.state.provider
    if provider is None:
        raise DataError(
            "no_identity_provider",
            "no identity provider is configured",
            where="oidc",
            fix="sign in with a password",
        )
    return provider


def health(call: Call) -> Response:
    """Report whether database and worker are available."""
    database = reachable(call.context.engine)
    worker = call.http.app.state.worker
    well = worker.seen == 0.0 or time.time() - worker.seen < SILENCE.total_seconds()
    fine = database and well
    return JSONResponse({"database": database, "worker": well}, 200 if fine else 503)


def beginning(call: Call) -> Response:
    """Redirect to the user's start page."""
    if call.may("see the queue"):
        return call.go("/queue")
    return call.go("/mine")


ACTIONS = (
    Action(method="GET", path="/login", handler=show_login, may=None),
    Action(method="POST", path="/login", handler=sign_in, may=None, prepare=compare),
    Action(method="GET", path="/oidc/begin", handler=begin_elsewhere, may=None),
    Action(method="GET", path="/oidc/callback", handler=back_from_elsewhere, may=None),
    Action(method="POST", path="/logout", handler=sign_out, may="enter"),
    Action(method="GET", path="/health", handler=health, may=None),
    Action(method="GET", path="/", handler=beginning, may="enter"),
)
