"""TOML files written by users: load, locate keys, translate pydantic errors, write.

Recipes, policies and settings are read in two steps: :func:`load_toml`, and :func:`validate_keys` with a
pydantic model, whose errors name the file, the line and the key. Python's parser does not report the lines of
keys, so :func:`key_lines` scans text that it has accepted, without checking it again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from hitoku.errors import DataError, HitokuError, ParameterError, did_you_mean, nearest
from hitoku.messages import Text, join
from hitoku.parameters import NUMBERS, Refused

KeyPath = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
BARE = re.compile(r"[A-Za-z0-9_-]+")

# Expected value and fix by error type of pydantic.
WANTED = {
    "string_type": ("a text", 'write it in quotes: "..."'),
    "list_type": ("a list", 'write it in brackets: ["...", "..."]'),
    "tuple_type": ("a list", 'write it in brackets: ["...", "..."]'),
    "dict_type": ("a table", 'write it in braces: {name = "..."}'),
    "model_type": ("a table", "begin it with a line in brackets: [[tables]]"),
    "int_type": ("a whole number", "write it without quotes and decimals"),
    "float_type": ("a number", "write it without quotes"),
    "bool_type": ("true or false", "write it without quotes"),
    "string_pattern_mismatch": ("a name for files", "use letters, digits, _ and - only"),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of keys: a file, or options of a command."""

    name: str = ""  # Name of the file; empty if keys came as options of a command.
    lines: Mapping[KeyPath, int] = field(default_factory=dict)  # Line of every key.
    # Command options whose name differs from their key.
    options: Mapping[str, str] = field(default_factory=dict)

    def place(self, path: Sequence[str | int]) -> str:
        """Return the displayed location of a key.

        Examples
        --------
        >>> Origin("recipe.toml", {("rules",): 7}).place(("rules", 1))
        'recipe.toml, line 7, key rules, entry 2'
        >>> Origin(options={"rules": "--rule"}).place(("rules", 1))
        '--rule'
        """
        if not self.name:
            first = str(path[0]) if path else ""
            return self.options.get(first, f"--{first.replace('_', '-')}")
        line = line_of(path, dict(self.lines))
        named = [Text("key {key}", key=path[0])] if path else []
        words = [Text("entry {n}", n=part + 1) if isinstance(part, int) else part for part in path[1:]]
        rest = join([Text("line {line}", line=line) if line else "", *named, *words], "{first}, {second}")
        return Text("{file}, {rest}" if rest else "{file}", file=self.name, rest=rest)

    def names(self, error: HitokuError) -> bool:
        """Return whether the location of an error is a key of this file already."""
        return bool(self.name) and error.where.fields.get("file") == self.name

    def error(
        self, path: Sequence[str | int], code: str, template: str, fix: str, /, **fields: Any
    ) -> ParameterError:
        """Return an error about a key."""
        return ParameterError(code, template, where=self.place(path), fix=fix, **fields)


def load_toml(text: str, name: str, what: str = "") -> tuple[dict[str, Any], Origin]:
    """Parse a TOML text; return its keys and their origin.

    Parameters
    ----------
    text
        TOML text.
    name
        Name of the file, used in errors.
    what
        Type of the file, such as "recipe".

    Examples
    --------
    >>> given, origin = load_toml("width = 9", "recipe.toml")
    >>> given, origin.place(("width",))
    ({'width': 9}, 'recipe.toml, line 1, key width')
    """
    try:
        return tomllib.loads(text), Origin(name, key_lines(text))
    except tomllib.TOMLDecodeError as error:
        # Python's message ends with the location.
        problem, _, place = str(error).rstrip(")").partition(" (at ")
        found = re.match(r"line (\d+)", place)
        raise DataError(
            "not_toml",
            "{named} is not TOML: {problem}",
            where="{file}, {line}",
            fix='a line reads key = value; texts stand in quotes, lists in brackets: by = ["region", "size"]',
            named=f"the {what} {name!r}" if what else repr(name),
            problem=problem[:1].lower() + problem[1:],
            file=name,
            line=Text("line {line}", line=found[1])
            if found
            else Text("line {line}, the last", line=text.rstrip().count("\n") + 1),
        ) from None


def validate_keys(
    model: type[Model],
    given: Any,
    origin: Origin,
    *,
    otherwise: str = "correct the value",
) -> Model:
    """Validate keys; the first error of pydantic becomes an error that names the key.

    Parameters
    ----------
    model
        Model of the keys.
    given, origin
        Keys, and their origin.
    otherwise
        Default fix.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        # A misspelt key is reported before a missing one, because it may explain it.
        found: Any = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    path = _within(given, found["loc"])
    last = str(path[-1]) if path else "file"
    if found["type"] == "extra_forbidden":
        known = _model_at(model, path)
        fix = did_you_mean(last, known.model_fields)
        if known is not model and last in model.model_fields:
            fix = f"move it above the first line in brackets: below one, keys belong to {path[0]}"
        raise origin.error(path, "unknown_key", "no key {key!r}", fix, key=last)
    if found["type"] == "missing":
        name = str(found["loc"][-1])
        is_section = _model_at(model, [*found["loc"], ""]) is not _model_at(model, found["loc"])
        fix = f"add a section [{name}]" if is_section else f"add {name} = ..."
        raise origin.error(path, "key_missing", "key {key!r} is missing", fix, key=name)
    refused = found.get("ctx", {}).get("error")
    if isinstance(refused, Refused):
        wrong = refused.error(ParameterError, last, origin.place(path))
        quoted = refused.code in NUMBERS and isinstance(found["input"], str)
        raise wrong.copy_as(fix=WANTED["float_type"][1]) if quoted else wrong
    if found["type"] in {"literal_error", "enum"}:
        words = [word.strip("' ") for word in str(found["ctx"]["expected"]).replace(" or ", ", ").split(",")]
        raise origin.error(
            path,
            "key_value_not_allowed",
            "{key} cannot be {value!r}",
            join(
                [
                    nearest(found["input"], words),
                    Text("use {names}", names=join(words, "{first} or {second}")),
                ],
                "{first} {second}",
            ),
            key=last,
            value=found["input"],
        )
    wanted, fix = WANTED.get(found["type"], ("", ""))
    if wanted:
        raise origin.error(path, "key_wrong_type", "{key} must be {wanted}", fix, key=last, wanted=wanted)
    why = f"{found['msg'][:1].lower()}{found['msg'][1:]}"
    raise origin.error(
        path, "key_unusable", "{key} cannot be used: {problem}", otherwise, key=last, problem=why
    )


def _within(given: Any, loc: Sequence[str | int]) -> KeyPath:
    """Return the part of a location that exists in the given keys."""
    path: list[str | int] = []
    for part in loc:
        try:
            given = given[part]
        except (KeyError, IndexError, TypeError):
            break
        path.append(part)
    return tuple(path)


def _model_at(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """Return the model that a key belongs to: that of the file, or of a table in it."""
    for part in path[:-1]:
        if isinstance(part, int) or part not in model.model_fields:
            continue
        kinds = [model.model_fields[part].annotation]
        for kind in kinds:
            kinds += get_args(kind)
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        model = inner[0] if inner else model
    return model


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""Return the line of every key, every table header, and every entry of a list.

    Keys inside an inline table count with the line of the table.

    Examples
    --------
    >>> key_lines('by = [\n  "region",\n]\n[hierarchies]\nregion = "r.csv"\n')
    {('by',): 1, ('by', 0): 2, ('hierarchies',): 4, ('hierarchies', 'region'): 5}
    """
    lines: dict[KeyPath, int] = {}
    times: dict[KeyPath, int] = {}  # occurrences of each [[header]]
    above: KeyPath = ()
    at = 0
    while (at := _skip_blank(text, at)) < len(text):
        line = text.count("\n", 0, at) + 1
        if text[at] == "[":
            repeated = text.startswith("[[", at)
            names, at = _names(text, at + 1 + repeated)
            above = _resolve_path(names[:-1], times) + names[-1:]
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


def line_of(path: Sequence[str | int], lines: dict[KeyPath, int]) -> int | None:
    """Return the line of a key, or of the nearest one that contains it."""
    for length in range(len(path), 0, -1):
        if tuple(path[:length]) in lines:
            return lines[tuple(path[:length])]
    return None


def _resolve_path(names: KeyPath, times: dict[KeyPath, int]) -> KeyPath:
    """Return the path below the last occurrence of each [[header]]."""
    path: KeyPath = ()
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


def _names(text: str, at: int) -> tuple[KeyPath, int]:
    """Parse a dotted key; return its parts and the next position."""
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
    """Return the position after a string, single-line or multi-line."""
    mark = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    end = at + len(mark)
    while end < len(text) and not text.startswith(mark, end):
        end += 2 if text[end] == "\\" and mark[0] == '"' else 1
    end += len(mark)
    while len(mark) == 3 and text.startswith(mark[0], end):
        end += 1  # a multi-line string may end with quotes of its own
    return end


def _skip_value(text: str, at: int, path: KeyPath, lines: dict[KeyPath, int]) -> int:
    """Skip a value, and record the line of every entry of a list."""
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


def toml_text(given: Mapping[str, Any]) -> str:
    r"""Return TOML with one line per key; nested tables are inline.

    Examples
    --------
    >>> print(toml_text({"by": ["region"], "width": 9.0, "keep": [{"region": "North"}]}), end="")
    by = ["region"]
    width = 9.0
    keep = [{region = "North"}]
    """
    return "".join(f"{toml_key(name)} = {toml_value(value)}\n" for name, value in given.items())


def toml_key(name: str) -> str:
    """Return a key, quoted if necessary."""
    return name if BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a text, number, boolean, list or table as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes everything that TOML requires, except DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(name)} = {toml_value(v)}" for name, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)
