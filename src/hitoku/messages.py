"""Translatable messages: a template, which is looked up in catalogues, and its fields.

A :class:`Text` is a string with the English sentence. The language is chosen where the text is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Self

# Field of a template: name, conversion and format, as in an f-string.
FIELD = re.compile(
    r"\{(?P<name>[A-Za-z_]\w*)(?:!(?P<conversion>[rs]))?(?::(?P<spec>[<>^]?\d*[,_]?(?:\.\d+)?[a-z%]?))?\}"
)


# Keys of a recipe that are not options of a command.
KEYS_ONLY = {"totals", "largest"}


class Text(str):
    """Translatable sentence: an English string that keeps its template and fields.

    Fields can be texts or tuples of texts, which are joined by commas. Braces that name no field are kept.

    Examples
    --------
    >>> text = Text("no column {name!r}; {n:,} others", name="turnver", n=1200)
    >>> text
    "no column 'turnver'; 1,200 others"
    >>> text.template, text.fields["n"]
    ('no column {name!r}; {n:,} others', 1200)
    """

    __slots__ = ("fields", "template")
    template: str
    fields: Mapping[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        """Fill a template with its fields; a text is returned unchanged."""
        if isinstance(template, cls):
            return template
        text = super().__new__(cls, render(template, fields))
        text.template = template
        text.fields = fields
        return text


# Arguments of FileFormat that are one key and option.
SAME_AS = {"zero_missing": ("missing_value", "zero"), "drop_missing": ("missing_value", "drop")}


class Arguments(str):
    """Arguments of a call in Python that a message recommends; recipes and commands write them differently.

    Examples
    --------
    >>> given = Arguments("tabulate", value=..., magnitude="abs")
    >>> given
    'tabulate(..., value=..., magnitude="abs")'
    >>> given.keys, given.options
    ('value = "...", magnitude = "abs"', '--value ..., --magnitude abs')
    """

    __slots__ = ("given",)
    given: Mapping[str, Any]

    def __new__(cls, function: str = "", /, **given: Any) -> Self:
        """Write the arguments, within a call where a function is named."""
        listed = ", ".join(
            f"{name}={'...' if value is ... else json.dumps(value, ensure_ascii=False)}"
            for name, value in given.items()
        )
        text = super().__new__(cls, f"{function}(..., {listed})" if function else listed)
        text.given = given
        return text

    @property
    def keys(self) -> str:
        """The same as keys of a recipe."""
        return ", ".join(_key(name, value) for name, value in self._shown)

    @property
    def options(self) -> str:
        """Arguments as options of a command; keys without an option are unchanged."""
        return ", ".join(
            _key(name, value) if name in KEYS_ONLY else f"--{name.replace('_', '-')} {value}"
            for name, value in self._shown
        )

    @property
    def _shown(self) -> Iterator[tuple[str, Any]]:
        return (
            SAME_AS.get(name, (name, "..." if value is ... else value)) for name, value in self.given.items()
        )


def _key(name: str, value: Any) -> str:
    return f'{name} = ["{value}"]' if name == "largest" else f'{name} = "{value}"'


COMMA = ", "


def render(template: str, fields: Mapping[str, Any], comma: str = COMMA) -> str:
    """Fill the fields of a template; other braces are kept.

    Examples
    --------
    >>> render("{share:.0%} of {name}, not {other}", {"share": 0.25, "name": "R03"})
    '25% of R03, not {other}'
    """

    def fill(found: re.Match[str]) -> str:
        if found["name"] not in fields:
            return found[0]
        value = fields[found["name"]]
        if isinstance(value, tuple):
            value = comma.join(map(str, value))
        if found["conversion"] is not None:
            value = repr(value) if found["conversion"] == "r" else str(value)
        return format(value, found["spec"] or "")

    return FIELD.sub(fill, template)


def translate(text: str, look_up: Callable[[str], str]) -> str:
    """Translate a text and the texts in its fields; other strings are looked up as a whole.

    Examples
    --------
    >>> words = {"{n} of {what}": "{what} {n}個", "cells": "セル"}
    >>> translate(Text("{n} of {what}", n=3, what=Text("cells")), lambda text: words.get(text, text))
    'セル 3個'
    """
    if not isinstance(text, Text):
        return look_up(text)

    def inside(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(inside, value))
        return translate(value, look_up) if isinstance(value, Text) else value

    fields = {name: inside(value) for name, value in text.fields.items()}
    return render(look_up(text.template), fields, look_up(COMMA))


def respell(text: str, write: Callable[[Arguments], str]) -> str:
    """Write the arguments in a message as recipes or commands have them.

    Examples
    --------
    >>> text = Text("use {arguments}", arguments=Arguments("tabulate", magnitude="abs"))
    >>> respell(text, lambda arguments: arguments.options)
    'use --magnitude abs'
    """
    if isinstance(text, Arguments):
        return write(text)
    if not isinstance(text, Text):
        return text
    fields = {
        name: respell(value, write) if isinstance(value, str) else value
        for name, value in text.fields.items()
    }
    return Text(text.template, **fields)


def join(texts: Iterable[str], template: str = "{first}; {second}") -> str:
    """Join texts pairwise, so that each is translated separately; plain strings stay plain.

    Examples
    --------
    >>> join([Text("{n} cells", n=3), "", "no groups"]).template
    '{first}; {second}'
    """
    there = [text for text in texts if text]
    kind = Text if any(isinstance(text, Text) for text in there) else _fill
    return reduce(lambda first, second: kind(template, first=first, second=second), there) if there else ""


def _fill(template: str, /, **fields: Any) -> str:
    return render(template, fields)
