from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike

from hitoku.attacks import ATTACKS
from hitoku.errors import ParameterError, RuleError
from hitoku.methods import METHODS
from hitoku.parameters import Count, Gap, Percent, check_parameters, check_word, real, whole
from hitoku.rules import RULES, from_spec

Size = Literal["small", "large"]
REGISTRIES = {"rule": RULES, "method": METHODS, "attack": ATTACKS}


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
    "codes": [None, {"a": ["b"]}, (("a", "b"),)],
    "mask": [None],
    "size_or_mask": ["small"],
    "function": [None],
    "anything": [],
    "fraction": [],
    "fractions": [],
    "own": [None],
}


def admits(parameter, value, choices=()):
    try:
        check_word(Thing, parameter, value, "word", ParameterError, choices)
    except ParameterError:
        return False
    return True


@pytest.mark.parametrize("parameter", [field.name for field in fields(Thing)])
def test_argument_of_wrong_type_is_rejected(parameter):
    # By how they print: a list takes 0 for False and 1.0 for True.
    admitted = [repr(value) for value in VALUES if admits(parameter, value)]
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
def test_wrong_type_error_names_allowed_types(parameter, value, advice):
    with pytest.raises(ParameterError) as caught:
        check_word(Thing, parameter, value, "word", ParameterError)
    assert caught.value.fix == advice


def test_choices_replace_the_string_type():
    assert admits("name", "unit", ["unit", "value"])
    assert not admits("name", "x", ["unit", "value"])


@dataclass(frozen=True)
class Checked:
    percent: Percent = 10
    n: Count = 1
    gap: Gap | None = None
    flag: bool = False
    size: Size = "small"
    mask: ArrayLike | str = "all"

    def __post_init__(self):
        check_parameters(self)


@pytest.mark.parametrize(
    ("given", "code", "fix"),
    [
        pytest.param({"percent": 0}, "parameter_range", "not 0.1", id="end excluded"),
        pytest.param({"percent": 100.1}, "parameter_range", "not 0.1", id="above"),
        pytest.param({"percent": float("nan")}, "parameter_range", "not 0.1", id="NaN is in no range"),
        pytest.param({"percent": True}, "parameter_range", "not 0.1", id="a truth value is not a number"),
        pytest.param({"percent": np.array([3])}, "parameter_range", "not 0.1", id="an array is not a number"),
        pytest.param({"n": 0}, "parameter_not_whole", "1, 2", id="below"),
        pytest.param({"n": 2.0}, "parameter_not_whole", "1, 2", id="not whole"),
        pytest.param({"gap": 1}, "parameter_range", "share", id="optional"),
        pytest.param({"flag": "false"}, "key_value_not_allowed", "true or false", id="a text is not false"),
        pytest.param({"flag": 1}, "key_value_not_allowed", "true or false", id="one is not true"),
        pytest.param({"size": "lagre"}, "key_value_not_allowed", "'large'", id="word"),
    ],
)
def test_constructor_rejects_value_outside_the_declared_type(given, code, fix):
    with pytest.raises(ParameterError) as caught:
        Checked(**given)
    assert (caught.value.code, caught.value.where) == (code, f"Checked, {next(iter(given))}")
    assert fix in caught.value.fix


def test_error_about_an_array_does_not_show_it():
    with pytest.raises(ParameterError) as caught:
        Checked(size=np.array([1843.2]))
    assert "1843" not in str(caught.value)


def test_constructor_accepts_numbers_of_numpy_and_fractions():
    third = Fraction(1, 3)
    made = Checked(percent=third, n=np.int64(3), gap=np.float64(0.5), flag=np.bool_(True))
    assert (made.percent, made.n, made.gap, bool(made.flag)) == (third, 3, 0.5, True)
    assert made.percent is third, "exact numbers stay exact"


def test_untyped_parameter_is_not_checked():
    mask = np.ones(3)
    assert Checked(mask=mask).mask is mask


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [("(0, 1]", 1, 0), ("[0, 1)", 0, 1), ("(0, inf)", 5, math.inf), ("(0, inf]", math.inf, 0)],
)
def test_brackets_say_whether_ends_belong_to_the_range(interval, inside, outside):
    assert real(interval).func(inside) == inside
    with pytest.raises(ValueError, match="must"):
        real(interval).func(outside)


def test_integer_ranges_are_checked():
    assert whole(2, 4).func(4) == 4
    with pytest.raises(ValueError, match="whole number"):
        whole(2, 4).func(5)


@pytest.mark.parametrize(
    ("kind", "name", "parameter"),
    [
        pytest.param(kind, name, parameter, id=f"{name}-{parameter}")
        for kind, registry in REGISTRIES.items()
        for name, thing in registry.items()
        for parameter in inspect.signature(thing).parameters
    ],
)
def test_impossible_value_is_rejected_by_every_name(kind, name, parameter):
    hint = str(inspect.signature(REGISTRIES[kind][name]).parameters[parameter].annotation)
    impossible = "1.5" if "Mapping" in hint or "Code" in hint else "a/b+c/d"
    with pytest.raises(RuleError if kind == "rule" else ParameterError) as caught:
        from_spec(f"{name}:{parameter}={impossible}", REGISTRIES[kind], kind)
    assert f"{parameter} of {kind} {name}" in caught.value.where
    assert caught.value.fix
