"""Additional suppressions, so that rules hold in every group that can be derived from published magnitudes.

Which groups can be derived depends on the published cells alone, so the contributors' counts are protected
with the suppressed cells, at the costs of the magnitudes. Then the sets of cells in which a rule on
contributions could be broken are protected as hidden cells. Suppressing more never narrows an interval: what
the first pattern protects stays protected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hitoku.errors import NeedError
from hitoku.evidence import Audit, CellOutcome, audit, examine_totals
from hitoku.methods import Method, Progress, costs, extend_protection, go_on, go_on_with_sets
from hitoku.methods.optimal import Optimal
from hitoku.model import Mask, Need, Protection, Release, Step, Table
from hitoku.rules import GroupSize, GroupTotals, Rule, group_sizes, group_totals

# Deviations of numbers of units that keep every relation, by cell.
Hints = Sequence[Mapping[int, int]]


def withhold_for_groups(
    table: Table,
    need: Need,
    rules: Sequence[Rule],
    protection: Protection,
    method: Method,
    progress: Progress | None = None,
) -> tuple[Protection, Hints]:
    """Suppress more cells until every cell with too few units can hold as many as its rule requires.

    Then until sets of cells can hold what rules on contributions require. Rules on the published values
    themselves are skipped: their need is part of the table's own.

    Parameters
    ----------
    table, need, rules
        Table, and its requirements.
    protection
        Pattern of the method.
    method
        The method, which continues from there.
    progress
        Passed to the method.

    Returns
    -------
    tuple
        The protection, and witnesses for an audit of the units.

    Raises
    ------
    NeedError
        If no pattern is sufficient.
    """
    withheld = np.array(protection.withheld)
    steps = protection.steps
    hints: list[Mapping[int, int]] = []
    for size in group_sizes(table, rules):
        if size.own or not size.adds_up:
            continue
        asked = size.need().only(withheld)
        units = size.units(table)
        first = audit(units, asked, Release.of(units, Protection.withhold(units, withheld & table.shown)))
        hints += witnesses_of(first)
        failing = np.zeros(table.n_cells, dtype=np.bool_)
        failing[[cell for cell, outcome in first.outcomes.items() if outcome is not CellOutcome.SAFE]] = True
        if not failing.any():
            continue
        try:
            more = _continue_from(method, table, units, withheld).protect(
                units, asked.only(failing), progress
            )
        except NeedError as error:
            raise _unreachable(size, error) from error
        withheld |= more.withheld
        steps += more.steps
        hints += more.deviations
    for totals in group_totals(table, rules):
        if not totals.why_not:
            steps += _withhold_for_totals(table, need, totals, protection, method, withheld)
    if np.array_equal(withheld, protection.withheld):
        return protection, hints
    return extend_protection(table, need, protection, method, withheld, steps=steps, purpose="groups"), hints


def _withhold_for_totals(
    table: Table, need: Need, asked: GroupTotals, protection: Protection, method: Method, withheld: Mask
) -> tuple[Step, ...]:
    """Suppress more cells, in place, until no derivable group breaks a rule on contributions."""
    release = Release.of(table, Protection.withhold(table, withheld & table.shown, need))
    found = examine_totals(table, asked, release, None, protection.deviations).audited
    if found is None or found.safe:
        return ()
    failing = np.zeros(found.table.n_cells, dtype=np.bool_)
    failing[[cell for cell, outcome in found.outcomes.items() if outcome is not CellOutcome.SAFE]] = True
    onwards = go_on_with_sets(method, table, withheld, found.table.n_cells - table.n_cells)
    try:
        more = onwards.protect(found.table, found.need.only(failing))
    except NeedError as error:
        raise NeedError(
            "group_breaks_rule",
            "a group that breaks the rule {rule} can be derived, whatever else is withheld",
            where=error.where,
            fix="let more be withheld (keep, fixed: margins too), merge codes, or leave derivable groups out "
            "with groups=False",
            rule=asked.form.name,
        ) from error
    withheld |= more.withheld[: table.n_cells]
    return tuple(_own_steps(table, found.table, more.steps))


def _own_steps(table: Table, whole: Table, steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps of a table among those of one with sets; the first cell stands for its set."""
    first = whole.relations[table.relations.shape[0] :]
    for step in steps:
        number = step.protects - table.n_cells
        relation = step.relation if step.relation < table.relations.shape[0] else -1
        if step.cell < table.n_cells and number < 0:
            yield replace(step, relation=relation)
        elif step.cell < table.n_cells:
            protects = int(first.indices[first.indptr[number]])
            yield Step(step.cell, step.reason, relation=relation, protects=protects)


def witnesses_of(found: Audit) -> list[Mapping[int, int]]:
    """Return the integer witnesses of an audit, by cells of its table."""
    cells = found.problem.cells
    return [
        {int(cells[place]): change for place, change in witness.differences.items()}
        for witness in found.proof.witnesses
        if witness.denominator == 1
    ]


def _continue_from(method: Method, table: Table, units: Table, withheld: Mask) -> Method:
    """Return a method that continues from suppressed cells, at the costs of the magnitudes."""
    onwards: Any = go_on(method, units, withheld)
    if isinstance(onwards, Optimal):
        # The price includes the power already, and a start pattern belongs to the magnitudes.
        price = costs(table, onwards.cost, onwards.power)
        return replace(onwards, cost=price, power=None, start=None)
    priced: Method = replace(onwards, cost=costs(table, onwards.cost))
    return priced


def _unreachable(size: GroupSize, error: NeedError) -> NeedError:
    return NeedError(
        "small_group_derivable",
        "a group of fewer than {size} units can be derived, whatever else is withheld",
        where=error.where,
        fix="let more be withheld (keep, fixed: margins too), merge codes, or leave derivable groups out "
        "with groups=False",
        size=size.n,
    )
