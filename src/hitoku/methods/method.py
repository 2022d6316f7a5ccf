"""The protocol of methods: a few validated parameters and one verb, traits, and methods written as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hitoku.errors import ParameterError
from hitoku.model import Need, Protection, Table
from hitoku.rules import Rule, from_spec, made

# Called with how much is done and how much there is in all; what is counted is the method's own.
Progress = Callable[[float, float], None]


# Words for the cost of withholding a cell, the same for every method.
COSTS = ("unit", "value", "frequency", "own", "log")


class Promise(StrEnum):
    """What a method answers for; one that declares nothing answers for every interval of the need."""

    INTERVALS = "intervals"
    EXACT_ONLY = "exact only"  # no unsafe cell can be worked out exactly; intervals may be narrow
    ADJUSTED = "adjusted"  # nothing is withheld; unsafe cells are published with other values, sums hold


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties that a method declares about itself, in its class attribute ``traits``.

    Parameters
    ----------
    promise
        What the method answers for.
    scope
        The tables that it treats, in words; it refuses others with a ``ScopeError``. Empty: all.
    secret
        Whether the guarantee holds only while attackers do not know the method.
    adds_cells
        Whether cells may be added to its pattern: not where a pattern must depend on nothing else.
    decides_again
        Whether it decides again with a cell for each disclosed group, by ``with_sums(table, learnt)``.
    may_refuse
        Whether it may refuse a table of its scope that can be protected, because it finds no proof.
    informed
        Whether it must know how unsafe cells are found: parameters ``rules`` and ``width``.
    hypercubes
        Whether its patterns of large cross tables come from hypercubes.
    prices
        Parameters from which the costs of cells follow: ``cost``, and ``power``.
    keeps
        Parameters that name cells that stay published.
    start
        Parameter that takes cells withheld already; empty for a method that cannot extend a pattern.
    width
        Parameter with a least interval width that is promised beside the need.
    """

    promise: Promise = Promise.INTERVALS
    scope: str = ""
    secret: bool = True
    adds_cells: bool = True
    decides_again: bool = False
    may_refuse: bool = False
    informed: bool = False
    hypercubes: bool = False
    prices: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    start: str = ""
    width: str = ""


@runtime_checkable
class Method(Protocol):
    """A way to protect: it looks at a table and its need, and decides what is published.

    A method that differs from the defaults of :class:`Traits` declares them in ``traits``.
    """

    def protect(self, table: Table, need: Need, progress: Progress | None = None) -> Protection:
        """Return a protection under which every unsafe cell is blurred as far as the need asks."""
        ...


def traits_of(method: Any) -> Traits:
    """Return what a method declares about itself; a plug-in that declares nothing has the defaults."""
    declared: Traits = getattr(method, "traits", Traits())
    return declared


def requires_groups(method: Method) -> bool:
    """Return whether a method can be required to keep derivable groups large enough.

    Methods with promises of their own cannot: ``Gauss`` does not promise intervals, ``Adjust`` withholds
    nothing, and ``Blocks`` and ``Randomised`` must not depend on more than they state.

    Examples
    --------
    >>> from hitoku.methods import METHODS
    >>> [name for name, method in METHODS.items() if requires_groups(method())]
    ['auto', 'greedy', 'optimal', 'circulation']
    """
    traits = traits_of(method)
    return traits.promise is Promise.INTERVALS and traits.adds_cells and traits.secret


def promised(method: Any, need: Need) -> Need | None:
    """Return the intervals that a method answers for; None if it answers for none."""
    traits = traits_of(method)
    if traits.promise is Promise.INTERVALS:
        return need
    width = getattr(method, traits.width) if traits.width else None
    if width is None:
        return None
    least = 0.0 if width is True else float(width)
    return replace(need, width=np.where(need.unsafe, np.maximum(need.width, least), need.width))


def informed(method: Method, rules: Sequence[Rule], width: Any) -> Method:
    """Return a method that knows how unsafe cells are found, if it must know.

    Examples
    --------
    >>> from hitoku.methods import Greedy, Randomised
    >>> from hitoku.rules import MinFrequency
    >>> informed(Randomised(), [MinFrequency(5)], 9).width, informed(Greedy(), [MinFrequency(5)], 9)
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
    """Return what an informed method must know, or raise; some tables need no width."""
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


# Words for parameters whose type does not list them; every method understands the same ones.
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
    """Make a method from its name and parameters that were given one by one."""
    method: Method = made(name, given, registry, "method", CHOICES, where=where)
    return method
