"""Publish redundant secondary suppressions.

A suppressed cell that has the same value in every feasible table protects nothing. Publishing it excludes no
feasible table, so no interval narrows and no group is disclosed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hitoku.attacks import Interval
from hitoku.model import BOUND, Floats, Mask, Need, Protection, Reason, Release, Step, Table

# Minimum movement of a cell, as a share of the smallest requirement (or of one, if that is smaller). A
# hundred times the rounding tolerance of the attack. The cell's own size does not matter: next to a count of
# three, a million that can move by two is not redundant.
STIR = 100 * BOUND


def redundant_suppressions(table: Table, withheld: Mask, among: Mask, least: float = 1.0) -> Mask:
    """Return which suppressed cells have only one possible value.

    Parameters
    ----------
    table, withheld
        Table, and its suppressed cells.
    among
        Cells to test.
    least
        Smallest required movement of an unsafe cell.

    Examples
    --------
    >>> table = Table.from_array([[7, 11], [10, 60], [5, 8]])
    >>> withheld = np.isin(np.arange(12), [0, 1, 3, 4, 6])  # the 5 follows from its row
    >>> redundant_suppressions(table, withheld, withheld).nonzero()[0].tolist()
    [6]
    """
    asked = withheld & among
    if not asked.any():
        return asked
    # Deviations from the true table: values of any size cause no rounding.
    differences = Table(
        value=np.zeros(table.n_cells),
        relations=table.relations,
        labels=table.labels,
        lower=table.lower - table.value,
        upper=table.upper - table.value,
    )
    stir = np.where(asked, STIR * min(1.0, least), np.nan)
    release = Release.of(differences, Protection.withhold(differences, withheld))
    down, up = Interval().meets(release, -stir, stir)
    return np.asarray(asked & ~down & ~up)


def publish_redundant(table: Table, need: Need, found: Protection, cost: Floats, stay: Mask) -> Protection:
    """Publish secondary cells that can be derived, except those that must stay suppressed.

    Parameters
    ----------
    table, need, found
        Problem, and the pattern of a method.
    cost
        Cost of suppressing each cell.
    stay
        Cells that stay suppressed, such as those in ``start``.
    """
    level = np.maximum(np.maximum(need.lower, need.upper), need.width)
    least = float(level[level > 0].min(initial=1.0))
    redundant = redundant_suppressions(table, found.withheld, found.secondary & ~stay, least)
    if not redundant.any():
        return found
    withheld = found.withheld & ~redundant
    return replace(
        found,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=float(cost[withheld].sum()),
        steps=(*found.steps, *(Step(int(cell), Reason.POINT) for cell in np.flatnonzero(redundant))),
    )
