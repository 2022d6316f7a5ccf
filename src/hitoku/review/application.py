"""The application: all actions in one list, and what surrounds them."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hitoku.review.desk import Desk
from hitoku.review.oidc import Provider
from hitoku.review.pages import administration, entrance, leaving, outputs, policies, queue, requests
from hitoku.review.web import NO_PAGE, TO_BEGINNING, Action, problem, route, static_folder, whoever_asks
from hitoku.review.worker import Worker

LOGGER = logging.getLogger("hitoku.review")

ACTIONS: tuple[Action, ...] = (
    *entrance.ACTIONS,
    *queue.ACTIONS,
    *requests.ACTIONS,
    *outputs.ACTIONS,
    *leaving.ACTIONS,
    *policies.ACTIONS,
    *administration.ACTIONS,
)

# Nothing but our own files; no frame, no inline script or style, whatever a code of the data may contain.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Pages show confidential cells: no cache keeps them, and the back button asks again.
UNCACHED = "no-store"


class Surroundings:
    """Headers for every answer, a line in the log for every request, and the numbers for metrics."""

    def __init__(self, app: ASGIApp, counts: Counter[tuple[str, int]], seconds: Counter[str]) -> None:
        self.app, self.counts, self.seconds = app, counts, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                wanted = dict(HEADERS)
                if not scope["path"].startswith("/static/"):
                    wanted["cache-control"] = UNCACHED
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in wanted.items() if k.encode() not in own),
                ]
            await send(message)

        try:
            await self.app(scope, receive, answered)
        finally:
            # The path as it is written in the list, not as it was asked for: no word of a person in the log.
            place = getattr(scope.get("route"), "path", "") or "static or unknown"
            spent = time.perf_counter() - begun
            self.counts[f"{scope['method']} {place}", status] += 1
            self.seconds[f"{scope['method']} {place}"] += spent  # type: ignore[assignment]
            LOGGER.info(
                json.dumps(
                    {"method": scope["method"], "path": place, "status": status, "ms": round(spent * 1000, 1)}
                )
            )


def make_app(desk: Desk, *, work: bool = True) -> Starlette:
    """Make the application.

    Parameters
    ----------
    desk
        What it works on.
    work
        Also begin a worker; without one, checks wait.
    """
    worker = Worker(desk)
    counts: Counter[tuple[str, int]] = Counter()
    seconds: Counter[str] = Counter()

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        if work:
            worker.start()
        yield
        worker.stop()
        desk.engine.dispose()

    async def missing(http: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        what = NO_PAGE if status == 404 else "this cannot be done here"
        found = await run_in_threadpool(whoever_asks, desk, http)
        return problem(desk, http, status, what, TO_BEGINNING, found)

    async def broken(http: Request, _error: Exception) -> Response:
        # The traceback goes to the log of the server, without local variables; the page says nothing of it.
        return problem(
            desk,
            http,
            500,
            "something went wrong on our side; nothing was half done",
            "try again, or tell the administrator",
        )

    async def bad_form(http: Request, _error: Exception) -> Response:
        return problem(desk, http, 400, "the form cannot be read", "open the page again")

    app = Starlette(
        routes=[
            *(route(action, desk) for action in ACTIONS),
            Mount("/static", StaticFiles(directory=static_folder())),
        ],
        middleware=[
            Middleware(Surroundings, counts=counts, seconds=seconds),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(desk.settings.hosts)),
        ],
        exception_handlers={400: bad_form, HTTPException: missing, 500: broken},
        lifespan=life,
    )
    app.state.desk, app.state.worker = desk, worker
    app.state.provider = None if desk.settings.oidc is None else Provider(desk.settings.oidc)
    app.state.counts, app.state.seconds = counts, seconds
    return app


def numbers_of(app: Any) -> tuple[Counter[tuple[str, int]], Counter[str]]:
    """Return what was counted so far: answers by route and status, seconds by route."""
    return app.state.counts, app.state.seconds
