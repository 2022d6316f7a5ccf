"""Parts that web applications share: pages with their styles and scripts, and the security of requests.

An application has a folder with ``templates`` and ``static`` and makes a :class:`~hitoku.web.pages.Site` of
it. Its ``page.html`` extends ``base.html``, which loads scripts of the site alone. Templates and static files
of this package lie behind those of the application, which can replace one by another of the same name.
"""

from __future__ import annotations

from hitoku.web.pages import Site
from hitoku.web.security import (
    ResponseMiddleware,
    client_address,
    is_loopback,
    is_same_origin,
    local_path,
    page_number,
    referring_page,
    whole_number,
)

__all__ = [
    "ResponseMiddleware",
    "Site",
    "client_address",
    "is_loopback",
    "is_same_origin",
    "local_path",
    "page_number",
    "referring_page",
    "whole_number",
]
