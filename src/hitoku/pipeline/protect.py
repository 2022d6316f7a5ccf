"""The whole way from a table to a release with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hitoku.coalitions import Insiders, choose_insiders
from hitoku.evidence import audit, derivable_groups, inferable
from hitoku.methods import Method, Progress, Promise, against_insiders, informed, requires_groups, traits_of
from hitoku.model import Need, Protection, Release, Table, parse_scope
from hitoku.pipeline.group_pattern import withhold_for_groups
from hitoku.pipeline.known_method import Made
from hitoku.pipeline.outcome import WritableOutcome
from hitoku.rules import Rule, assess

# What is done, in this order, in words for a person who waits.
STAGES = {
    "assess": "finding the cells that must not be published",
    "protect": "choosing the cells to withhold with them",
    "groups": "protecting derivable groups",
    "insiders": "protecting from contributors",
    "audit": "proving that it is safe",
    "attack": "attacking the release",
}

Report = Callable[[str], None]


def protect_table(
    table: Table,
    rules: Sequence[Rule],
    *,
    method: Method,
    width: Any = None,
    insiders: Any = None,
    against: Iterable[str] | None = None,
    groups: bool = True,
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
        :func:`hitoku.coalitions.contributions.choose_insiders`.
    against
        Attackers that the verdict depends on, words of :data:`hitoku.model.verdict.SCOPES`; left out, the
        default scope.
    groups
        Keep groups that can be derived from published cells as large as ``min_frequency`` and
        ``few_contributors`` require; ``outcome.groups`` is the result. Methods with promises of their own
        (``Gauss``, ``Blocks``, ``Randomised``, ``Adjust``) choose as without it.
    report
        Called with the name of each stage as it begins.
    progress
        Handed to the method, which calls it with how much is done and how much there is; then told the same
        of the insiders.
    """
    tell = report or (lambda _stage: None)
    scope = None if against is None else parse_scope(against)
    tell("assess")
    need = assess(table, rules, width=width, groups=groups and requires_groups(method))
    method = informed(method, rules, width)
    tell("protect")
    inside = choose_insiders(table, insiders, blurred=promises_intervals(method))
    outcome = attack_and_audit(
        table,
        need,
        method.protect(table, need, progress),
        method,
        inside,
        tell,
        progress,
        rules=rules,
        groups=groups,
    )
    return replace(outcome, against=scope, made=Made(rules, method, width, groups))


def attack_and_audit(
    table: Table,
    need: Need,
    protection: Protection,
    method: Method,
    inside: Insiders,
    tell: Report,
    progress: Progress | None = None,
    *,
    rules: Sequence[Rule] | None = None,
    groups: bool = True,
) -> WritableOutcome:
    """Go on from a protection: derivable groups of units, insiders, the attack, the audit.

    Without ``rules``, as in batches of τ-ARGUS, derivable groups are not examined.
    """
    attack = inside.attack
    hints: Sequence[Mapping[int, int]] = ()
    if rules is not None and groups and requires_groups(method):
        tell("groups")
        protection, hints = withhold_for_groups(table, need, rules, protection, method, progress)
    if attack is not None:
        tell("insiders")
        protection = against_insiders(
            table, need, protection, method=method, attack=attack, progress=progress
        )
    release = Release.of(table, protection)
    tell("audit")
    found = audit(
        table,
        need,
        release,
        insiders=attack,
        moves=protection.moves,
        # Cells added for insiders are chosen by looking at the table: then the method's claim is void.
        reader=protection.reader if attack is None else None,
    )
    tell("attack")
    bounds = inferable(release, adjusted=traits_of(method).promise is Promise.ADJUSTED)
    return WritableOutcome(
        protection,
        replace(found, intervals=bounds),
        bounds,
        inside.words,
        secret=traits_of(method).secret,
        rules=tuple(rules or ()),
        groups=None
        if rules is None
        else derivable_groups(table, rules, release, own=found, groups=groups, moves=hints),
    )


def promises_intervals(method: Method) -> bool:
    """Tell whether a method answers for the intervals of unsafe cells."""
    return traits_of(method).promise is Promise.INTERVALS
