"""Fixed cells taken out of the problem: published for certain, or withheld for certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hitoku.feasibility.incidence import Incidence
from hitoku.methods.optimal.cuts import Cuts
from hitoku.methods.optimal.instance import Instance
from hitoku.model import Integers, Mask

# A row is left out when cells that are certain fill it but for this share.
FULL = 1e-6


def fix_cells(instance: Instance, alive: Mask, certain: Integers) -> Instance | None:
    """Publish all but ``alive`` cells, withhold ``certain`` ones; None when a level's cell is then stuck."""
    forced = instance.forced.copy()
    forced[certain] = True
    still = Incidence.of(instance.relations).movable(alive | forced)
    if not still[instance.levels.cell].all():
        return None
    # Cells that are withheld anyway stay in the books, even where they cannot move.
    return replace(instance, forced=forced).kept(still | forced)


def restrict_cuts(rows: Cuts, old: Instance, new: Instance) -> Cuts:
    """Rewrite cuts for an instance with fewer cells, some of them now withheld for certain."""
    place = np.full(len(old), -1)
    place[np.isin(old.cells, new.cells)] = np.arange(len(new))
    at, row = place[rows.cells], np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    certain = (at >= 0) & new.forced[at]
    left = 1.0 - np.bincount(row[certain], weights=rows.coefficients[certain], minlength=len(rows))
    open_rows = left > FULL
    there = (at >= 0) & ~certain & open_rows[row]
    c = np.minimum(rows.coefficients[there] / left[row[there]], 1.0)
    ends = np.cumsum(np.bincount(row[there], minlength=len(rows)))[open_rows]
    lively = int(np.count_nonzero(open_rows[: rows.n_lively]))
    return Cuts(np.concatenate([np.zeros(1, dtype=np.int64), ends]), at[there], c, lively)
