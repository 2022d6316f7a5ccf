"""Levels of unsafe cells: from a rule's distance to levels around the value.

A dominance rule measures, on the scale of the contributions, how much larger the total should be for the
cell to be safe. The published cell value may be another quantity: the distance becomes a fraction
of the total of contributions, and the level is that fraction of the size of the value. In theory only the
upper level follows from the rule; the lower one is set equal, as is usual.

Rules get the contributors from here, or an error that names what the table lacks.
"""

from __future__ import annotations

import numpy as np

from hitoku.errors import RuleError
from hitoku.messages import Arguments
from hitoku.model import Attributions, Contributors, Floats, Integers, Mask, Need, Table
from hitoku.rules.rule import Level

# Range of a cell that was marked unsafe without levels, in percent of its value.
DEFAULT_PERCENT = 20.0


def step(table: Table) -> float:
    """Return the smallest useful level: one unit of the last decimal, if that is known."""
    return 1.0 if table.integer else 0.0


def percent_of_value(table: Table, percent: float) -> Floats:
    """Return a range in percent of every cell's size, at least one unit.

    Examples
    --------
    >>> table = Table.from_array([[50, 3], [7, 40]])
    >>> percent_of_value(table, 10)[:2].tolist()
    [5.0, 1.0]
    """
    return np.maximum(percent / 100 * np.abs(table.value), step(table))


def from_distance(table: Table, contributors: Contributors, distance: Floats) -> Floats:
    """Convert distances on the scale of contributions to levels on the scale of values.

    A cell may be unsafe although its distance or its total of contributions is not positive (because of
    negative contributions); such a cell gets the default range, never zero.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> table = one_cell(80, 15, 5)
    >>> from_distance(table, table.units, np.array([3.0])).tolist()
    [3.0]
    """
    usable = (contributors.total > 0) & (distance > 0)
    total = np.where(usable, contributors.total, 1.0)
    scaled = np.where(usable, distance, 0.0) * (np.abs(table.value) / total)
    return np.where(usable, np.maximum(scaled, step(table)), percent_of_value(table, DEFAULT_PERCENT))


def per_person(table: Table, groups: Integers) -> Floats:
    """Return the value of one person in each group: one in a table of counts.

    Rules about groups count people, and the published quantity may be another: weighted counts, records of
    people who have several, magnitudes. The value of a person is then the mean of the group; if the values
    are overall no smaller than the number of people, at least one.

    Examples
    --------
    >>> table = Table.from_array([[34, 0], [12, 8]], frequency=[[17, 0], [6, 4]])
    >>> per_person(table, np.array([2, 5])).tolist()
    [2.0, 2.0]
    """
    frequency, size = table.frequency, np.abs(table.value)
    if frequency is None or np.array_equal(frequency, table.value):
        return np.ones(len(groups))
    overall = float(size.sum()) / max(float(frequency.sum()), 1.0)
    people = frequency[groups]
    own = np.where(people > 0, size[groups] / np.maximum(people, 1), overall)
    return np.maximum(own, min(overall, 1.0))


def tells_of_people(table: Table) -> bool:
    """Return whether a zero of a table means that the cell is empty: not if values may be negative."""
    return bool(np.all(table.lower >= 0))


def structural_zero(table: Table) -> Mask:
    """Return which cells are structural zeros: they are empty and may not be suppressed."""
    if table.fixed is None:
        return np.zeros(table.n_cells, dtype=bool)
    empty = table.value == 0 if table.frequency is None else (table.value == 0) & (table.frequency == 0)
    return np.asarray(table.fixed & empty)


def need_of_rule(
    table: Table,
    rule: str,
    unsafe: Mask,
    lower: Floats | float = 0.0,
    upper: Floats | float = 0.0,
    attributions: Attributions | None = None,
) -> Need:
    """Return the need of a rule, with levels limited by known bounds.

    Public knowledge cannot be protected: a level never extends beyond the known bounds of its
    cell. Structural zeros are never unsafe.

    Examples
    --------
    >>> from hitoku.testing import one_cell
    >>> need = need_of_rule(one_cell(2), "given", np.array([True]), lower=5.0, upper=5.0)
    >>> need.lower.tolist(), need.upper.tolist()
    ([2.0], [5.0])
    """
    unsafe = np.asarray(unsafe & ~structural_zero(table))
    return Need(
        unsafe=unsafe,
        lower=np.where(unsafe, np.minimum(lower, table.value - table.lower), 0.0),
        upper=np.where(unsafe, np.minimum(upper, table.upper - table.value), 0.0),
        rules={rule: unsafe},
        attributions=attributions,  # type: ignore[arg-type]  # none where left out
    )


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
            "negative contributions, but no ranking was chosen",
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


def respondents_of(table: Table, rule: str) -> Integers:
    """Return the number of respondents of each cell, or raise if the table has none."""
    if table.frequency is None:
        raise RuleError(
            "respondents_unknown",
            "the table does not say how many respondents are in its cells",
            where="rule {rule}",
            fix="give from_array or from_frame {arguments}, or start from records with tabulate",
            arguments=Arguments(frequency=...),
            rule=rule,
        )
    return table.frequency
