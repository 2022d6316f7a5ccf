"""Comparison of several methods on one table: cost, protection, and the verdict of the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hitoku.attacks import Interval, derivable_cells
from hitoku.errors import ParameterError
from hitoku.evidence import AdjustedAudit, audit
from hitoku.methods import METHODS, Method, method_from_spec, with_known_rules
from hitoku.metrics import Compared, Comparison, loss, protection_ratio
from hitoku.model import Need, Protection, Release, Table
from hitoku.pipeline.known_method import against_known_method
from hitoku.rules import Rule


def recomputable(table: Table, need: Need) -> int:
    """Count the unsafe cells that can be derived by arithmetic without secondary suppression."""
    naive = Release.of(table, Protection.withhold(table, need.unsafe, need))
    return int(np.count_nonzero(derivable_cells(naive) & need.unsafe))


def compare(
    table: Table,
    need: Need,
    methods: Sequence[Method | str] | Mapping[str, Method | str],
    *,
    rules: Sequence[Rule] | None = None,
    width: Any = None,
    groups: bool = True,
) -> Comparison:
    """Protect the same table with several methods, and audit and attack each result.

    Parameters
    ----------
    table, need
        Table, and its requirements.
    methods
        The methods, or specs such as "greedy:tidy=true" as in recipes; or either by a custom name.
    rules, width, groups
        As passed to :func:`hitoku.assess`. If given, every method is also tested against an attacker who
        knows it: ``known`` is "proved", "leaks 3 cells", or "unknown" with the number of cells shown safe.
        This runs the methods many times. Without rules, ``known`` is "not asked".

    Returns
    -------
    Comparison
        One row for each method, with cost, protection and verdict.

    Raises
    ------
    ParameterError
        If there is no method.
    NeedError
        If a method cannot protect a cell.

    Examples
    --------
    >>> from hitoku.methods.gauss import Gauss
    >>> from hitoku.methods.greedy import Greedy
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> need = Need(unsafe=table.value == 3, width=9)
    >>> compare(table, need, methods=[Greedy(tidy=True), Gauss()])
    Comparison(greedy: 4 withheld, safe; gauss: 4 withheld, safe)
    >>> compare(table, need, methods=["greedy:tidy=true"])
    Comparison(greedy: 4 withheld, safe)
    >>> from hitoku.rules import MinFrequency
    >>> rules, methods = [MinFrequency(5)], ["optimal:keep=margins"]
    >>> [row.known for row in compare(table, need, methods, rules=rules, width=9)]
    ['proved']
    """
    if not methods or isinstance(methods, str):
        raise ParameterError(
            "no_methods_to_compare",
            "no methods to compare",
            where="compare",
            fix="give a list of at least one",
        )
    specs = methods.values() if isinstance(methods, Mapping) else methods
    given = [method_from_spec(one, METHODS) if isinstance(one, str) else one for one in specs]
    if rules is not None:
        given = [with_known_rules(one, rules, width) for one in given]
    protections = [method.protect(table, need) for method in given]
    names = list(methods) if isinstance(methods, Mapping) else _names(given, protections)
    known = ["not asked"] * len(given)
    if rules is not None:
        known = [
            str(against_known_method(table, need, protection, method, rules, width, groups=groups))
            for method, protection in zip(given, protections, strict=True)
        ]
    rows = (_row(*each, table, need) for each in zip(names, protections, known, strict=True))
    return Comparison(tuple(rows), table.backend)


def _names(methods: Sequence[Method], protections: Sequence[Protection]) -> list[str]:
    """Name methods by their short name, or in full if that is ambiguous."""
    short = [protection.method for protection in protections]
    return [
        name if short.count(name) == 1 else repr(method) for name, method in zip(short, methods, strict=True)
    ]


def _row(name: str, protection: Protection, known: str, table: Table, need: Need) -> Compared:
    release, withheld = Release.of(table, protection), protection.withheld
    found = audit(table, need, release)
    cost = float(np.abs(table.value[withheld]).sum()) + loss(table, protection).distance
    size = float(np.abs(table.value).sum())
    if isinstance(found, AdjustedAudit):
        held = found.reached
    else:
        held = protection_ratio(table, need, Interval().bounds(release))
    return Compared(
        method=name,
        withheld=int(withheld.sum()),
        secondary=int(protection.secondary.sum()),
        cost=cost,
        lost=cost / size if size else 0.0,
        reached=float(np.median(held)) if len(held) else np.inf,
        least=float(held.min(initial=np.inf)),
        proven=protection.proven,
        safe=found.safe,
        recomputable=found.summary["recomputable"],
        known=known,
    )
