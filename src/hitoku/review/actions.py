"""Request handling: authentication, CSRF check, permission check, handler.

Handlers are plain functions run in a thread pool. A handler that writes receives the single writer
connection, and its permission is checked again inside that transaction.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from hitoku.errors import HitokuError, ParameterError
from hitoku.files import MAX_TEXT_BYTES
from hitoku.io import preferred_language
from hitoku.model import INT64_DIGITS
from hitoku.review import users
from hitoku.review.context import Context, standing
from hitoku.review.rendering import SAID, SITE
from hitoku.review.states import Person, Standing, StateError, may
from hitoku.review.storage import reading, writing
from hitoku.review.tables import output, submission
from hitoku.web import MAX_DIGITS, client_address, is_same_origin, local_path, referring_page, whole_number

LOGGER = logging.getLogger("hitoku.review")
COOKIE = "hitoku_session"
# Maximum number of fields of a form; texts are limited again where they are used.
MAX_FIELDS = 500
NO_PAGE, TO_BEGINNING = "no such page", "go back to the beginning"


@dataclass(kw_only=True)
class Call:
    """Arguments passed to every request handler."""

    context: Context  # Context of the application.
    http: Request  # The HTTP request.
    connection: Connection  # Connection for reading, or the writer connection.
    person: Person | None  # The signed-in user; None on public pages.
    token: str = ""  # Token of the session.
    # number, what: number and standing of the review request named in the path.
    number: int = 0
    what: Standing | None = None
    output: Row[tuple[object, ...]] | None = None  # The output named in the path.
    # form, files: submitted texts and files.
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, UploadFile] = field(default_factory=dict)
    prepared: Any = None  # Result of the action's ``prepare`` step, run before the transaction.

    @property
    def who(self) -> Person:
        """The signed-in user of an action with a permission."""
        assert self.person is not None  # noqa: S101 - the action has a permission
        return self.person

    @property
    def standing(self) -> Standing:
        """Standing of the review request named in the path."""
        assert self.what is not None  # noqa: S101 - the action is about a request
        return self.what

    @property
    def htmx(self) -> bool:
        """Whether only a part of the page is requested."""
        return self.http.headers.get("hx-request") == "true"

    @property
    def address(self) -> str:
        """Client address by which failed sign-ins are counted."""
        return client_address(self.http, self.context.settings.proxies)

    def may(self, permission: str) -> bool:
        """Return whether the user has a permission; used to show buttons."""
        return self.person is not None and may(self.person, permission, self.what)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Render a template in the language of the browser."""
        lang = preferred_language(self.http.headers.get("accept-language", ""))
        common = {
            "call": self,
            "me": self.person,
            "team": self.context.settings.team,
            "form_token": users.form_token(self.token) if self.token else "",
            "done": SAID.get(self.http.query_params.get("said", ""), ""),
            "path": self.http.url.path,
        }
        return HTMLResponse(SITE.fill(template, lang=lang, **common, **values), status)

    def go(self, path: str, said: str = "") -> Response:
        """Redirect to another page, with the key of a message about the result."""
        target = f"{path}{'&' if '?' in path else '?'}said={quote(said)}" if said else path
        if self.htmx:
            return Response(status_code=204, headers={"HX-Redirect": target})
        return RedirectResponse(target, 303)


Handler = Callable[[Call], Response]


@dataclass(frozen=True, kw_only=True)
class Action:
    """Route with its path, handler and permission."""

    # method, path, handler: HTTP method, path and handler. Paths with ``{request}`` or ``{output}`` concern
    # that object.
    method: str
    path: str
    handler: Handler
    may: str | None  # Permission defined in :mod:`hitoku.review.states`; None for public pages.
    takes_files: bool = False  # Whether the form contains files.
    # Called with the files before the transaction, after the permission check.
    prepare: Callable[[Call], Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class _Number(Convertor[int]):
    """Number in a path, limited to the digits that databases support."""

    regex = f"[0-9]{{1,{MAX_DIGITS}}}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the text."""
        return str(value)


register_url_convertor("number", _Number())


class _Refusal(Exception):  # noqa: N818 - an answer, not an error
    """Response that replaces that of the handler."""

    def __init__(self, response: Response) -> None:
        self.response = response


def route(action: Action, context: Context) -> Route:
    """Return the route of an action."""

    async def endpoint(http: Request) -> Response:
        if action.method == "POST" and not is_same_origin(http):
            return problem(
                context,
                http,
                403,
                "the form was sent from another site",
                "open the page here and send it again",
            )
        form, files = FormData(), {}
        try:
            if action.method == "POST":
                _bound(http, context, action)
                form = await http.form(
                    max_files=1 if action.takes_files else 0,
                    max_fields=MAX_FIELDS,
                    max_part_size=MAX_TEXT_BYTES,
                )
                files = {name: item for name, item in form.multi_items() if isinstance(item, UploadFile)}
            texts = {name: item for name, item in form.multi_items() if isinstance(item, str)}
            return await run_in_threadpool(_answer, action, context, http, texts, files)
        except _Refusal as refusal:
            return refusal.response
        except (OperationalError, OSError) as error:
            # Also during upload: the body is written to a temporary file first.
            return _out_of_order(context, http, error)
        finally:
            await form.close()

    return Route(action.path, endpoint, methods=[action.method], name=action.name)


def _answer(
    action: Action, context: Context, http: Request, form: Mapping[str, str], files: Mapping[str, UploadFile]
) -> Response:
    found = None
    try:
        found, fresh_cookie = _signed_in(context, http)
        person, token = found or (None, "")
        if action.may is not None and person is None:
            return _to_login(http)
        if action.method == "POST" and person is not None:
            sent = form.get("form_token") or http.headers.get("x-form-token", "")
            if not users.same_secret(sent, users.form_token(token)):
                what = "the form is not of this session"
                return problem(context, http, 403, what, "open the page again", found)
        prepared = None
        with reading(context.engine) as connection:
            call = _call(action, context, http, connection, person, token, form, files)
            if action.method == "GET":
                return _keep(action.handler(call), fresh_cookie, context)
            if action.prepare is not None:
                prepared = action.prepare(call)
        with writing(context.engine) as connection:
            call = _call(action, context, http, connection, person, token, form, files)
            call.prepared = prepared
            return _keep(action.handler(call), fresh_cookie, context)
    except _Refusal as refusal:
        return refusal.response
    except HitokuError as error:
        status = 409 if isinstance(error, StateError) else 422
        return problem(context, http, status, error.what, error.fix, found)


def _out_of_order(context: Context, http: Request, error: Exception) -> Response:
    """Respond that the database or disk is unavailable; the transaction was rolled back."""
    LOGGER.error(json.dumps({"out of order": type(error).__name__}))
    what = "the database or the disk does not take anything at the moment: nothing was saved"
    return problem(context, http, 503, what, "try again in a moment, or tell the administrator")


def _call(
    action: Action,
    context: Context,
    http: Request,
    connection: Connection,
    person: Person | None,
    token: str,
    form: Mapping[str, str],
    files: Mapping[str, UploadFile],
) -> Call:
    """Find the objects named in the path, and check the permission."""
    call = Call(
        context=context, http=http, connection=connection, person=person, token=token, form=form, files=files
    )
    known = None if person is None else (person, token)
    number = http.path_params.get("request")
    if "output" in http.path_params:
        call.output = connection.execute(
            sa.select(output, submission.c.request, submission.c.turn)
            .join(submission, submission.c.id == output.c.submission)
            .where(output.c.id == http.path_params["output"])
        ).first()
        number = call.output.request if call.output is not None else 0
    if number is not None:
        call.number = int(number)
        call.what = standing(connection, call.number, context.settings)
        if call.what is None or person is None or not may(person, "see", call.what):
            # 404, not 403: do not reveal whether the request exists.
            raise _Refusal(problem(context, http, 404, NO_PAGE, TO_BEGINNING, known))
    if action.may is not None and (person is None or not may(person, action.may, call.what)):
        what, fix = (
            f"you may not do this: {action.may}",
            "look at the request again: its state may have changed",
        )
        raise _Refusal(problem(context, http, 403, what, fix, known))
    return call


def _signed_in(context: Context, http: Request) -> tuple[tuple[Person, str] | None, str]:
    """Return the user with their token, and a new token for the browser, if any."""
    token = http.cookies.get(COOKIE, "")
    with reading(context.engine) as connection:
        found = users.find_session(connection, token, context.settings) if token else None
    named = _named_by_proxy(context, http)
    if named is not None and (found is None or found[0].login != named):
        with writing(context.engine) as connection:
            person = users.user_by_login(connection, named)
            if person is None:
                return None, ""
            fresh = users.begin_session(connection, person.id)
        return (person, fresh), fresh
    if found is None:
        return None, ""
    person, stale = found
    if stale:
        with writing(context.engine) as connection:
            users.touch_session(connection, token)
    return (person, token), ""


def _named_by_proxy(context: Context, http: Request) -> str | None:
    proxy = context.settings.proxy
    if proxy is None or client_address(http) not in proxy.addresses:
        return None
    return http.headers.get(proxy.header) or None


def _keep(response: Response, token: str, context: Context) -> Response:
    if token:
        remember(response, token, context)
    return response


def remember(response: Response, token: str, context: Context) -> None:
    """Set the session cookie, which scripts cannot read and other sites do not send."""
    response.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=context.settings.https, path="/")


def _bound(http: Request, context: Context, action: Action) -> None:
    """Reject a body that is too long, or without a length, before reading it."""
    most = MAX_TEXT_BYTES + (context.settings.upload_bytes if action.takes_files else 0)
    said = http.headers.get("content-length", "")
    length = whole_number(said, digits=INT64_DIGITS)
    if length is None or length > most:
        what = f"what was sent is larger than {most:_} bytes, or does not say how large it is"
        raise _Refusal(problem(context, http, 413, what, "send less"))


def _to_login(http: Request) -> Response:
    """Redirect to the sign-in page and back, without repeating a submitted form."""
    here, query = http.url.path, http.url.query
    own = http.method == "GET" and "hx-request" not in http.headers
    back = local_path(f"{here}{'?' + query if query else ''}") if own else referring_page(http)
    target = f"/login?next={quote(back, safe='')}"
    if "hx-request" in http.headers:
        return Response(status_code=401, headers={"HX-Redirect": target})
    return RedirectResponse(target, 303)


def whoever_asks(context: Context, http: Request) -> tuple[Person, str] | None:
    """Return the signed-in user and token, for public pages."""
    try:
        return _signed_in(context, http)[0]
    except OperationalError:
        return None


def problem(
    context: Context, http: Request, status: int, what: str, fix: str, found: tuple[Person, str] | None = None
) -> Response:
    """Respond with an error and its fix, as a page or as a notice in the current page.

    Parameters
    ----------
    context, http, status, what, fix
        Request and content of the response.
    found
        Signed-in user and token, for the navigation of the page.
    """
    person, token = found or (None, "")
    call = Call(context=context, http=http, connection=None, person=person, token=token)  # type: ignore[arg-type]
    template = "notice.html" if call.htmx else "problem.html"
    return call.page(template, status=status, what=what, fix=fix, back=referring_page(http))


def field_of(call: Call, name: str, *, most: int = 20_000) -> str:
    """Return a text field of a form; raise ParameterError if it is too long."""
    text = call.form.get(name, "").replace("\r\n", "\n")
    if len(text) > most:
        raise ParameterError(
            "text_too_long",
            "{name} has more than {most:_} characters",
            where=name,
            fix="shorten it",
            name=name,
            most=most,
        )
    return text
