"""Blocks without rectangles: groups with flags, and a proof by tables that show the same.

Groups and further cells follow from flags and from what is public. Whether all cells of flagged groups are
wide is found out from what is published and the flags alone (:mod:`hitoku.methods.blocks.witness_walk`), so
every table with the same release and flags is judged alike.
"""

from __future__ import annotations

import numpy as np

from hitoku.errors import NeedError, ScopeError
from hitoku.methods.blocks.exchange import Cell
from hitoku.methods.blocks.expectation import PARTS
from hitoku.methods.blocks.flags import closure, flagged, groups_of
from hitoku.methods.blocks.reach import FAR
from hitoku.methods.blocks.terms import Terms
from hitoku.methods.blocks.witness_walk import FlaggedRelease, WitnessWalk
from hitoku.model import Integers, Mask

# A change from one table to the next: cells, and by how much.
Step = dict[Cell, int]


def witnessed(
    values: Integers, terms: Terms, expected: Integers, size: int, count: int
) -> tuple[Mask, list[Step]]:
    """Withhold flagged groups and what lets them move; also return steps through tables that show the same.

    The first step leads from the table itself to another one, each of the others to the next.

    Examples
    --------
    >>> from hitoku.methods.blocks.expectation import expectation
    >>> values = np.array([[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]])
    >>> expected = expectation(values.sum(axis=1), values.sum(axis=0), None)
    >>> withheld, steps = witnessed(values, Terms.below((4, 4), 5, 9), expected, 2, 1)
    >>> withheld.astype(int)
    array([[1, 1, 0, 1],
           [0, 0, 0, 0],
           [0, 0, 0, 0],
           [1, 1, 0, 1]])
    """
    if terms.free is not None or np.any(terms.large < FAR):
        raise ScopeError(
            "witnesses_need_small_counts",
            "with proof='witnesses', tables have no structural zeros, and only small counts are unsafe",
            where="blocks, proof",
            fix="use proof='theorem'",
        )
    group = groups_of(expected, size)
    marked = flagged(group, terms.unsafe(values))
    if not marked.any():
        return marked, []
    hidden = closure(marked, expected, int(terms.width.max()), count)
    inside = np.where(hidden, values, 0)
    # From here on nothing knows the values but by these sums.
    sums = inside.sum(axis=1), inside.sum(axis=0)
    walk = WitnessWalk.begin(FlaggedRelease(*sums, hidden, marked, group, expected // PARTS, terms))
    if walk is None or not walk.widen():
        raise NeedError(
            "no_witnesses_found",
            "no tables were found that show the same and leave every cell wide enough",
            where="blocks, proof='witnesses'",
            fix="publish nothing of this table, and do not try other parameters on it: that it was refused "
            "depends on its cells; for the next table ask for a larger group, or for proof='theorem'",
        )
    first, *others = walk.steps
    away = {cell: there - int(values[cell]) for cell, there in first.items() if there != values[cell]}
    return hidden, [away, *others]
