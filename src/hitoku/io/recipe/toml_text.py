"""Plain keys and values as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(given: Mapping[str, Any]) -> str:
    r"""Write one line per key; tables within are written inline.

    Examples
    --------
    >>> print(toml_text({"by": ["region"], "width": 9.0, "keep": [{"region": "North"}]}), end="")
    by = ["region"]
    width = 9.0
    keep = [{region = "North"}]
    """
    return "".join(f"{toml_key(name)} = {toml_value(value)}\n" for name, value in given.items())


def toml_key(name: str) -> str:
    """Write a key, in quotes where it must be."""
    return name if BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Write a text, number, truth value, list or table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes what TOML wants escaped, but for the character DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(name)} = {toml_value(v)}" for name, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)
