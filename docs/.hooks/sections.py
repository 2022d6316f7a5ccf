"""Order of sections and pages. Pages that are not listed follow those that are."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

ORDER = {
    "Tutorial": ["first-release", "signed-release", "first-release.ja"],
    "How to": [
        "choose-a-method",
        "the-two-folders",
        "build-a-table",
        "protect-a-frequency-table",
        "protect-a-magnitude-table",
        "recipes",
        "publications",
        "large-data",
        "compare-methods",
        "publish",
        "read-the-report",
        "check-outputs",
        "tour-of-the-review-application",
        "run-the-review-application",
        "come-from-tau-argus",
        "come-from-sdctable",
        "come-from-gausssuppression",
        "come-from-acro",
    ],
    "Reference": ["cli", "rules", "methods", "attacks", "evidence", "outputs", "policies", "files", "python"],
    "Explanation": [
        "verdict",
        "what-hitoku-does-not-promise",
        "intervals",
        "feasibility",
        "certificates",
        "direct_disclosure",
        "zeros",
        "singletons",
        "differencing",
        "limits",
        "tabulation",
        "glossary",
        "glossary.ja",
    ],
}
TITLES = {"How to": "How-to guides"}


def on_nav(nav: Any, **_: Any) -> Any:
    """Sort the sections after the front page, and the pages of each section."""
    sections = list(ORDER)
    nav.items.sort(key=lambda item: sections.index(item.title) if item.title in sections else -1)
    for section in nav.items:
        named = ORDER.get(section.title, [])
        if section.children:
            section.children.sort(key=lambda item, named=named: place(name_of(item), named))
        for item in [section, *(section.children or [])]:
            # Titles of pages come from their headings and are not known yet.
            if item.is_section:
                item.title = TITLES.get(item.title, item.title)
    return nav


def name_of(item: Any) -> str:
    """Return the name of a page's file or of a section's folder."""
    return PurePosixPath(item.file.src_uri).stem if item.is_page else item.title.lower()


def place(name: str, named: list[str]) -> tuple[int, str]:
    return (named.index(name) if name in named else len(named), name)
