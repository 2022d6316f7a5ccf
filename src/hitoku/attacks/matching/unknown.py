"""An attacker who knows the method and the kind of rule, but neither its threshold nor the width.

Section 2.5 of Minami and Abe (2019) assumes that all of it is known. A release restricts the unknown
parameters: no cell below the threshold is published, and no suppressed cell needs more than the widest
interval. The attack is run for every remaining pair; values that none of them allows are ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hitoku.attacks.interval import Interval
from hitoku.attacks.matching.matching import Matching
from hitoku.errors import ParameterError
from hitoku.model import Bounds, Release
from hitoku.rules import MinFrequency
from hitoku.solver.solution import MINUTES

Pair = tuple[int, int]


def possible_parameters(release: Release, rule: MinFrequency) -> list[Pair]:
    """List thresholds and widths that a release of counts does not rule out.

    A threshold is at least two, or nothing would be suppressed (one, if zeros are unsafe), and at most
    the least published count. A width is at least one, and at most the widest interval.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[3, 5], [6, 4]])
    >>> inner = Release.of(table, Protection.withhold(table, table.inner))
    >>> pairs = possible_parameters(inner, MinFrequency(4))
    >>> pairs[0], pairs[-1]
    ((2, 1), (8, 8))
    """
    shown = release.published[~release.withheld]
    counted = shown[shown >= 0] if rule.zeros else shown[shown > 0]
    most = int(counted.min(initial=np.inf)) if len(counted) else 0
    bounds = Interval(work_limit=MINUTES).bounds(release)
    widest = float(np.max(bounds.width[release.withheld], initial=0.0))
    if not np.isfinite(widest):
        raise ParameterError(
            "withheld_cell_unbounded",
            "a withheld cell has no upper bound, so every width is possible",
            where="less_informed",
            fix="publish a total, or give the table known upper bounds",
        )
    least = 1 if rule.zeros else 2
    return [(t, w) for t in range(least, most + 1) for w in range(1, int(widest) + 1)]


def less_informed(
    attack: Matching,
    release: Release,
    pairs: Sequence[Pair] | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Bounds:
    """Return what follows for an attacker who knows neither the threshold nor the width.

    Parameters
    ----------
    attack
        The attack of an attacker who knows more: its method and the kind of its one rule,
        ``MinFrequency``, are used; threshold and width are not.
    release
        Release to attack.
    pairs
        Possible thresholds and widths; default: all that the release allows.
    progress
        Called with the number of pairs done and their total.

    Examples -------- The table of the reference page. An attacker who knows that counts below five are
    suppressed, and the width of nine, knows all four of them exactly; one who does not is left with several
    values.

    >>> from hitoku.methods.optimal import Optimal
    >>> from hitoku.model import Table
    >>> from hitoku.rules import assess
    >>> table = Table.from_array([[3, 12, 9, 14], [8, 2, 11, 21], [15, 9, 4, 8], [12, 16, 8, 1]])
    >>> rules, method = [MinFrequency(5)], Optimal(cost="unit", keep="margins")
    >>> release = Release.of(table, method.protect(table, assess(table, rules, width=9)))
    >>> attack = Matching(method=method, rules=rules, width=9)
    >>> unsafe = table.inner & (table.value < 5)
    >>> attack.bounds(release).width[unsafe], less_informed(attack, release).width[unsafe]
    (array([0., 0., 0., 0.]), array([3., 3., 3., 3.]))
    """
    rule = _rule_of(attack)
    tried = possible_parameters(release, rule) if pairs is None else list(pairs)
    found = [one for one in _each(attack, rule, release, tried, progress) if one is not None]
    if not found:
        raise ParameterError(
            "no_threshold_and_width_fit",
            "no threshold and width lead to this release by this method",
            where="less_informed",
            fix="give the method with which the release was made",
        )
    return Bounds(
        lower=np.min([one.lower for one in found], axis=0),
        upper=np.max([one.upper for one in found], axis=0),
        unknown=np.any([one.unknown for one in found], axis=0),
    )


def _rule_of(attack: Matching) -> MinFrequency:
    first: Any = attack.rules[0] if len(attack.rules) == 1 else None
    if not isinstance(first, MinFrequency):
        raise ParameterError(
            "threshold_unknown",
            "the threshold of one rule is unknown, and it is not MinFrequency alone",
            where="less_informed",
            fix="give an attack with rules=[MinFrequency(...)]",
        )
    return first


def _each(
    attack: Matching,
    rule: MinFrequency,
    release: Release,
    pairs: Sequence[Pair],
    progress: Callable[[float, float], None] | None,
) -> Iterator[Bounds | None]:
    for done, (threshold, width) in enumerate(pairs, start=1):
        informed = replace(attack, rules=[replace(rule, n=threshold)], width=width)
        try:
            yield informed.bounds(release)
        except ParameterError:
            # No table leads to this release with these two.
            yield None
        if progress is not None:
            progress(done, len(pairs))
