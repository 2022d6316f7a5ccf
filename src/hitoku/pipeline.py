"""Assess, protect, attack, audit, in order: from a table to a release with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.attacks.exposure import exposed
from hitoku.attacks.interval import Interval
from hitoku.evidence.audit import Audit, audit
from hitoku.methods.method import Method, Progress
from hitoku.model.bounds import Bounds
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.rules.assess import assess
from hitoku.rules.rule import Rule

# What is done, in this order, in words for a person who waits.
STAGES = {
    "assess": "finding the cells that must not be published",
    "protect": "choosing the cells to withhold with them",
    "attack": "attacking the release",
    "audit": "proving that it is safe",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """Everything that came out of one run; ``audit.safe`` is the verdict."""

    table: Table
    need: Need
    protection: Protection
    release: Release
    bounds: Bounds
    audit: Audit

    def __repr__(self) -> str:
        verdict = "safe" if self.audit.safe else "NOT safe"
        return f"Outcome({verdict}: {self.protection!r})"


def protect(
    table: Table,
    rules: Sequence[Rule],
    *,
    method: Method,
    width: Any = None,
    report: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run the whole way from a table to an audited release.

    Parameters
    ----------
    table
        What would be published.
    rules
        Primary rules; see :func:`hitoku.assess`.
    method
        What chooses the cells to withhold with the unsafe ones.
    width
        Required length of the interval of every unsafe cell.
    report
        Called with the name of each stage as it begins.
    progress
        Handed to the method, which calls it with how much is done and how much there is.
    """
    tell = report or (lambda _stage: None)
    tell("assess")
    need = assess(table, rules, width=width)
    tell("protect")
    protection = method.protect(table, need, progress)
    release = Release.of(table, protection)
    tell("attack")
    bounds = Interval().bounds(release)
    tell("audit")
    verdict = audit(table, need, release)
    return Outcome(
        table=table, need=need, protection=protection, release=release, bounds=bounds, audit=verdict
    )


def recomputable(table: Table, need: Need) -> int:
    """Count the unsafe cells that adding and subtracting gives away when nothing else is withheld."""
    naive = Release.of(table, Protection.withhold(table, need.unsafe, need))
    return int(np.count_nonzero(exposed(naive) & need.unsafe))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one method came to: its price, and the verdict of the audit."""

    method: str
    secondary: int
    cost: float
    proven: bool
    safe: bool
    recomputable: int


def compare(table: Table, need: Need, methods: Sequence[Method]) -> tuple[Compared, ...]:
    """Protect the same table with several methods and audit each; cost is the value that they withhold.

    Examples
    --------
    >>> from hitoku.methods.greedy import Greedy
    >>> table = Table.from_array([[20, 50, 10], [8, 19, 22], [17, 32, 3]])
    >>> need = Need(unsafe=table.value == 3, width=9)
    >>> [row.safe for row in compare(table, need, [Greedy(tidy=True)])]
    [True]
    """
    rows = []
    for method in methods:
        protection = method.protect(table, need)
        found = audit(table, need, Release.of(table, protection))
        rows.append(
            Compared(
                method=protection.method,
                secondary=int(protection.secondary.sum()),
                cost=float(np.abs(table.value[protection.withheld]).sum()),
                proven=protection.proven,
                safe=found.safe,
                recomputable=found.summary["recomputable"],
            )
        )
    return tuple(rows)
