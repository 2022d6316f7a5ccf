"""Replace Sphinx roles in docstrings, ``:func:`hitoku.audit```, by the plain name."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Replace the Sphinx roles of a page."""
    return ROLE.sub("", html)
