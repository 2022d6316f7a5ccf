"""Levels of unsafe cells: from a rule's distance to levels around the value.

A dominance rule measures, on the scale of the contributions, how much larger the total should be for the
cell to be safe. The published cell value may be another quantity: the distance becomes a fraction
of the total of contributions, and the level is that fraction of the size of the value. In theory only the
upper level follows from the rule; the lower one is set equal, as is usual.
"""

from __future__ import annotations

import numpy as np

from hitoku.model import Attributions, Contributors, Floats, Integers, Mask, Need, Table

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


def needed(
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
    >>> need = needed(one_cell(2), "given", np.array([True]), lower=5.0, upper=5.0)
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
