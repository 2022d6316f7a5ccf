"""Parameter types with range, unit and advice, declared once.

``p: Percent`` is checked by the constructor (:func:`check_parameters`), by the word form ``p_percent:p=10``
(:func:`check_word`), and by the pydantic models of recipes, policies and settings, because the types are
annotations that pydantic reads. The advice for other values is read off the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, reduce
from numbers import Integral, Real
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from hitoku.errors import HitokuError, ParameterError, did_you_mean, nearest
from hitoku.messages import Text

# Codes of errors about numbers.
NUMBERS = {"parameter_not_whole", "parameter_not_positive", "parameter_too_small", "parameter_range"}
# Types of values in specification strings, with their names.
PLAIN: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    NoneType: "none",
}
# Strict: "3" is not a number, 1 is not true, true is not 1.
STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


class Refused(ValueError):  # noqa: N818 - pydantic catches it
    """Error for an invalid value, with the fix."""

    def __init__(self, code: str, template: str, fix: str, /, **fields: Any) -> None:
        self.code, self.template, self.fix, self.fields = code, template, fix, fields
        super().__init__(template)

    def error(self, kind: type[HitokuError], name: str, where: str) -> HitokuError:
        """Return the error for a named parameter."""
        return kind(self.code, self.template, where=where, fix=self.fix, **{"name": name} | self.fields)


def real(interval: str, fix: str = "give a number in {interval}") -> BeforeValidator:
    """Return a validator that requires a real number in a range, including numpy numbers and fractions.

    Parameters
    ----------
    interval
        Range, such as "(0, 100]": round brackets exclude an end, square ones include it.
    fix
        Fix; ``{name}`` is the parameter.

    Examples
    --------
    >>> real("(0, 1]").func(0.5)
    0.5
    """

    def read(given: Any) -> float:
        if isinstance(given, Real) and not isinstance(given, bool) and _within(interval, given):
            return float(given)
        if interval.startswith("(0, inf"):
            raise Refused(
                "parameter_not_positive",
                "{name} must be a positive number, got {given!r}",
                fix,
                given=show_value(given),
            )
        if "inf" in interval:
            raise Refused(
                "parameter_too_small",
                "{name} must be a number, at least {least}, got {given!r}",
                fix,
                least=interval[1:].partition(",")[0],
                given=show_value(given),
            )
        raise Refused(
            "parameter_range",
            "{name} must lie in {interval}, got {given!r}",
            fix,
            interval=interval,
            given=show_value(given),
        )

    return BeforeValidator(read)


def whole(least: int, most: int | None = None, fix: str = "") -> BeforeValidator:
    """Return a validator that requires an integer in a range, ends included.

    Examples
    --------
    >>> whole(1).func(np.int64(3))
    3
    """

    def read(given: Any) -> int:
        if isinstance(given, Integral) and not isinstance(given, bool):
            number = int(given)
            if least <= number and (most is None or number <= most):
                return number
        raise Refused(
            "parameter_not_whole",
            "{name} must be a whole number, {range}, got {given!r}",
            fix or "give {name} as {least}, {next}, ...",
            range=Text("at least {least}", least=least)
            if most is None
            else Text("from {least} to {most}", least=least, most=most),
            least=least,
            next=least + 1,
            given=show_value(given),
        )

    return BeforeValidator(read)


def one_of(known: Iterable[str], pattern: str = "") -> BeforeValidator:
    r"""Return a validator that requires one of several words, or a text that a pattern matches.

    Examples
    --------
    >>> one_of(["gini", "hhi"], r"cr\d").func("cr4")
    'cr4'
    """
    words = tuple(known)

    def read(given: Any) -> str:
        if isinstance(given, str) and (given in words or (pattern and re.fullmatch(pattern, given))):
            return given
        raise Refused(
            "word_not_allowed",
            "{name} cannot be {given!r}",
            did_you_mean(given, words),
            given=show_value(given),
        )

    return BeforeValidator(read)


def _within(interval: str, number: Real) -> bool:
    """Return whether a number is in a range; False for NaN."""
    low, high = map(float, interval[1:-1].split(","))
    value = float(number)
    above = value >= low if interval[0] == "[" else value > low
    return above and (value <= high if interval[-1] == "]" else value < high)


def _names(given: Any) -> tuple[str, ...]:
    """Validate one name or several different ones."""
    names = (given,) if isinstance(given, str) else given
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(one, str) and one for one in names)
        or len(set(names)) != len(names)
    ):
        raise Refused(
            "variables_parameter_invalid",
            "{name} must name one variable or several different ones, got {given!r}",
            'write {name}="status" or {name}=("status", "income")',
            given=show_value(given),
        )
    return tuple(names)


def codes_of(given: Any) -> tuple[tuple[str, str], ...]:
    """Validate codes by variable, or pairs (variable, code); return pairs."""
    # A text would be iterated by letters; None raises instead.
    entries: Any = (
        given.items() if isinstance(given, Mapping) else [None] if isinstance(given, str) else given
    )
    pairs: dict[tuple[str, str], None] = {}
    try:
        for variable, codes in entries:
            for code in (codes,) if isinstance(codes, str) else tuple(codes):
                pairs[str(variable), str(code)] = None
    except (TypeError, ValueError):
        raise Refused(
            "codes_parameter_invalid",
            "{name} must say which code of which variable",
            'write {name}={"injury": "Unknown"}',
        ) from None
    return tuple(pairs)


def sets_of(given: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Validate sets of codes by variable; return pairs (variable, codes)."""
    try:
        if isinstance(given, Mapping):
            given = [(variable, codes) for variable, sets in given.items() for codes in sets]
        return tuple(
            (str(variable), (codes,) if isinstance(codes, str) else tuple(str(code) for code in codes))
            for variable, codes in given
        )
    except (TypeError, ValueError) as error:
        raise Refused(
            "forbidden_sets_invalid",
            "{name} must list sets of codes by variable",
            'write {name}={"injury": [("Light", "Serious")]}',
        ) from error


Percent = Annotated[float, real("(0, 100]", "give {name} in percent: 10 for ten percent, not 0.1")]
Share = Annotated[float, real("(0, 1]", "give {name} as a fraction: 0.9 for ninety percent")]
Gap = Annotated[float, real("[0, 1)", "give a share: 0.01 for one percent")]
Positive = Annotated[float, real("(0, inf)", "give a number above zero")]
AtLeastZero = Annotated[float, real("[0, inf)", "give a number that is not negative")]
# Limit on time in seconds, or on work in numbers processed.
Limit = Annotated[float, real("(0, inf]", "leave it out for no limit")]
LimitOrZero = Annotated[float, real("[0, inf]", "leave it out for no limit")]
# Decimals of published numbers: doubles have 15 significant digits.
Decimals = Annotated[int, whole(-15, 15, "pass 2 for hundredths, -3 for thousands, or None for all digits")]
Whole = Annotated[int, whole(0)]
Count = Annotated[int, whole(1)]
# Stored as a tuple.
Names = Annotated[tuple[str, ...] | str, BeforeValidator(_names)]
Codes = Annotated[tuple[tuple[str, str], ...] | Mapping[str, Any], BeforeValidator(codes_of)]
CodeSets = Annotated[tuple[tuple[str, tuple[str, ...]], ...] | Mapping[str, Any], BeforeValidator(sets_of)]


def as_names(given: Names) -> tuple[str, ...]:
    """Return names as a tuple, for type checkers: validated parameters are tuples already.

    Examples
    --------
    >>> as_names("status")
    ('status',)
    """
    return (given,) if isinstance(given, str) else given


def check_parameters(thing: Any, where: str = "", kind: type[HitokuError] = ParameterError) -> None:
    """Check the parameters of a frozen dataclass against their types; called by ``__post_init__``.

    Parameters whose types cannot be checked, such as arrays and objects, are left to their users.

    Parameters
    ----------
    thing
        New object.
    where
        Location in errors, before the parameter. Default: name of the class.
    kind
        Class of the error.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Range:
    ...     percent: Percent
    ...     def __post_init__(self):
    ...         check_parameters(self)
    >>> Range(0)
    Traceback (most recent call last):
        ...
    hitoku.errors.ParameterError: percent must lie in (0, 100], got 0
      where: Range, percent
      fix: give percent in percent: 10 for ten percent, not 0.1
    """
    for name, declared in declared_of(thing.__class__).items():
        given = getattr(thing, name)
        if declared.adapter is None and isinstance(given, str) and declared.words:
            declared = declared.in_words()  # noqa: PLW2901 - a word, where an array or an object is allowed, too
        taken = declared.take(given, name, f"{where or type(thing).__name__}, {name}", kind)
        if isinstance(taken, tuple) and taken is not given:
            object.__setattr__(thing, name, taken)


def check_word(
    thing: Any, name: str, given: Any, where: str, kind: type[HitokuError], choices: Sequence[str] = ()
) -> Any:
    """Return a parameter value given by a specification string or recipe, checked against its type.

    Only plain values can be given this way: no arrays, functions and objects. ``choices`` are the allowed
    texts of a parameter of type ``str``. Pairs (variable, code) are grouped by variable if codes are
    required.
    """
    declared = declared_of(thing)[name].in_words(tuple(choices))
    if not declared.members:
        raise kind(
            "only_in_python",
            "{key} cannot be given here",
            where=where,
            fix="it can only be given in Python",
            key=name,
        )
    meant = given
    if any(_is(member, Mapping) for member in declared.members) and isinstance(given, tuple):
        meant = by_variable(given)
    # A list in a recipe equals values joined by + on the command line.
    declared.take(tuple(meant) if isinstance(meant, list) else meant, name, where, kind)
    return meant


def by_variable(pairs: tuple[Any, ...]) -> Any:
    """Group pairs (variable, code) by variable; other values are returned unchanged."""
    if not all(isinstance(pair, tuple) for pair in pairs):
        return pairs
    codes: dict[str, list[str]] = {}
    for variable, code in pairs:
        codes.setdefault(variable, []).append(code)
    return codes


@dataclass(frozen=True, slots=True)
class Declared:
    """Type of a parameter, as its alternatives.

    Examples
    --------
    >>> from hitoku.methods.optimal import Optimal
    >>> declared_of(Optimal)["time_limit_s"].text
    'a number, none'
    """

    members: tuple[Any, ...]
    adapter: TypeAdapter[Any] | None

    @classmethod
    def of(cls, members: Sequence[Any]) -> Declared:
        """Combine alternatives; without an adapter if one cannot be checked."""
        listed = tuple(members)
        if not listed or not all(_has_words(member) for member in listed):
            return cls(listed, None)
        return cls(listed, TypeAdapter(reduce(or_, listed) if len(listed) > 1 else listed[0], config=STRICT))

    def in_words(self, choices: tuple[str, ...] = ()) -> Declared:
        """Return the alternatives that a text can express."""
        return _in_words(self.members, choices)

    @property
    def words(self) -> list[str]:
        """Allowed texts, if they are listed."""
        return [word for member in self.members if get_origin(member) is Literal for word in get_args(member)]

    @property
    def text(self) -> str:
        """Description of allowed values; empty if there are none."""
        others = [_describe_type(member) for member in self.members if get_origin(member) is not Literal]
        return ", ".join(dict.fromkeys([*self.words, *others]))

    def take(self, given: Any, name: str, where: str, kind: type[HitokuError]) -> Any:
        """Return the converted value; raise an error if it is invalid."""
        if self.adapter is None:
            return given
        plain = given.item() if isinstance(given, np.generic) else given
        try:
            return self.adapter.validate_python(plain)
        except ValidationError as error:
            refused = next(refusals(error), None)
        if refused is not None:
            raise refused.error(kind, name, where)
        near = nearest(given, self.words) if isinstance(given, str) else ""
        raise kind(
            "key_value_not_allowed",
            "{key} cannot be {value!r}",
            where=where,
            fix=Text("{near} allowed: {allowed}", near=near, allowed=self.text)
            if near
            else "allowed: {allowed}",
            key=name,
            value=show_value(given),
            allowed=self.text,
        )


def refusals(error: ValidationError) -> Iterator[Refused]:
    """Yield the errors of the types defined here among those of pydantic."""
    for found in error.errors():
        refused = found.get("ctx", {}).get("error")
        if isinstance(refused, Refused):
            yield refused


@cache
def declared_of(thing: Any) -> dict[str, Declared]:
    """Return the type of every parameter of a class."""
    # Inherited fields use the types of the module that declares them.
    # numpy's ArrayLike includes str, but an array is required.
    hints = get_type_hints(
        thing if is_dataclass(thing) else thing.__init__,
        localns={"ArrayLike": np.ndarray},
        include_extras=True,
    )
    return {
        name: Declared.of(_alternatives(hints[name]))
        for name in thing.__init__.__annotations__
        if name not in {"self", "return"}
    }


@cache
def _in_words(members: tuple[Any, ...], choices: tuple[str, ...]) -> Declared:
    found = [member for member in members if _has_words(member)]
    if choices:
        found = [Literal[choices], *found]
    if any(get_origin(member) is Literal for member in found):
        found = [member for member in found if member is not str]
    return Declared.of(found)


def shown_parameters(thing: Any) -> str:
    """Return a repr with the parameters that differ from their defaults; arrays are named, not shown.

    Examples
    --------
    >>> from hitoku.methods.greedy import Greedy
    >>> shown_parameters(Greedy(tidy=True, keep=np.ones(4, dtype=bool)))
    'Greedy(keep=<given>, tidy=True)'
    """
    words = []
    for field in fields(thing):
        given = getattr(thing, field.name)
        plain = given is None or isinstance(given, str | int | float | tuple)
        default: Any = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        if field.repr and not (plain and type(given) is type(default) and given == default):
            words.append(f"{field.name}={given!r}" if plain else f"{field.name}=<given>")
    return f"{type(thing).__name__}({', '.join(words)})"


def show_value(given: Any) -> Any:
    """Return the part of a value that an error may show: a plain value, or the name of its type."""
    if given is None or isinstance(given, str | Real):
        return given
    if isinstance(given, tuple) and all(isinstance(one, str | tuple) for one in given):
        return given
    return Text("<{kind}>", kind=type(given).__name__)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in {Union, UnionType}:
        return tuple(inner for member in get_args(hint) for inner in _alternatives(member))
    return (hint,)


def _has_words(hint: Any, *, inside: bool = False) -> bool:
    """Return whether a text can express this type; inside a container, undeclared types are accepted."""
    if get_origin(hint) is Annotated:
        return True
    if hint in PLAIN or get_origin(hint) is Literal:
        return True
    if inside and hint in {Any, ...}:
        return True
    if _is(hint, Mapping) or _is(hint, Sequence):
        arguments = [part for argument in get_args(hint) for part in _alternatives(argument)]
        return bool(arguments) and all(_has_words(part, inside=True) for part in arguments)
    return False


def _is(hint: Any, kind: type[Any]) -> bool:
    if get_origin(hint) is Annotated:
        return any(_is(member, kind) for member in _alternatives(get_args(hint)[0]))
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, kind)


def _describe_type(member: Any) -> str:
    if get_origin(member) is Annotated:
        return ", ".join(_describe_type(inner) for inner in _alternatives(get_args(member)[0]))
    if member in PLAIN:
        return PLAIN[member]
    return "codes as variable/code, joined by +" if _is(member, Mapping) else "words joined by +"
