"""Where a key of a recipe was given, in a file or on the command line; errors that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from hitoku.errors import HitokuError, ParameterError, did_you_mean
from hitoku.io.advice import spoken
from hitoku.io.recipe.keys import CostKeys, CountsKeys, LinkedKeys, RecipeKeys, Refused
from hitoku.io.recipe.lines import Path, line_of

# Options whose name is not that of their key.
OPTIONS = {
    "rules": "--rule",
    "formats": "--format",
    "hierarchies": "--hierarchy",
    "data": "DATA",
    "cells": "DATA",
}

# The keys that a key holds, where it holds some.
WITHIN: dict[str, type[BaseModel]] = {"tables": LinkedKeys, "counts": CountsKeys, "costs": CostKeys}

# What each kind of wrong value should have been; the words are pydantic's.
WANTED = {
    "string_type": ("a text", 'write it in quotes: "..."'),
    "list_type": ("a list", 'write it in brackets: ["...", "..."]'),
    "dict_type": ("a table", 'write it in braces: {name = "..."}'),
    "model_type": ("a table", "begin it with [[tables]] on a line of its own"),
    "int_type": ("a whole number", "write it without quotes and decimals"),
    "float_type": ("a number", "write it without quotes"),
    "string_pattern_mismatch": ("a name for files", "use letters, digits, _ and - only"),
    "finite_number": ("a finite number", "leave the key out if nothing is asked"),
}


# What to write for a key, whatever was wrong with it.
ADVICE = {"decimals": "2 keeps cents; leave the key out to keep values as they are"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where keys were given.

    Parameters
    ----------
    name
        Name of the file; empty when keys came as options of a command.
    lines
        Line of every key.
    """

    name: str = ""
    lines: Mapping[Path, int] = field(default_factory=dict)

    def place(self, path: Sequence[str | int]) -> str:
        """Name a key for a person.

        Examples
        --------
        >>> Origin("recipe.toml", {("rules",): 7}).place(("rules", 1))
        'recipe.toml, line 7, key rules, entry 2'
        >>> Origin().place(("rules", 1))
        '--rule'
        """
        if not self.name:
            first = str(path[0]) if path else ""
            return OPTIONS.get(first, f"--{first.replace('_', '-')}")
        line = line_of(path, dict(self.lines))
        words = [f"entry {part + 1}" if isinstance(part, int) else part for part in path]
        if words:
            words[0] = f"key {words[0]}"
        return ", ".join([self.name, *([f"line {line}"] if line else []), *words])

    def error(self, path: Sequence[str | int], what: str, fix: str) -> ParameterError:
        """Make an error about a key."""
        return ParameterError(what, where=self.place(path), fix=fix)

    def spoken(self, advice: str) -> str:
        """Say advice that names arguments of Python as the caller would write it."""
        return spoken(advice, recipe=bool(self.name))

    def blamed(self, error: HitokuError, path: Sequence[str | int]) -> HitokuError:
        """Add to an error which key it comes from."""
        place = self.place(path)
        where = f"{place}; {error.where}" if error.where and error.where != place else place
        return type(error)(error.what, where=where, fix=self.spoken(error.fix))


def translate(error: ValidationError, given: Any, origin: Origin) -> ParameterError:
    """Turn the first complaint of pydantic into an error of ours.

    Parameters
    ----------
    error
        What pydantic raised.
    given
        What it was given.
    origin
        Where that was given.
    """
    # A misspelt key explains a missing one, so it is told first.
    complaints = sorted(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    found = complaints[0]
    path = _within(given, found["loc"])
    last = str(path[-1]) if path else "recipe"
    if found["type"] == "extra_forbidden":
        known = WITHIN.get(str(path[0]), RecipeKeys) if len(path) > 1 else RecipeKeys
        fix = did_you_mean(last, known.model_fields)
        if known is not RecipeKeys and last in RecipeKeys.model_fields:
            fix = f"move it above the first line in brackets: below one, keys belong to {path[0]}"
        return origin.error(path, f"no key {last!r}", fix)
    if found["type"] == "missing":
        name = str(found["loc"][-1])
        return origin.error(path, f"key {name!r} is missing", f"add {name} = ...")
    refused = found.get("ctx", {}).get("error")
    if isinstance(refused, Refused):
        return origin.error(path, refused.what, refused.fix)
    if found["type"] == "literal_error":
        words = [word.strip("' ") for word in str(found["ctx"]["expected"]).replace(" or ", ", ").split(",")]
        near = did_you_mean(str(found["input"]), words, otherwise="").partition("use one of")[0]
        return origin.error(
            path, f"{last} cannot be {found['input']!r}", f"{near} use {' or '.join(words)}".strip()
        )
    wanted, fix = WANTED.get(found["type"], ("", ""))
    if wanted:
        return origin.error(path, f"{last} must be {wanted}", ADVICE.get(last, fix))
    why = found["msg"]
    what = f"{last} cannot be used: {why[:1].lower()}{why[1:]}"
    bounds = found.get("ctx", {})
    if "le" in bounds:
        what = f"{last} must be at most {bounds['le']}"
    if "ge" in bounds:
        what = f"{last} must be at least {bounds['ge']}"
    return origin.error(path, what, ADVICE.get(last, "correct the value"))


def _within(given: Any, loc: Sequence[str | int]) -> Path:
    """Take the part of a location that exists in what was given."""
    path: list[str | int] = []
    for part in loc:
        try:
            given = given[part]
        except (KeyError, IndexError, TypeError):
            break
        path.append(part)
    return tuple(path)
