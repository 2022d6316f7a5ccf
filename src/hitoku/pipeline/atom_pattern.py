"""Protection of several tables of the same records: by their common cells, then by their atoms.

A method first protects the linked tables, ignoring atoms. The audit then considers all sets of records that
follow by addition and subtraction, as sums of atoms (:mod:`hitoku.linking.atoms`). If an atom cannot hold as
much as its rules require, or a cell is closer than required, the method continues with atoms as hidden cells.
If the first pattern is sufficient, nothing more is suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.evidence import CellOutcome, audit
from hitoku.messages import Text
from hitoku.methods import Method, Progress, extend_protection, go_on, with_known_rules
from hitoku.model import Need, Protection, Release, Table
from hitoku.rules import Given, Rule, Zero, assess, name_of


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedCells:
    """Linked tables without their atoms, with the rules and method for them."""

    table: Table  # Cells of the tables; they come first in the table with atoms.
    # rules, method: as for the table with atoms.
    rules: Sequence[Rule]
    method: Method


def not_in_sets(rules: Sequence[Rule]) -> str:
    """Name the rules that assess cells only, not sets of records of several tables."""
    others = dict.fromkeys(
        name_of(rule) for rule in rules if not (hasattr(rule, "counted") or isinstance(rule, Given | Zero))
    )
    return (
        Text("{rules}: judged in the cells of tables, not in sets of records", rules=", ".join(others))
        if others
        else ""
    )


def protect_with_atoms(
    table: Table,
    need: Need,
    method: Method,
    shared: SharedCells,
    *,
    width: Any = None,
    groups: bool = True,
    progress: Progress | None = None,
) -> Protection:
    """Protect linked tables with their atoms.

    Parameters
    ----------
    table, need, method
        Linked tables with atoms as hidden cells, their protection requirements, and the method.
    shared
        Linked tables without atoms.
    width, groups
        As for :func:`hitoku.assess`.
    progress
        Passed to the method.

    Returns
    -------
    Protection
        Pattern for all cells; atoms count as suppressed.

    Raises
    ------
    NeedError
        If no pattern meets the requirements.
    """
    asked = assess(shared.table, shared.rules, width=width, groups=groups)
    first = with_known_rules(shared.method, shared.rules, width).protect(shared.table, asked, progress)
    withheld = np.append(first.withheld, ~table.shown[shared.table.n_cells :])
    found = replace(first, withheld=withheld, value=table.value, secondary=withheld & ~need.unsafe)
    seen = audit(table, need, Release.of(table, Protection.withhold(table, withheld & table.shown, need)))
    failing = np.zeros(table.n_cells, dtype=np.bool_)
    failing[[cell for cell, outcome in seen.outcomes.items() if outcome is not CellOutcome.SAFE]] = True
    if not failing.any() and not (seen.groups and seen.groups.n_open):
        return found
    more = go_on(method, table, withheld).protect(table, need.only(failing), progress)
    return extend_protection(
        table,
        need,
        found,
        method,
        withheld | more.withheld,
        steps=first.steps + more.steps,
        purpose="sets of records",
    )
