"""Contributors for rules, or an error that names what the table lacks."""

from __future__ import annotations

from hitoku.errors import RuleError
from hitoku.messages import Arguments
from hitoku.model import Contributors, Table
from hitoku.rules.rule import Level


def contributors_at(table: Table, level: Level, rule: str) -> Contributors:
    """Return holdings where they are known and units elsewhere, or units if the rule requires them."""
    found = table.units if level == "unit" else table.contributors
    if found is not None:
        return found
    if level == "unit" and table.holdings is not None:
        raise RuleError(
            "holdings_without_units",
            "the table knows holdings, but not the units they are made of",
            where="rule {rule}, level='unit'",
            fix="{arguments} as well, or use level='holding'",
            arguments=Arguments("tabulate", unit=...),
            rule=rule,
        )
    raise RuleError(
        "contributors_unknown",
        "the table does not say who contributes to its cells",
        where="rule {rule}",
        fix="start from records with {arguments}, or name columns of the largest contributions: {largest}",
        arguments=Arguments("tabulate", value=..., unit=...),
        largest=Arguments("from_frame", largest=...),
        rule=rule,
    )


def ranked_at(table: Table, level: Level, top: int, rule: str) -> Contributors:
    """Return contributors whose ``top`` largest contributions are known and comparable with the total."""
    found = contributors_at(table, level, rule)
    if found.negative and found.magnitude is None:
        raise RuleError(
            "ranking_of_negative_contributions",
            "some contributions are below zero, and nobody has said how to rank them",
            where="rule {rule}",
            fix='{arguments} ranks them by size, "signed" lets them lower the total',
            arguments=Arguments("tabulate", magnitude="abs"),
            rule=rule,
        )
    if found.largest.shape[1] == 0:
        raise RuleError(
            "contributions_not_ranked",
            "the rule compares contributions, but records are only counted: the table sums no value",
            where="rule {rule}",
            fix="name the column to sum: {arguments}",
            arguments=Arguments("tabulate", value=...),
            rule=rule,
        )
    if found.largest.shape[1] < top:
        raise RuleError(
            "too_few_largest",
            "the rule needs the {needed} largest contributions, the table keeps {kept}",
            where="rule {rule}",
            fix="{arguments}",
            arguments=Arguments("tabulate", top=top),
            needed=top,
            kept=found.largest.shape[1],
            rule=rule,
        )
    return found
