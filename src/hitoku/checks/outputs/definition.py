"""The definition of an output in a submission: the parameters of its type, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from hitoku.checks.evidence import read_checked, refuse
from hitoku.checks.outputs import OUTPUT_TYPES
from hitoku.checks.outputs.output_type import OutputType
from hitoku.errors import did_you_mean


def write_definition(asked: OutputType[Any]) -> dict[str, Any]:
    """Return the parameters of an output type as plain values that JSON can hold."""
    found = {name: getattr(asked, name) for name in _written(type(asked))}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def read_definition(kind: str, definition: Mapping[str, Any], where: str) -> OutputType[Any]:
    """Make the output type of an output again; a parameter it does not have, or of another kind, is refused.

    Parameters
    ----------
    kind
        A key of ``OUTPUT_TYPES``.
    definition
        What :func:`write_definition` wrote.
    where
        The output, for the message.
    """
    if kind not in OUTPUT_TYPES:
        raise refuse(f"there is no output type {kind!r}", where, "definition")
    known = _written(OUTPUT_TYPES[kind])
    for name in definition:
        if name not in known:
            raise refuse(f"no parameter {name!r}, {did_you_mean(str(name), known)}", where, "definition")
    # Through JSON: a list stands for a tuple there, and nothing else stands for anything else.
    text = json.dumps(dict(definition))
    adapter = _adapter(OUTPUT_TYPES[kind])  # type: ignore[arg-type] # mypy: a class is not hashable
    made: OutputType[Any] = read_checked(
        lambda: adapter.validate_json(text, strict=True), where, "definition"
    )
    return made


@cache
def _adapter(kind: type[OutputType[Any]]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _written(kind: type[OutputType[Any]]) -> list[str]:
    return [each.name for each in fields(kind) if each.metadata.get("written", True)]  # type: ignore[arg-type]
