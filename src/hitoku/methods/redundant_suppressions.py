"""Withheld cells that everybody can tell all the same: they hide nothing, and are published again.

A secondary cell of which every table that fits says the same number is lost for nothing. To print that number
rules out no table, so no interval gets narrower and no group is given away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hitoku.attacks import Interval
from hitoku.model import BOUND, Floats, Mask, Need, Protection, Reason, Release, Step, Table

# A cell that cannot move by this share of the least that is asked of any (of one, where that is smaller) is a
# point; a hundred times what the attack takes for rounding. Its own size does not matter: beside a count of
# three a million that can move by two is no point.
STIR = 100 * BOUND


def redundant_suppressions(table: Table, withheld: Mask, among: Mask, least: float = 1.0) -> Mask:
    """Tell which withheld cells have only one possible value.

    Parameters
    ----------
    table, withheld
        The table, and its withheld cells.
    among
        Cells to be asked about.
    least
        The least that an unsafe cell must be able to move.

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
    # Differences from the true table: values of any size leave no rounding.
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
    """Publish secondary cells that everybody can tell, other than those that must stay withheld.

    Parameters
    ----------
    table, need, found
        What was to be protected, and what a method decided.
    cost
        Cost of withholding each cell.
    stay
        Cells that stay withheld, such as those that somebody withheld by hand.
    """
    level = np.maximum(np.maximum(need.lower, need.upper), need.width)
    least = float(level[level > 0].min(initial=1.0))
    told = redundant_suppressions(table, found.withheld, found.secondary & ~stay, least)
    if not told.any():
        return found
    withheld = found.withheld & ~told
    return replace(
        found,
        withheld=withheld,
        secondary=withheld & ~need.unsafe,
        cost=float(cost[withheld].sum()),
        steps=(*found.steps, *(Step(int(cell), Reason.POINT) for cell in np.flatnonzero(told))),
    )
