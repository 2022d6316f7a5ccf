"""Fixed cells taken out of the problem: published for certain, or withheld for certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance, movable
from hitoku.model.arrays import Floats, Integers, Mask

# A row is left out when cells that are certain fill it but for this share.
FULL = 1e-6


def fix_cells(instance: Instance, alive: Mask, certain: Integers) -> Instance | None:
    """Publish all but ``alive`` cells, withhold ``certain`` ones; None when a level's cell is then stuck."""
    forced = instance.forced.copy()
    forced[certain] = True
    still = movable(instance.relations, alive | forced)
    if not still[instance.levels.cell].all():
        return None
    # Cells that are withheld anyway stay in the books, even where they cannot move.
    return replace(instance, forced=forced).kept(still | forced)


def restrict_cuts(rows: Cuts, old: Instance, new: Instance) -> Cuts:
    """Rewrite cuts for an instance with fewer cells, some of them now withheld for certain."""
    place = np.full(len(old), -1)
    place[np.isin(old.cells, new.cells)] = np.arange(len(new))
    made: list[tuple[Integers, Floats]] = []
    lively = 0
    for k in range(len(rows)):
        if k == rows.n_lively:
            lively = len(made)
        cells, c = rows.row(k)
        at = place[cells]
        cells, c = at[at >= 0], c[at >= 0]
        certain = new.forced[cells]
        left = 1.0 - c[certain].sum()
        if left > FULL:
            made.append((cells[~certain], np.minimum(c[~certain] / left, 1.0)))
    return Cuts.of(made, len(made) if rows.n_lively == len(rows) else lively)
