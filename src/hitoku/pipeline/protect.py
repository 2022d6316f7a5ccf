"""The whole way from a table to a release with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hitoku.evidence.audit import audit
from hitoku.evidence.outcome import inferable
from hitoku.insiders.contributions import Insiders, choose_insiders
from hitoku.methods.insiders import against_insiders
from hitoku.methods.method import Method, Progress, Promise, informed
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.pipeline.outcome import WritableOutcome
from hitoku.rules.assess import assess
from hitoku.rules.rule import Rule

# What is done, in this order, in words for a person who waits.
STAGES = {
    "assess": "finding the cells that must not be published",
    "protect": "choosing the cells to withhold with them",
    "attack": "attacking the release",
    "audit": "proving that it is safe",
}

Report = Callable[[str], None]


def protect_table(
    table: Table,
    rules: Sequence[Rule],
    *,
    method: Method,
    width: Any = None,
    insiders: Any = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> WritableOutcome:
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
    insiders
        Whom to protect from beside outsiders: "none", "singletons", "contributors", or an
        :class:`hitoku.Insider`; left out, singletons of magnitudes. See
        :func:`hitoku.insiders.contributions.choose_insiders`.
    report
        Called with the name of each stage as it begins.
    progress
        Handed to the method, which calls it with how much is done and how much there is; then told the same
        of the insiders.
    """
    tell = report or (lambda _stage: None)
    tell("assess")
    need = assess(table, rules, width=width)
    method = informed(method, rules, width)
    tell("protect")
    inside = choose_insiders(table, insiders, blurred=promises_intervals(method))
    return attack_and_audit(
        table, need, method.protect(table, need, progress), method, inside, tell, progress
    )


def attack_and_audit(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    inside: Insiders,
    tell: Report,
    progress: Progress | None = None,
) -> WritableOutcome:
    """Go on from a protection: what insiders ask for, the attack, the audit."""
    attack = inside.attack
    if attack is not None:
        protection = against_insiders(
            table, need, protection, method=method, attack=attack, progress=progress
        )
    release = Release.of(table, protection)
    tell("attack")
    bounds = inferable(release, adjusted=getattr(method, "promise", None) is Promise.ADJUSTED)
    tell("audit")
    verdict = audit(
        table,
        need,
        release,
        intervals=bounds,
        insiders=attack,
        moves=protection.moves,
        # Cells added for insiders are chosen by looking at the table: then the method's claim is void.
        reader=protection.reader if attack is None else None,
    )
    return WritableOutcome(protection, verdict, bounds, inside.words)


def promises_intervals(method: Method) -> bool:
    """Tell whether a method answers for the intervals of unsafe cells."""
    return getattr(method, "promise", Promise.INTERVALS) is Promise.INTERVALS
