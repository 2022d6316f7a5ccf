"""Use a local copy of the script that the offline search needs, instead of the theme's remote one."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.utils import get_relative_url

ELSEWHERE = re.compile(r"https://[^\"'\s>]+/iframe-worker/shim")
OURS = "assets/worker.js"


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Replace the address of the script."""
    return ELSEWHERE.sub(get_relative_url(OURS, page.url), output)


def on_post_template(output_content: str, **_: Any) -> str:
    """Replace it on the 404 page, too."""
    return ELSEWHERE.sub(OURS, output_content)
