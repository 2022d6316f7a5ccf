"""JSON written piece by piece, without holding the whole text in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

# Number of numbers, codes or short records written in one piece.
AT_ONCE = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A list whose items are generated while it is written; it can be iterated repeatedly."""

    items: Callable[[], Iterator[Any]]
    """Called for a fresh pass over the items."""
    at_once: int = AT_ONCE
    """Number of items written in one piece: one, if items are large."""

    def __iter__(self) -> Iterator[Any]:
        return self.items()


def pieces(content: Mapping[str, Any]) -> Iterator[bytes]:
    """Write a record like ``json.dumps`` with sorted names and without spaces, piece by piece.

    Examples
    --------
    >>> b"".join(pieces({"b": Stream(lambda: iter(range(3))), "a": None}))
    b'{"a":null,"b":[0,1,2]}'
    """
    begin = "{"
    for name in sorted(content):
        part = content[name]
        begin += f"{_plain(name)}:"
        if not isinstance(part, Stream):
            yield f"{begin}{_plain(part)}".encode()
        else:
            yield f"{begin}[".encode()
            yield from _listed(part)
            yield b"]"
        begin = ","
    yield b"{}" if begin == "{" else b"}"


def _listed(stream: Stream) -> Iterator[bytes]:
    items, between = iter(stream), ""
    while part := list(islice(items, stream.at_once)):
        yield f"{between}{_plain(part)[1:-1]}".encode()
        between = ","


def _plain(thing: Any) -> str:
    return json.dumps(thing, sort_keys=True, separators=(",", ":"))
