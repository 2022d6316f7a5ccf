"""Security of requests and responses: headers, origins, addresses, and validation of browser input."""

from __future__ import annotations

import ipaddress
import json
import logging
import time
from collections import Counter
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hitoku.web.site import STATIC

# Only files of the site; no frame, no inline script or style, whatever a code of the data may contain.
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
# Pages show confidential cells: they are not cached, and the back button requests them again.
UNCACHED = "no-store"
# Digits of an identifier or a page number: databases count in 32 bits.
MAX_DIGITS = 9


class ResponseMiddleware:
    """Add security headers to every answer, log every request, and count both for metrics.

    Parameters
    ----------
    app
        Wrapped application.
    logger
        Name of the log.
    counts, seconds
        Filled by route: answers by status, and time.
    """

    def __init__(
        self, app: ASGIApp, logger: str, counts: Counter[tuple[str, int]], seconds: Counter[str]
    ) -> None:
        self.app, self.logger = app, logging.getLogger(logger)
        self.counts, self.seconds = counts, seconds

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
                if not scope["path"].startswith(f"{STATIC}/"):
                    wanted["cache-control"] = UNCACHED
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in wanted.items() if k.encode() not in own),
                ]
            await send(message)

        try:
            await self.app(scope, receive, answered)
        finally:
            # The path of the route, not of the request: the log holds no text that a person sent.
            place = getattr(scope.get("route"), "path", "") or "static or unknown"
            spent = time.perf_counter() - begun
            self.counts[f"{scope['method']} {place}", status] += 1
            self.seconds[f"{scope['method']} {place}"] += spent  # type: ignore[assignment]
            self.logger.info(
                json.dumps(
                    {"method": scope["method"], "path": place, "status": status, "ms": round(spent * 1000, 1)}
                )
            )


def is_same_origin(http: Request) -> bool:
    """Return whether a form was sent from a page of this site."""
    origin = http.headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc == http.headers.get("host")
    return http.headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}


def client_address(http: Request, proxies: Collection[str] = ()) -> str:
    """Return the address of the other end of the connection, or the one that a trusted proxy names.

    Parameters
    ----------
    http
        Incoming request.
    proxies
        Addresses of trusted proxies. They append the address of their client to X-Forwarded-For.
    """
    near = http.client.host if http.client else ""
    if near not in proxies:
        return near
    named = http.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        return near


def is_loopback(http: Request) -> bool:
    """Return whether a request came from this machine, not through a proxy."""
    try:
        near = ipaddress.ip_address(client_address(http)).is_loopback
    except ValueError:
        return False
    return near and not any(name in http.headers for name in ("forwarded", "x-forwarded-for"))


def local_path(text: str) -> str:
    """Return a path of this site, or "/" where it leads elsewhere.

    Examples
    --------
    >>> local_path("/requests/3?tab=x"), local_path("//evil.example"), local_path("https://evil.example/")
    ('/requests/3?tab=x', '/', '/')
    """
    parts = urlsplit(text)
    fine = (
        text.startswith("/") and not text.startswith(("//", "/\\")) and not parts.netloc and "\\" not in text
    )
    return text if fine and all(ord(letter) >= 32 for letter in text) else "/"


def referring_page(http: Request) -> str:
    """Return the path of the page from which a request was sent."""
    parts = urlsplit(http.headers.get("hx-current-url") or http.headers.get("referer") or "/")
    return local_path(f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")


def whole_number(text: str, otherwise: Any = None, *, digits: int = MAX_DIGITS) -> Any:
    """Return a number that a browser sent, or ``otherwise`` for other text and for too many digits.

    Examples
    --------
    >>> whole_number("12"), whole_number("-1", 1), whole_number("\N{SUPERSCRIPT TWO}"), whole_number("9" * 99)
    (12, 1, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= digits else otherwise


def page_number(http: Request) -> int:
    """Return the page of a long list that a request wants."""
    return int(whole_number(http.query_params.get("page", ""), 1))
