from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal

import pytest
from numpy.typing import ArrayLike

from hitoku.attacks import ATTACKS
from hitoku.errors import ParameterError
from hitoku.methods import METHODS
from hitoku.rules import WordType, from_word

Size = Literal["small", "large"]
REGISTRIES = {"method": METHODS, "attack": ATTACKS}


@dataclass(frozen=True)
class Thing:
    truth: bool = False
    whole: int = 0
    number: float = 0.0
    limit: int | None = None
    name: str = ""
    size: Size | None = None
    names: tuple[str, ...] | str = ()
    codes: Mapping[str, Sequence[Any]] | None = None
    mask: ArrayLike | None = None
    size_or_mask: Size | ArrayLike = "small"
    function: Callable[[int], int] | None = None
    anything: Any = None
    fraction: Fraction = Fraction(1)
    fractions: tuple[Fraction, ...] = ()
    own: Thing | None = None


VALUES = (
    True,
    0,
    1.5,
    None,
    "x",
    "small",
    ("a", "b"),
    ["a", "b"],
    {"a": ["b"]},
    (("a", "b"),),
    b"x",
)
ADMITTED = {
    "truth": [True],
    "whole": [0],
    "number": [0, 1.5],
    "limit": [0, None],
    "name": ["x", "small"],
    "size": [None, "small"],
    "names": ["x", "small", ("a", "b"), ["a", "b"]],
    "codes": [None, {"a": ["b"]}],
    "mask": [None],
    "size_or_mask": ["small"],
    "function": [None],
    "anything": [],
    "fraction": [],
    "fractions": [],
    "own": [None],
}


@pytest.mark.parametrize("parameter", [field.name for field in fields(Thing)])
def test_a_value_of_another_type_is_refused(parameter):
    allowed = WordType.of(Thing, parameter)
    # By how they print: a list takes 0 for False and 1.0 for True.
    admitted = [repr(value) for value in VALUES if allowed.admits(value)]
    assert admitted == [repr(value) for value in VALUES if repr(value) in map(repr, ADMITTED[parameter])]


@pytest.mark.parametrize(
    ("parameter", "value", "advice"),
    [
        ("truth", 1, "allowed: true or false"),
        ("limit", "x", "allowed: a whole number, none"),
        ("size", "lrage", "did you mean 'large'? allowed: small, large, none"),
        ("names", 3, "allowed: words joined by +, a word"),
        ("codes", "x", "allowed: codes as variable/code, joined by +, none"),
        ("mask", "x", "allowed: none"),
        ("fraction", 1, "it can only be given in Python"),
    ],
)
def test_the_advice_lists_what_is_allowed(parameter, value, advice):
    assert WordType.of(Thing, parameter).advice(value) == advice


def test_choices_replace_any_word():
    allowed = WordType.of(Thing, "name", ["unit", "value"])
    assert allowed.admits("unit")
    assert not allowed.admits("x")


@pytest.mark.parametrize(
    ("kind", "name", "parameter"),
    [
        pytest.param(kind, name, parameter, id=f"{name}-{parameter}")
        for kind, registry in REGISTRIES.items()
        for name, thing in registry.items()
        for parameter in inspect.signature(thing).parameters
    ],
)
def test_a_value_that_no_parameter_can_have_is_refused_by_every_registered_name(kind, name, parameter):
    hint = str(inspect.signature(REGISTRIES[kind][name]).parameters[parameter].annotation)
    impossible = "1.5" if "Mapping" in hint else "a/b+c/d"
    with pytest.raises(ParameterError, match=f"{parameter} of {kind} {name} cannot be") as caught:
        from_word(f"{name}:{parameter}={impossible}", REGISTRIES[kind], kind)
    assert caught.value.fix
