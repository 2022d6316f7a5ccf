"""Docstrings name other things as Sphinx does, ``:func:`hitoku.audit```; on a page the name alone is enough."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Drop what only Sphinx understands."""
    return ROLE.sub("", html)
