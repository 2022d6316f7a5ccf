"""Protect several tables of the same records: by the cells that they share, then by their atoms.

A method protects the linked tables as cells that some of them have in common. What readers derive by adding
and subtracting other sets of records is found among the atoms (:mod:`hitoku.linking.atoms`). Where an atom
cannot hold as much as its rules require, or a cell is closer than required, the method goes on with atoms as
hidden cells. Where the first pattern is sufficient, nothing more is withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hitoku.evidence import CellOutcome, audit
from hitoku.messages import Text
from hitoku.methods import Method, Progress, extended, go_on, informed
from hitoku.model import Need, Protection, Release, Table
from hitoku.rules import Given, Rule, Zero, assess, name_of


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedCells:
    """Linked tables without their atoms, and what is asked for them."""

    table: Table  # The cells that tables show; they are the first ones of the table with atoms.
    # rules, method: as for the table with atoms.
    rules: Sequence[Rule]
    method: Method


def not_in_sets(rules: Sequence[Rule]) -> str:
    """Say which rules judge cells only, and not sets of records of several tables; empty for none."""
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
        The linked tables with atoms as hidden cells, and what is asked for them.
    shared
        The same without atoms.
    width, groups
        As for :func:`hitoku.assess`.
    progress
        Passed to the method.

    Raises
    ------
    NeedError
        When something can be derived from the tables, whatever else is withheld.
    """
    asked = assess(shared.table, shared.rules, width=width, groups=groups)
    first = informed(shared.method, shared.rules, width).protect(shared.table, asked, progress)
    withheld = np.append(first.withheld, ~table.shown[shared.table.n_cells :])
    found = replace(first, withheld=withheld, value=table.value, secondary=withheld & ~need.unsafe)
    seen = audit(table, need, Release.of(table, Protection.withhold(table, withheld & table.shown, need)))
    failing = np.zeros(table.n_cells, dtype=np.bool_)
    failing[[cell for cell, outcome in seen.outcomes.items() if outcome is not CellOutcome.SAFE]] = True
    if not failing.any() and not (seen.groups and seen.groups.n_open):
        return found
    more = go_on(method, table, withheld).protect(table, need.only(failing), progress)
    return extended(
        table,
        need,
        found,
        method,
        withheld | more.withheld,
        steps=first.steps + more.steps,
        purpose="sets of records",
    )
