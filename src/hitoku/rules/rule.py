"""Protocol of primary rules, and specifications of rules, methods and attacks as one string.

``p_percent:p=10,n=2`` is written on command lines and in recipes. The name is followed by its parameters.
Several names are joined by ``+``, a code is given with its variable as ``variable/code``. Names that contain
these signs can be given in a recipe, as a table, or in Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, cast, runtime_checkable

from hitoku.errors import HitokuError, ParameterError, RuleError, did_you_mean, some
from hitoku.messages import Text
from hitoku.model import Need, Table
from hitoku.parameters import Percent, check_parameters, check_word, declared_of, real

# "holding" uses holdings where they are known and units elsewhere; "unit" uses units.
Level = Literal["holding", "unit"]
# A protection range in percent of the cell value; above 100 is allowed.
Range = Annotated[
    float, real("(0, inf)", "give percent of the cell value, such as 20; None leaves the range to assess")
]


@runtime_checkable
class Rule(Protocol):
    """A primary rule: for a table, it determines the unsafe cells and their protection levels.

    A rule may have three optional attributes. ``name``: its name in reports, default its class
    name. ``yields_to_width``: if true, its levels are a suggestion, and a ``width`` passed to
    :func:`hitoku.rules.assess` replaces them; otherwise both apply. ``n`` and ``counted(table)``: the rule
    requires n units, and this is the number in each cell; then no group that can be derived from published
    cells may have fewer, either (:mod:`hitoku.rules.group_size`).
    """

    def assess(self, table: Table) -> Need:
        """Return the cells that this rule flags, and their levels."""
        ...


def check_rule(rule: Any) -> None:
    """Check the parameters of a new rule against their types."""
    check_parameters(rule, f"rule {rule.name}", RuleError)


# Names of rules in τ-ARGUS, sdcTable and GaussSuppression, with hitoku's names.
OTHER_NAMES = {
    "nk": "dominance",
    "p": "p_percent",
    "p%": "p_percent",
    "pq": "prior_posterior",
    "minfreq": "min_frequency",
}
CONSTANTS = {"true": True, "false": False, "none": None}
Kind = Literal["rule", "method", "attack"]


def rule_from_spec(spec: str, registry: Mapping[str, type[Rule]]) -> Rule:
    """Make the rule that a spec describes.

    Parameters
    ----------
    spec
        Name of the rule, a colon, and parameters as ``name=value`` with commas between them.
    registry
        Rules by name, such as ``RULES``.

    Examples
    --------
    >>> from hitoku.rules import RULES
    >>> rule_from_spec("p_percent:p=10", RULES)
    PPercent(p=10, n=1, level='holding', at_limit='safe')
    >>> rule_from_spec("direct_disclosure:k=2,sensitive=injury,unknown=injury/Unknown", RULES).unknown
    (('injury', 'Unknown'),)
    """
    rule: Rule = from_spec(spec, registry, "rule")
    return rule


def from_spec(
    spec: str,
    registry: Mapping[str, type[Any]],
    kind: Kind,
    choices: Mapping[str, Sequence[str]] | None = None,
    supplied: Mapping[str, Callable[[], Any]] | None = None,
) -> Any:
    """Make the object that a spec describes, of any kind that has a registry.

    Parameters
    ----------
    spec, registry
        As in :func:`rule_from_spec`.
    kind
        Name of the kind in messages.
    choices
        Words that are allowed for a parameter whose type does not list them.
    supplied
        Functions that make further parameters; called if the class has such a parameter and the spec does
        not.
    """
    name, given = parse_spec(spec, kind, registry)
    return build_from_spec(name, given, registry, kind, choices, supplied, where=f"spec {spec!r}")


def parse_spec(
    spec: str, kind: Kind, registry: Mapping[str, type[Any]] | None = None
) -> tuple[str, dict[str, Any]]:
    """Split a spec into a name and its parameters.

    Examples
    --------
    >>> parse_spec("optimal:cost=value,time_limit_s=60", "method")
    ('optimal', {'cost': 'value', 'time_limit_s': 60})
    """
    name, _, listed = (part.strip() for part in spec.partition(":"))
    given: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        parameter, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or not text or parameter in given:
            last = next(reversed(given), "")
            meant = OTHER_NAMES.get(name, name)
            known = inspect.signature(registry[meant]).parameters if registry and meant in registry else ()
            example = next((each for each in known if each not in given), last or "name")
            raise _error(kind)(
                "parameter_without_value",
                "{entry!r} is not a parameter with its value, or is given twice",
                where="spec {spec!r}",
                fix="write numbers with a decimal point: {name}:{last}={number}.{entry}"
                if entry.isdigit() and last
                else "write {name}:{parameter}=..., with commas between parameters",
                entry=entry,
                spec=spec,
                name=meant,
                parameter=parameter if equals else example,
                last=last,
                number=given.get(last),
            )
        given[parameter] = _value(text)
    return name, given


def build_from_spec(
    name: str,
    given: Mapping[str, Any],
    registry: Mapping[str, type[Any]],
    kind: Kind,
    choices: Mapping[str, Sequence[str]] | None = None,
    supplied: Mapping[str, Callable[[], Any]] | None = None,
    *,
    where: str = "",
) -> Any:
    """Make a registered object from its name and parameters; see :func:`from_spec`."""
    error = _error(kind)
    if kind == "rule":
        name = OTHER_NAMES.get(name, name)
    if name not in registry:
        raise error(
            "unknown_name",
            "no {kind} {name!r}",
            where=where,
            fix=did_you_mean(name, registry),
            kind=Text(kind),
            name=name,
        )
    thing = registry[name]
    known = inspect.signature(thing).parameters
    for parameter, value in given.items():
        if parameter not in known:
            otherwise = (
                Text("it has: {names}", names=some(known, 12))
                if known
                else Text("{name} has no parameters", name=name)
            )
            raise error(
                "unknown_parameter",
                "{kind} {name} has no parameter {parameter!r}",
                where=where,
                fix=did_you_mean(parameter, known, otherwise=otherwise),
                kind=Text(kind),
                name=name,
                parameter=parameter,
            )
        about = Text("{parameter} of {kind} {name}", parameter=parameter, kind=Text(kind), name=name)
        place = ", ".join(filter(None, (where, about)))
        if Percent in declared_of(cast("Any", thing))[parameter].members:
            value = _percent(value, f"{name}:{parameter}", place, error)  # noqa: PLW2901 - 10 for "10%"
        meant = check_word(thing, parameter, value, place, error, (choices or {}).get(parameter, ()))
        given = {**given, parameter: meant}
    if name == "few_contributors" and given.get("n") == 1:
        raise error(
            "rule_never_applies",
            "{rule}:n=1 finds no unsafe cell: every cell with records has at least one",
            where=where,
            fix="write {rule}:n=3, or another number from 2 on",
            rule=name,
        )
    more = {p: make() for p, make in (supplied or {}).items() if p in known and p not in given}
    every = {**given, **more}
    missing = [p.name for p in known.values() if p.default is p.empty and p.name not in every]
    if missing:
        raise error(
            "parameter_missing",
            "{kind} {name} needs {parameters}",
            where=where,
            fix="write {name}:{example}",
            kind=Text(kind),
            name=name,
            parameters=" and ".join(missing),
            example=",".join(f"{parameter}=..." for parameter in missing),
        )
    try:
        return thing(**every)
    except HitokuError as own:
        place = ", ".join(filter(None, (where, own.where)))
        raise own.copy_as(where=place) from own


def _percent(given: Any, parameter: str, where: str, kind: type[HitokuError]) -> Any:
    """Return a percentage; one below 1 must have a percent sign, because a fraction was probably meant."""
    text = str(given)
    if text.endswith("%"):
        return _value(text.removesuffix("%").strip())
    if isinstance(given, float) and 0 < given < 1:
        raise kind(
            "percentage_below_one",
            "{parameter}={given} means {given} percent",
            where=where,
            fix="did you mean {parameter}={percent}? If not, write {parameter}={given}%",
            parameter=parameter,
            given=given,
            percent=f"{100 * given:g}",
        )
    return given


def _error(kind: Kind) -> type[HitokuError]:
    return RuleError if kind == "rule" else ParameterError


def _value(text: str) -> Any:
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if "/" in text:
        return tuple(tuple(pair.split("/", maxsplit=1)) for pair in text.split("+"))
    return tuple(text.split("+")) if "+" in text else text
