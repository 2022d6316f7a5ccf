"""Small levels beside large values: sizes that belong together, and how far cells need move for them.

A cell that must be able to move by two is not helped by another that can move by a million millions: nobody
needs more room than a large multiple of what is asked. With no more room than that, programs hold numbers of
like size, and what fits into less room fits into all of it: an outsider who knew the tighter bounds would
know more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.model.arrays import Floats, Mask

# Room that is left to cells, as a multiple of the largest level of a group; and how far levels of a group
# may lie apart.
ROOM = 1e6
# Beyond this multiple of that room solvers round away what is asked.
OUT_OF_SCALE = 1e3


def groups_by_size(level: Floats, room: float) -> Iterator[tuple[Mask, float]]:
    """Divide levels into groups of like size, each with the room that it needs; infinite for what there is.

    Parameters
    ----------
    level
        What is asked, above zero.
    room
        The largest distance that a cell may move.

    Examples
    --------
    >>> [(mask.tolist(), far) for mask, far in groups_by_size(np.array([2.0, 1e14, 3.0]), 1e15)]
    [([True, False, True], 3000000.0), ([False, True, False], inf)]
    """
    left = np.ones(len(level), dtype=np.bool_)
    while left.any():
        smallest = float(level[left].min())
        group = left & (level <= ROOM * smallest)
        far = ROOM * float(level[group].max())
        yield group, far if room > OUT_OF_SCALE * far else np.inf
        left &= ~group
