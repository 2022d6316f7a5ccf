"""Inference of an attacker who knows the method, as far as the auditor can determine it.

The attacker keeps the tables that would have led to the same release. There are three sources of knowledge
about them. A method may have a theorem, and the certificate a verified claim. If few tables are consistent,
the matching attack examines all of them, and its intervals are exact. Otherwise the auditor, who has the true
table, walks from it to other tables that lead to the same release: the attacker cannot rule out visited
tables, so the widths that they span are proved; other cells may be safe or not.

:func:`known_method_row` adds the result to a verdict. The row is filled for every release if it is proved or
cheap to compute, even if this attacker is outside the scope. Limits are counted work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hitoku.attacks.adjustment import SCENARIOS, Adjustment
from hitoku.attacks.matching import Board, Matching, Suppressor, flat_two_way, several
from hitoku.errors import HitokuError
from hitoku.evidence import UNKNOWN_METHOD, AdjustedAudit, Audit, audit, judge_attack
from hitoku.messages import Text
from hitoku.methods import Method, with_known_rules
from hitoku.methods.blocks import is_supported
from hitoku.metrics import attacker_knowledge
from hitoku.model import (
    Bounds,
    Finding,
    Need,
    Protection,
    Release,
    Row,
    Severity,
    Status,
    Table,
    counts_units,
)
from hitoku.rules import Rule
from hitoku.solver.closest import Norm

# Limits of the full matching attack: suppressed cells, and candidates or nodes of its search.
MAX_WITHHELD, MAX_CANDIDATES, MAX_SEARCH_NODES = 40, 300, 1_000_000
# Largest table for which all these nodes are examined.
SMALL = 100


@dataclass(frozen=True, eq=False)
class Made:
    """How a release was made: the knowledge of an attacker who knows the method."""

    rules: Sequence[Rule]
    method: Method
    width: Any
    groups: bool = True
    """As passed to :func:`hitoku.protect`."""


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """Result for the unsafe cells of a release and an attacker who knows the method."""

    safe: int
    """Number of cells that are proved to keep their required protection."""
    leaking: int
    """Number of cells that are proved not to."""
    unknown: int
    """Number of other cells."""

    def __str__(self) -> str:
        if self.leaking:
            return f"leaks {self.leaking} cells"
        return f"unknown ({self.safe} of {self.safe + self.unknown} shown safe)" if self.unknown else "proved"


def against_known_method(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    rules: Sequence[Rule],
    width: Any,
    *,
    walks: int = 1,
    steps: int = 60,
    seed: int = 0,
    n_jobs: int | None = None,
    nodes: int = MAX_SEARCH_NODES,
    groups: bool = True,
) -> KnownMethod:
    """Return the result for an attacker who knows the method, its rules and its width.

    Parameters
    ----------
    table, need, protection
        Table, need and pattern.
    method, rules, width
        Knowledge of the attacker.
    walks, steps, seed
        Number of walks of the auditor from the true table, tables tried by each of them, and the seed.
        With zero walks only the matching attack is run.
    n_jobs
        Processes for the walks; the result does not depend on it.
    nodes
        Nodes of the search by the matching attack, in tables of at most 100 cells.
    groups
        As passed to :func:`hitoku.assess`; known to the attacker as well.

    Examples
    --------
    >>> from hitoku.methods import Blocks, Optimal
    >>> from hitoku.rules import MinFrequency, assess
    >>> table = Table.from_array([[16, 14, 21, 16], [10, 19, 28, 24], [8, 2, 9, 15], [8, 13, 3, 8]])
    >>> rules = [MinFrequency(5)]
    >>> need = assess(table, rules, width=9)
    >>> for method in (Blocks(rules=rules, width=9), Optimal(cost="unit", keep="margins")):
    ...     print(against_known_method(table, need, method.protect(table, need), method, rules, 9))
    proved
    leaks 2 cells
    """
    n_unsafe = int(need.unsafe.sum())
    release = Release.of(table, protection)
    if protection.known_method is not None:
        found = audit(
            table, need, release, deviations=protection.deviations, known_method=protection.known_method
        )
        if found.withstands_known_method:
            return KnownMethod(n_unsafe, 0, 0)
    method = with_known_rules(method, rules, width)
    wide = np.zeros(table.n_cells, dtype=np.bool_)
    narrow = wide.copy()
    if release.integer and release.withheld.sum() <= MAX_WITHHELD:
        # A node of a large table takes longer.
        nodes = nodes * SMALL // max(SMALL, table.n_cells)
        suppressor = Suppressor(method, rules, width, groups)
        try:
            shaves = not suppressor.random and Board.of(release, suppressor) is not None
            limit = nodes if shaves else MAX_CANDIDATES
            attack = Matching(method=method, rules=rules, width=width, groups=groups, limit=limit)
            bounds = attack.bounds(release)
        except HitokuError:
            # The release is not one of this method, or cannot be matched: nothing is known.
            return KnownMethod(0, 0, n_unsafe)
        wide = need.met(table.value, bounds)
        narrow = ~wide & ~bounds.unknown
    if walks and flat_two_way(release) and np.any(need.unsafe & ~wide & ~narrow):
        same = partial(Suppressor(method, rules, width, groups).reproduces, release)
        start = np.rint(table.value).astype(np.int64)
        wanted = np.where(need.unsafe & ~wide, np.maximum(need.width, need.lower + need.upper), 0)
        low, high = several(release, same, start, wanted, walks=walks, steps=steps, seed=seed, n_jobs=n_jobs)
        met = Bounds(lower=low.astype(np.float64), upper=high.astype(np.float64))
        wide |= need.met(table.value, met)
    safe = int((need.unsafe & wide).sum())
    leaking = int((need.unsafe & narrow & ~wide).sum())
    return KnownMethod(safe, leaking, n_unsafe - safe - leaking)


# Largest number of inner cells of two-way counts for which the matching attack runs by default.
MAX_MATCHED = 50
# Largest table for which Castro's scenarios run by default, and draws in each scenario.
MAX_ADJUSTED, DRAWS = 1_000, 10

PROTECTING = "method auto:secret=false, with a width, protects against it"
BY_SECTIONS = "method blocks protects two-way tables against it, and counts by sections that are two-way"
BY_COMMAND = "hitoku attack release --attack adjustment"


def known_method_row(audit: Audit, protection: Protection, made: Made | None, *, secret: bool) -> Row:
    """Return the row about an attacker who knows method, rules and width.

    Parameters
    ----------
    audit
        Audit of the release.
    protection
        Pattern or adjustment of the method.
    made
        Knowledge of the attacker; None if the pattern does not follow from a method alone.
    secret
        Whether the method is meant to stay secret.
    """
    if isinstance(audit, AdjustedAudit):
        return _adjustment_row(audit, made)
    if not audit.need.unsafe.any() and not audit.release.withheld.any():
        return _row(Status.PASSED, "nothing is withheld")
    if not secret:
        return _made_to_be_known(audit, protection)
    return UNKNOWN_METHOD if made is None else _matching_row(audit, protection, made)


def _row(status: Status, reason: str, fix: str = "", findings: tuple[Finding, ...] = ()) -> Row:
    return Row(attacker="method", status=status, reason=reason, fix=fix, findings=findings)


def _matching_row(audit: Audit, protection: Protection, made: Made) -> Row:
    """Run the matching attack if it is cheap."""
    table = audit.table
    small = counts_units(table) and len(table.dimensions) == 2 and table.inner.sum() <= MAX_MATCHED
    if not small or audit.insiders is not None:
        why = Text(
            "the matching attack is run on two-way counts of at most {limit} inner cells",
            limit=MAX_MATCHED,
        )
        reason = "cells were added for contributors" if small else why
        return _row(Status.NOT_CONSIDERED, reason, PROTECTING if is_supported(table) else BY_SECTIONS)
    # Nodes of its search, which takes a second or two.
    found = against_known_method(
        table,
        audit.need,
        protection,
        made.method,
        made.rules,
        made.width,
        walks=0,
        nodes=200_000,
        groups=made.groups,
    )
    n = found.safe + found.leaking + found.unknown
    if found.leaking:
        reason = Text(
            "the matching attack comes too close to {leaking:,} of {n:,} unsafe cells",
            leaking=found.leaking,
            n=n,
        )
        return _row(Status.FAILED, reason, PROTECTING)
    if found.unknown:
        reason = Text(
            "the matching attack did not decide {unknown:,} of {n:,} unsafe cells within its limit",
            unknown=found.unknown,
            n=n,
        )
        return _row(Status.NOT_DECIDED, reason, PROTECTING)
    return _row(
        Status.PASSED, Text("the matching attack leaves {n:,} unsafe cells as uncertain as required", n=n)
    )


def _made_to_be_known(audit: Audit, protection: Protection) -> Row:
    """Return the row of a method that guarantees protection from attackers who know it."""
    if protection.caution:
        return _row(Status.NOT_CONSIDERED, protection.caution)
    if protection.known_method is not None:
        return _claim_row(audit)
    if protection.method == "randomised":
        return _drawn_row(audit)
    return _row(
        Status.PASSED,
        Text("by the construction of the method ({method}), without a certificate", method=protection.method),
    )


def _claim_row(audit: Audit) -> Row:
    """Return the row of a method whose claim is part of the certificate."""
    if audit.known_method is None:
        return _row(
            Status.NOT_CONSIDERED,
            "cells were added for contributors, so the method's promise does not hold",
            "insiders=none keeps it",
        )
    if audit.certificate is None:
        return _row(Status.NOT_CONSIDERED, "no certificate contains the method's claim")
    # Largest table for which the claim is verified here; for larger ones `hitoku verify` does it.
    if audit.table.n_cells > 50_000:
        return _row(
            Status.PASSED,
            "the certificate claims it; not checked here because the table is large",
            "hitoku verify checks the claim",
        )
    if audit.withstands_known_method:
        return _row(Status.PROVED, "the certificate claims it, and the verifier accepts the claim")
    return _row(
        Status.FAILED,
        "the verifier refuses the claim about attackers who know the method",
        "report this: the method and the verifier disagree",
    )


def _drawn_row(audit: Audit) -> Row:
    """Return the row of a drawn pattern: the method audits it, unless everything is suppressed."""
    table = audit.table
    if np.all(audit.release.withheld | ~table.inner | (table.lower == table.upper)):
        return _row(
            Status.NOT_CONSIDERED,
            "every inner cell is withheld, and the method's promise does not cover that release",
            "randomised:total=0.05 covers it",
        )
    return _row(
        Status.PASSED, "the method audited the pattern that it drew (randomised), without a certificate"
    )


def _adjustment_row(audit: AdjustedAudit, made: Made | None) -> Row:
    """Run Castro's scenarios: attackers who know how the values were adjusted, and reverse it."""
    table, need, release = audit.table, audit.need, audit.release
    n = int(need.unsafe.sum())
    if not n:
        return _row(Status.PASSED, "no cell is unsafe")
    if table.n_cells > MAX_ADJUSTED:
        return _row(
            Status.NOT_CONSIDERED,
            Text("Castro's scenarios are run up to {limit:,} cells", limit=MAX_ADJUSTED),
            BY_COMMAND,
        )
    norm: Norm = getattr(made and made.method, "norm", "l1")
    facts = attacker_knowledge(table, need, release, norm=norm)
    recovered: dict[str, list[Finding]] = {}
    for scenario in SCENARIOS:
        attack = Adjustment(scenario=scenario, norm=norm, replications=DRAWS, known=facts)
        try:
            found = judge_attack(attack, table, need, release)
        except HitokuError:
            return _row(
                Status.NOT_DECIDED,
                Text("scenario {scenario} of Castro ended without an answer", scenario=scenario),
                BY_COMMAND,
            )
        recovered[scenario] = [one for one in found if one.severity is Severity.FAIL]
    counted = ", ".join(f"{name} {len(found):,}" for name, found in recovered.items())
    worst = max(recovered.values(), key=len)
    return _row(
        Status.FAILED if worst else Status.PASSED,
        Text(
            "of {n:,} unsafe cells recovered in most of {draws} draws, by scenario of Castro: {counted}",
            n=n,
            draws=DRAWS,
            counted=counted,
        ),
        "withhold cells instead of adjusting them" if worst else "",
        tuple(worst),
    )
