"""Comparison of what an attack infers with the requirements of the unsafe cells of the true table.

Attacks receive a release only and do not decide; here the true values are known.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from hitoku.attacks import Attack, Insider
from hitoku.coalitions import CoalitionSearch
from hitoku.messages import Text
from hitoku.metrics import errors
from hitoku.model import Bounds, Estimates, Finding, Need, Release, Severity, Table


@singledispatch
def judge_attack(attack: Attack, table: Table, need: Need, release: Release) -> list[Finding]:
    """Run an attack on a release; return its own findings, and the unsafe cells to which it comes too close.

    Parameters
    ----------
    attack
        The attack.
    table, need
        True values, and the required protection of each unsafe cell.
    release
        The release under attack.

    Examples
    --------
    >>> from hitoku.attacks import Interval
    >>> from hitoku.model import Protection
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> need = Need(unsafe=table.value == 1)
    >>> release = Release.of(table, Protection.withhold(table, need.unsafe))
    >>> [finding.place for finding in judge_attack(Interval(), table, need, release)]
    ['row=2, column=2']
    """
    inferred = attack.infer(release)
    found = list(inferred.findings)
    if inferred.bounds is not None:
        found += _narrow(attack.name, inferred.bounds, table, need, release)
    if inferred.estimates is not None:
        found += _recovered(inferred.estimates, table, need, release)
    return found


@judge_attack.register
def _(attack: Insider, table: Table, need: Need, release: Release) -> list[Finding]:
    """Compare by coalition: prior knowledge of a coalition is not a disclosure by the release."""
    verdict = CoalitionSearch(table, need, release, attack).verdict()
    found = [_too_close(attack.name, release, cell) for cell in verdict.cells]
    return found + [one for one in verdict.findings(release.describe) if one.severity is Severity.REVIEW]


def _narrow(name: str, bounds: Bounds, table: Table, need: Need, release: Release) -> list[Finding]:
    unmet = ~need.met(table.value, bounds)
    found = [_too_close(name, release, int(cell)) for cell in np.flatnonzero(unmet & ~bounds.unknown)]
    n_unknown = int(np.count_nonzero(need.unsafe & bounds.unknown))
    if n_unknown:
        found.append(
            Finding(
                severity=Severity.REVIEW,
                place="unsafe cells",
                reason=Text("attack {name} did not decide {n} of them", name=name, n=n_unknown),
                advice="give it more time or a higher limit",
            )
        )
    return found


def _recovered(estimates: Estimates, table: Table, need: Need, release: Release) -> list[Finding]:
    """Return findings for true values that are recovered in most replications."""
    found = errors(table, need, estimates)
    hits = np.count_nonzero(found.error <= 100 * found.tolerance, axis=0)
    draws = len(found.error)
    n_all = found.undecided + draws
    undecided = Finding(
        severity=Severity.REVIEW,
        place="unsafe cells",
        reason=Text(
            "attack adjustment did not decide {n} of {total} replications", n=found.undecided, total=n_all
        ),
        advice="give it a higher work_limit",
    )
    return [undecided] * (found.undecided > 0) + [
        Finding(
            severity=Severity.FAIL,
            place=release.describe(int(cell)),
            reason=Text("the true value is recovered in {n} of {draws} replications", n=n, draws=draws),
            advice="adjust further, or choose senses that nobody can guess",
        )
        for cell, n in zip(np.flatnonzero(need.unsafe), hits.tolist(), strict=True)
        if 2 * n > draws
    ]


def _too_close(name: str, release: Release, cell: int) -> Finding:
    return Finding(
        severity=Severity.FAIL,
        place=release.describe(cell),
        reason=Text("attack {name} comes closer to the cell than required", name=name),
        advice="withhold more cells in its relations",
    )
