"""Remove the options of fences that only the tests use: ``python no-run`` is shown as Python."""

from __future__ import annotations

import re
from typing import Any

NO_RUN = re.compile(r"^( *`{3,}python) no-run$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Keep only the language of each fence."""
    return NO_RUN.sub(r"\1", markdown)
