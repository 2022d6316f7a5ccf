"""On which line of a TOML file a key stands: Python's own reader does not tell.

Only text that Python's reader has accepted is looked at, so nothing is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Path = tuple[str | int, ...]
BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_lines(text: str) -> dict[Path, int]:
    r"""Return the line of every key, every table header, and every entry of a list.

    Keys inside an inline table count with the line of the table.

    Examples
    --------
    >>> key_lines('by = [\n  "region",\n]\n[hierarchies]\nregion = "r.csv"\n')
    {('by',): 1, ('by', 0): 2, ('hierarchies',): 4, ('hierarchies', 'region'): 5}
    """
    lines: dict[Path, int] = {}
    times: dict[Path, int] = {}  # how often each [[header]] has come
    above: Path = ()
    at = 0
    while (at := _skip_blank(text, at)) < len(text):
        line = text.count("\n", 0, at) + 1
        if text[at] == "[":
            repeated = text.startswith("[[", at)
            names, at = _names(text, at + 1 + repeated)
            above = _resolved(names[:-1], times) + names[-1:]
            if repeated:
                lines.setdefault(above, line)
                number = times.get(above, 0)
                times[above] = number + 1
                above = (*above, number)
            lines.setdefault(above, line)
            at = _end_of_line(text, at)
        else:
            names, at = _names(text, at)
            for depth in range(1, len(names) + 1):
                lines.setdefault(above + names[:depth], line)
            at = _skip_value(text, at + 1, above + names, lines)
    return lines


def line_of(path: Sequence[str | int], lines: dict[Path, int]) -> int | None:
    """Return the line of a key, or of the nearest one that holds it."""
    for length in range(len(path), 0, -1):
        if tuple(path[:length]) in lines:
            return lines[tuple(path[:length])]
    return None


def _resolved(names: Path, times: dict[Path, int]) -> Path:
    """Below a [[header]] its last occurrence is meant."""
    path: Path = ()
    for name in names:
        path = (*path, name)
        if path in times:
            path = (*path, times[path] - 1)
    return path


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == "#"):
        at = _end_of_line(text, at) if text[at] == "#" else at + 1
    return at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _names(text: str, at: int) -> tuple[Path, int]:
    """Read a dotted key; return its parts and the position of what follows."""
    names: list[str | int] = []
    while True:
        while text[at] in " \t":
            at += 1
        if text[at] in "\"'":
            end = _skip_string(text, at)
            names.append(text[at + 1 : end - 1])
            at = end
        else:
            bare = BARE.match(text, at)
            names.append(bare[0] if bare else "")
            at = bare.end() if bare else at + 1
        while text[at : at + 1] in {" ", "\t"}:
            at += 1
        if text[at : at + 1] != ".":
            return tuple(names), at
        at += 1


def _skip_string(text: str, at: int) -> int:
    """Return the position after a string, of one line or of many."""
    mark = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    end = at + len(mark)
    while end < len(text) and not text.startswith(mark, end):
        end += 2 if text[end] == "\\" and mark[0] == '"' else 1
    end += len(mark)
    while len(mark) == 3 and text.startswith(mark[0], end):
        end += 1  # the last quotes of a long string may be its own
    return end


def _skip_value(text: str, at: int, path: Path, lines: dict[Path, int]) -> int:
    """Pass over a value, noting the line of every entry where it is a list."""
    depth, entry, wanted = 0, 0, False
    listed = text[_skip_blank(text, at) : _skip_blank(text, at) + 1] == "["
    while at < len(text):
        sign = text[at]
        if sign == "\n" and depth == 0:
            return at
        if wanted and not sign.isspace() and sign not in "#]":
            lines[*path, entry] = text.count("\n", 0, at) + 1
            wanted = False
        if sign in "\"'":
            at = _skip_string(text, at)
            continue
        if sign == "#":
            at = _end_of_line(text, at)
            continue
        if sign in "[{":
            depth += 1
            wanted = wanted or (listed and depth == 1)
        elif sign in "]}":
            depth -= 1
        elif sign == "," and depth == 1 and listed:
            entry += 1
            wanted = True
        at += 1
    return at
