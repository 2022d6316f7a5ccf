"""Split parameters that share a description in a docstring, so that each has its own type and default.

An extension of griffe, which reads the source for mkdocstrings; it would give all of them the type of the first.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SHARED = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)+)\n(?P<text>(?: +.*\n?|\n(?= ))+)", re.MULTILINE)


class OwnLines(griffe.Extension):
    """Split shared descriptions."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = SHARED.sub(taken_apart, obj.docstring.value)


def taken_apart(match: re.Match[str]) -> str:
    text = match["text"].rstrip("\n")
    trailing = match["text"][len(text) :]
    return "\n".join(f"{name}\n{text}" for name in match["names"].split(", ")) + trailing
