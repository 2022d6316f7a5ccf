"""What a word may give for a parameter: read off the type hints, checked by pydantic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from hitoku.errors import did_you_mean

# Types that a word can have, and what to call them.
PLAIN: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    NoneType: "none",
}
# Strict: "3" is no number, 1 is not true, true is not 1.
STRICT = ConfigDict(strict=True)


@dataclass(frozen=True, slots=True)
class WordType:
    """The alternatives of a parameter's type that a word, or a value of a recipe, can have.

    Parameters
    ----------
    members
        Plain types, ``Literal``, and containers of these. Masks, functions and objects are left out: they can
        only be given in Python.

    Examples
    --------
    >>> from hitoku.methods.optimal import Optimal
    >>> allowed = WordType.of(Optimal, "time_limit_s")
    >>> allowed.admits(60), allowed.admits("soon"), allowed.text
    (True, False, 'a number, none')
    >>> WordType.of(Optimal, "cost", ["unit", "value"]).advice("vlaue")
    "did you mean 'value'? allowed: unit, value"
    """

    members: tuple[Any, ...]

    @classmethod
    def of(cls, thing: type[Any], parameter: str, choices: Sequence[str] = ()) -> WordType:
        """Read the type of a parameter; ``choices`` are its words where the type says ``str`` and no more."""
        # numpy's ArrayLike has str among its alternatives; an array is meant.
        hints = get_type_hints(thing.__init__, localns={"ArrayLike": np.ndarray})
        found = [member for member in _alternatives(hints.get(parameter, Any)) if _has_words(member)]
        if choices:
            found = [Literal[tuple(choices)], *found]
        if any(get_origin(member) is Literal for member in found):
            found = [member for member in found if member is not str]
        return cls(tuple(found))

    @property
    def by_variable(self) -> bool:
        """Whether codes are given together with their variables."""
        return any(_is(member, Mapping) for member in self.members)

    @property
    def words(self) -> list[str]:
        """The words to choose from, where they are listed."""
        return [word for member in self.members if get_origin(member) is Literal for word in get_args(member)]

    @property
    def text(self) -> str:
        """What is allowed, in words; empty when nothing is."""
        others = [_called(member) for member in self.members if get_origin(member) is not Literal]
        return ", ".join([*self.words, *others])

    def admits(self, value: Any) -> bool:
        """Whether a value has one of the types."""
        if not self.members:
            return False
        # A list of a recipe is as good as what a + joins on the command line.
        given = tuple(value) if isinstance(value, list) else value
        try:
            TypeAdapter(reduce(or_, self.members), config=STRICT).validate_python(given)
        except ValidationError:
            return False
        return True

    def advice(self, value: Any) -> str:
        """Say what to write instead of a value that is not admitted."""
        if not self.members:
            return "it can only be given in Python"
        near = did_you_mean(str(value), self.words, otherwise=" ").strip()
        return f"{near} allowed: {self.text}".strip()


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in {Union, UnionType}:
        return tuple(inner for member in get_args(hint) for inner in _alternatives(member))
    return (hint,)


def _has_words(hint: Any, *, inside: bool = False) -> bool:
    """Whether a word can be of this type; inside a container, anything goes where nothing is said."""
    if hint in PLAIN or get_origin(hint) is Literal:
        return True
    if inside and hint in {Any, ...}:
        return True
    if _is(hint, Mapping) or _is(hint, Sequence):
        arguments = [part for argument in get_args(hint) for part in _alternatives(argument)]
        return bool(arguments) and all(_has_words(part, inside=True) for part in arguments)
    return False


def _is(hint: Any, kind: type[Any]) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, kind)


def _called(member: Any) -> str:
    if member in PLAIN:
        return PLAIN[member]
    return "codes as variable/code, joined by +" if _is(member, Mapping) else "words joined by +"
