"""The search of a site that is opened from a folder needs a small script; the theme would fetch it from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.utils import get_relative_url

ELSEWHERE = re.compile(r"https://[^\"'\s>]+/iframe-worker/shim")
OURS = "assets/worker.js"


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Name our own script instead."""
    return ELSEWHERE.sub(get_relative_url(OURS, page.url), output)


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same for the page that says that there is no such page."""
    return ELSEWHERE.sub(OURS, output_content)
