"""Groups that an attack still pins after elimination: withhold more until somebody could be elsewhere.

That no number follows is not enough here: some table that fits, without a count below zero, must have more
than k people of the group outside. Those outside are a cell of their own, not published, with an upper level;
the greedy method, which knows about intervals, adds what it takes to the cells that elimination withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hitoku.errors import NeedError, some
from hitoku.methods.greedy import Greedy
from hitoku.model import Floats, Labels, Mask, Need, Protection, Release, Table

# Totals that get withheld on the way change what a group needs, so the attack is asked again.
MOST_ROUNDS = 50


def unpin(table: Table, need: Need, withheld: Mask, keep: Mask, attack: Any) -> Mask:
    """Return the withheld cells, and as many more as it takes for the attack to find nothing.

    Parameters
    ----------
    table, need
        The table and its unsafe cells.
    withheld
        What is withheld so far.
    keep
        Cells that stay published.
    attack
        Finds groups: cells of a ``total``, ``inside`` and ``outside``; at most ``k`` of them are outside.
    """
    known: dict[Any, float] = {}
    for _ in range(MOST_ROUNDS):
        found = attack.find(Release.of(table, Protection.withhold(table, withheld)))
        if not found:
            return withheld
        for group in found:
            # Where everybody sees that a group is no larger than k, it is enough that all may be elsewhere.
            size = np.inf if withheld[group.total] or group in known else table.value[group.total]
            known[group] = min(attack.k + 1.0, float(size))
        groups = list(known)
        wider, outside = _with_outside(table, groups)
        missing = np.maximum(np.array([known[group] for group in groups]) - outside, 0.0)
        extended = Need(
            unsafe=np.append(need.unsafe & withheld, np.ones(len(groups), dtype=bool)),
            upper=np.append(np.zeros(table.n_cells), missing),
        )
        nobody = np.zeros(len(groups), dtype=bool)
        start, stay = np.append(withheld, ~nobody), np.append(keep, nobody)
        greedy = Greedy(prefer="closing", start=start, keep=stay, record="cells")
        withheld = greedy.protect(wider, extended).withheld[: table.n_cells]
    raise NeedError(
        "groups_pinned",
        "{n} group(s) can still be pinned to a value",
        where="groups {groups}",
        fix="keep fewer cells, or merge codes",
        n=len(found),
        groups=some((table.describe(group.total) for group in found[:3]), 3),
    )


def _with_outside(table: Table, groups: Sequence[Any]) -> tuple[Table, Floats]:
    """Add to a table, for each group, a cell for everybody outside."""
    n, m = table.n_cells, len(groups)
    outside = np.array([table.value[list(group.outside)].sum() for group in groups])
    row = [i for i, group in enumerate(groups) for _ in range(len(group.outside) + 1)]
    cell = [c for i, group in enumerate(groups) for c in (*group.outside, n + i)]
    data = [x for group in groups for x in (*(1.0 for _ in group.outside), -1.0)]
    old = sparse.hstack([table.relations, sparse.csr_array((table.relations.shape[0], m))])
    new = sparse.csr_array((data, (row, cell)), shape=(m, n + m))
    low = [table.lower[list(group.outside)].sum() for group in groups]
    wider = Table(
        value=np.append(table.value, outside),
        relations=sparse.vstack([old, new], format="csr"),
        labels=Labels.numbered(n + m),
        lower=np.append(table.lower, low),
        upper=np.append(table.upper, np.full(m, np.inf)),
        integer=table.integer,
    )
    return wider, outside
