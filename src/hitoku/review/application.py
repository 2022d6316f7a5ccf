"""The application: list of all actions, middleware and error pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response

from hitoku.review.actions import NO_PAGE, TO_BEGINNING, Action, problem, route, whoever_asks
from hitoku.review.context import Context
from hitoku.review.oidc import Provider
from hitoku.review.pages import administration, outputs, released_outputs, requests, sign_in
from hitoku.review.rendering import SITE
from hitoku.review.worker import Worker
from hitoku.web import ResponseMiddleware

ACTIONS: tuple[Action, ...] = (
    *sign_in.ACTIONS,
    *requests.ACTIONS,
    *outputs.ACTIONS,
    *released_outputs.ACTIONS,
    *administration.ACTIONS,
)


def make_app(context: Context, *, work: bool = True) -> Starlette:
    """Create the ASGI application.

    Parameters
    ----------
    context
        Context of the application.
    work
        Whether to start a worker; without one, checks stay pending.
    """
    worker = Worker(context)
    counts: Counter[tuple[str, int]] = Counter()
    seconds: Counter[str] = Counter()

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        if work:
            worker.start()
        yield
        worker.stop()
        context.engine.dispose()

    async def missing(http: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        what = NO_PAGE if status == 404 else "this cannot be done here"
        found = await run_in_threadpool(whoever_asks, context, http)
        return problem(context, http, status, what, TO_BEGINNING, found)

    async def broken(http: Request, _error: Exception) -> Response:
        # The traceback is logged without local variables; the page does not show it.
        return problem(
            context,
            http,
            500,
            "something went wrong on our side; nothing was half done",
            "try again, or tell the administrator",
        )

    async def bad_form(http: Request, _error: Exception) -> Response:
        return problem(context, http, 400, "the form cannot be read", "open the page again")

    app = Starlette(
        routes=[
            *(route(action, context) for action in ACTIONS),
            SITE.static_files(),
        ],
        middleware=[
            Middleware(ResponseMiddleware, logger="hitoku.review", counts=counts, seconds=seconds),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(context.settings.hosts)),
        ],
        exception_handlers={400: bad_form, HTTPException: missing, 500: broken},
        lifespan=life,
    )
    app.state.context, app.state.worker = context, worker
    app.state.provider = None if context.settings.oidc is None else Provider(context.settings.oidc)
    app.state.counts, app.state.seconds = counts, seconds
    return app
