"""The row of a verdict that takes the method: what an attacker who knows it can infer.

It is filled for every release where that is proved or cheap to find out, also where the attacker is outside
the scope. Limits are counted work.
"""

from __future__ import annotations

import numpy as np

from hitoku.attacks.adjustment import SCENARIOS, Adjustment
from hitoku.errors import HitokuError
from hitoku.evidence import UNKNOWN_METHOD, AdjustedAudit, Audit, judge_attack
from hitoku.methods.blocks import treated
from hitoku.metrics import known
from hitoku.model import Finding, Protection, Row, Severity, Status, counts_units
from hitoku.pipeline.known_method import Made, against_known_method
from hitoku.solver.closest import Norm

# The matching attack is run by default on two-way counts of at most this many inner cells.
MAX_MATCHED = 50
# Nodes of its search, which takes a second or two.
MAX_NODES = 200_000
# A claim about known methods is checked by the verifier up to this many cells; beyond, `hitoku verify` does.
MAX_VERIFIED = 50_000
# Castro's scenarios are run by default up to this many cells, and draws in each scenario.
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
        Decision of the method.
    made
        What the attacker knows; None where the pattern does not follow from a method alone.
    secret
        Whether the method is meant to stay secret.
    """
    if isinstance(audit, AdjustedAudit):
        return _adjusted(audit, made)
    if not audit.need.unsafe.any() and not audit.release.withheld.any():
        return _row(Status.PASSED, "nothing is withheld")
    if not secret:
        return _made_to_be_known(audit, protection)
    return UNKNOWN_METHOD if made is None else _matched(audit, protection, made)


def _row(status: Status, reason: str, fix: str = "", findings: tuple[Finding, ...] = ()) -> Row:
    return Row(attacker="method", status=status, reason=reason, fix=fix, findings=findings)


def _matched(audit: Audit, protection: Protection, made: Made) -> Row:
    """Run the matching attack where it is cheap."""
    table = audit.table
    small = counts_units(table) and len(table.dimensions) == 2 and table.inner.sum() <= MAX_MATCHED
    if not small or audit.insiders is not None:
        why = f"the matching attack is run on two-way counts of at most {MAX_MATCHED} inner cells"
        reason = "cells were added for contributors" if small else why
        return _row(Status.NOT_CONSIDERED, reason, PROTECTING if treated(table) else BY_SECTIONS)
    found = against_known_method(
        table,
        audit.need,
        protection,
        made.method,
        made.rules,
        made.width,
        walks=0,
        nodes=MAX_NODES,
        groups=made.groups,
    )
    n = found.safe + found.leaking + found.unknown
    if found.leaking:
        reason = f"the matching attack comes too close to {found.leaking:,} of {n:,} unsafe cells"
        return _row(Status.FAILED, reason, PROTECTING)
    if found.unknown:
        reason = (
            f"the matching attack did not decide {found.unknown:,} of {n:,} unsafe cells within its limit"
        )
        return _row(Status.NOT_DECIDED, reason, PROTECTING)
    return _row(Status.PASSED, f"the matching attack leaves {n:,} unsafe cells as uncertain as required")


def _made_to_be_known(audit: Audit, protection: Protection) -> Row:
    """Judge a method that promises to withstand attackers who know it."""
    if protection.caution:
        return _row(Status.NOT_CONSIDERED, protection.caution)
    if protection.reader is not None:
        return _claimed(audit)
    if protection.method == "randomised":
        return _drawn(audit)
    return _row(
        Status.PASSED, f"by the construction of the method ({protection.method}), without a certificate"
    )


def _claimed(audit: Audit) -> Row:
    """Judge a method whose claim goes into the certificate."""
    if audit.reader is None:
        return _row(
            Status.NOT_CONSIDERED,
            "cells were added for contributors, so the method's promise does not hold",
            "insiders=none keeps it",
        )
    if audit.certificate is None:
        return _row(Status.NOT_CONSIDERED, "there is no certificate that could carry the method's claim")
    if audit.table.n_cells > MAX_VERIFIED:
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


def _drawn(audit: Audit) -> Row:
    """Judge a pattern that was drawn: the method audits it, except where everything is withheld."""
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


def _adjusted(audit: AdjustedAudit, made: Made | None) -> Row:
    """Run Castro's scenarios: attackers who know how the values were adjusted, and undo it."""
    table, need, release = audit.table, audit.need, audit.release
    n = int(need.unsafe.sum())
    if not n:
        return _row(Status.PASSED, "no cell is unsafe")
    if table.n_cells > MAX_ADJUSTED:
        return _row(
            Status.NOT_CONSIDERED, f"Castro's scenarios are run up to {MAX_ADJUSTED:,} cells", BY_COMMAND
        )
    norm: Norm = getattr(made and made.method, "norm", "l1")
    facts = known(table, need, release, norm=norm)
    recovered: dict[str, list[Finding]] = {}
    for scenario in SCENARIOS:
        attack = Adjustment(scenario=scenario, norm=norm, replications=DRAWS, known=facts)
        try:
            found = judge_attack(attack, table, need, release)
        except HitokuError:
            return _row(
                Status.NOT_DECIDED, f"scenario {scenario} of Castro ended without an answer", BY_COMMAND
            )
        recovered[scenario] = [one for one in found if one.severity is Severity.FAIL]
    counted = ", ".join(f"{name} {len(found):,}" for name, found in recovered.items())
    worst = max(recovered.values(), key=len)
    return _row(
        Status.FAILED if worst else Status.PASSED,
        f"of {n:,} unsafe cells recovered in most of {DRAWS} draws, by scenario of Castro: {counted}",
        "withhold cells instead of adjusting them" if worst else "",
        tuple(worst),
    )
