"""Protocol of methods: validated parameters and ``protect``; traits; and methods given as specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model import Need, Protection, Table
from hitoku.rules import Rule, build_from_spec, from_spec

# Called with the amount of work done and the total; the unit depends on the method.
Progress = Callable[[float, float], None]


# Names for the cost of suppressing a cell, the same for every method.
COSTS = ("unit", "value", "frequency", "own", "log")


class Promise(StrEnum):
    """Guarantee of a method; one that declares nothing guarantees every interval of the need."""

    INTERVALS = "intervals"
    EXACT_ONLY = "exact only"  # no unsafe cell can be derived exactly; intervals may be narrow
    ADJUSTED = "adjusted"  # nothing is suppressed; unsafe cells get other values, relations hold


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties that a method declares about itself, in its class attribute ``traits``."""

    promise: Promise = Promise.INTERVALS  # Guarantee of the method.
    scope: str = ""  # Tables that it supports, in words; it raises a ``ScopeError`` for others. Empty: all.
    secret: bool = True  # Whether the guarantee holds only while attackers do not know the method.
    # Whether cells may be added to its pattern: not where a pattern must depend on nothing else.
    adds_cells: bool = True
    # Whether it decides again with a cell for each disclosed group, by ``with_sums(table, learnt)``.
    decides_again: bool = False
    # Whether it may raise for a table of its scope that could be protected, because it finds no proof.
    may_refuse: bool = False
    # Whether it must know how unsafe cells are determined: parameters ``rules`` and ``width``.
    informed: bool = False
    hypercubes: bool = False  # Whether its patterns of large cross tables come from hypercubes.
    prices: tuple[str, ...] = ()  # Parameters from which the costs of cells follow: ``cost``, and ``power``.
    keeps: tuple[str, ...] = ()  # Parameters that name cells that stay published.
    # Parameter for cells suppressed already; empty for a method that cannot extend a pattern.
    start: str = ""
    width: str = ""  # Parameter with a minimum interval width that is guaranteed in addition to the need.


@runtime_checkable
class Method(Protocol):
    """A protection method: for a table and its need, it decides what is published.

    A method that differs from the defaults of :class:`Traits` declares them in ``traits``.
    """

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell is protected as the need requires."""
        ...


def traits_of(method: Any) -> Traits:
    """Return the traits that a method declares; a plug-in that declares none has the defaults."""
    declared: Traits = getattr(method, "traits", Traits())
    return declared


def requires_groups(method: Method) -> bool:
    """Return whether a method can be required to keep derivable groups large enough.

    Methods with guarantees of their own cannot: ``Gauss`` does not guarantee intervals, ``Adjust`` suppresses
    nothing, and ``Blocks`` and ``Randomised`` must not depend on more than they state.

    Examples
    --------
    >>> from hitoku.methods import METHODS
    >>> [name for name, method in METHODS.items() if requires_groups(method())]
    ['auto', 'greedy', 'optimal', 'circulation']
    """
    traits = traits_of(method)
    return traits.promise is Promise.INTERVALS and traits.adds_cells and traits.secret


def guaranteed_bounds(method: Any, need: Need) -> Need | None:
    """Return the intervals that a method guarantees, or None if it guarantees none."""
    traits = traits_of(method)
    if traits.promise is Promise.INTERVALS:
        return need
    width = getattr(method, traits.width) if traits.width else None
    if width is None:
        return None
    least = 0.0 if width is True else float(width)
    return replace(need, width=np.where(need.unsafe, np.maximum(need.width, least), need.width))


def with_known_rules(method: Method, rules: Sequence[Rule], width: Any) -> Method:
    """Return a method with the rules and width that it must know, if any.

    Examples
    --------
    >>> from hitoku.methods import Greedy, Randomised
    >>> from hitoku.rules import MinFrequency
    >>> rules = [MinFrequency(5)]
    >>> with_known_rules(Randomised(), rules, 9).width, with_known_rules(Greedy(), rules, 9)
    (9, Greedy())
    """
    if not traits_of(method).informed:
        return method
    found: Any = method
    given = {"rules": rules, "width": width}
    informed_method: Method = replace(
        found, **{name: value for name, value in given.items() if getattr(found, name) is None}
    )
    return informed_method


def rules_and_width(method: Any, *, without_width: bool = False) -> tuple[Sequence[Rule], Any]:
    """Return the rules and width of an informed method, or raise; some tables need no width."""
    if method.rules is None or (method.width is None and not without_width):
        raise ParameterError(
            "method_lacks_rules_and_width",
            "the method must know how unsafe cells are found, and how wide their intervals must be",
            where="{method}, {kind}",
            fix="write {method}(rules=[MinFrequency(5)], width=9), as for assess, or --width 9",
            method=type(method).__name__,
            kind="rules" if method.rules is None else "width",
        )
    return method.rules, method.width


# Names for parameters whose type does not list them, the same for every method.
CHOICES = {"cost": COSTS}


def method_from_spec(spec: str, registry: Mapping[str, type[Method]]) -> Method:
    """Make the method that a spec describes.

    Parameters
    ----------
    spec
        Name of the method, a colon, and parameters as ``name=value`` with commas between them.
    registry
        Methods by name, such as ``METHODS``.

    Examples
    --------
    >>> from hitoku.methods import METHODS
    >>> method_from_spec("greedy:tidy=true,prefer=closing", METHODS)
    Greedy(tidy=True, prefer='closing')
    """
    method: Method = from_spec(spec, registry, "method", CHOICES)
    return method


def method_from_parts(
    name: str, given: Mapping[str, Any], registry: Mapping[str, type[Method]], *, where: str
) -> Method:
    """Make a method from its name and individual parameters."""
    method: Method = build_from_spec(name, given, registry, "method", CHOICES, where=where)
    return method
