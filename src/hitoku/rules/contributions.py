"""The contributors a rule looks at, or an error that says what the table lacks."""

from __future__ import annotations

from hitoku.errors import RuleError
from hitoku.model.contributors import Contributors
from hitoku.model.table import Table
from hitoku.rules.parameters import Level


def contributors_at(table: Table, level: Level, rule: str) -> Contributors:
    """Return holdings where they are known and units elsewhere, or units when the rule says so."""
    found = table.units if level == "unit" else table.contributors
    if found is not None:
        return found
    if level == "unit" and table.holdings is not None:
        raise RuleError(
            "the table knows holdings, but not the units they are made of",
            where=f"rule {rule}, level='unit'",
            fix="tabulate(..., unit=...) as well, or use level='holding'",
        )
    raise RuleError(
        "the table does not say who contributes to its cells",
        where=f"rule {rule}",
        fix="start from records with tabulate(..., value=..., unit=...), or name the columns of the largest "
        "contributions with from_frame(..., largest=[...])",
    )


def ranked_at(table: Table, level: Level, top: int, rule: str) -> Contributors:
    """Return contributors whose ``top`` largest contributions are known and comparable with the total."""
    found = contributors_at(table, level, rule)
    if found.negative and found.magnitude is None:
        raise RuleError(
            "some contributions are below zero, and nobody has said how to rank them",
            where=f"rule {rule}",
            fix='tabulate(..., magnitude="abs") ranks them by size, "signed" lets them lower the total',
        )
    if found.largest.shape[1] < top:
        raise RuleError(
            f"the rule needs the {top} largest contributions, the table keeps {found.largest.shape[1]}",
            where=f"rule {rule}",
            fix=f"tabulate(..., top={top})",
        )
    return found
