"""Order of the sections: learn, do, look up, understand."""

from __future__ import annotations

from typing import Any

ORDER = ("Tutorial", "How to", "Reference", "Explanation")
TITLES = {"How to": "How-to guides"}


def on_nav(nav: Any, **_: Any) -> Any:
    """Put the front page first, then the sections in their order."""
    nav.items.sort(key=lambda item: ORDER.index(item.title) if item.title in ORDER else -1)
    for item in nav.items:
        if item.title in TITLES:
            item.title = TITLES[item.title]
    return nav
