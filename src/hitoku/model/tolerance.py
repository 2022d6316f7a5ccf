"""Every tolerance, named and explained once, and levels that are small beside large values.

A cell that must be able to move by two is not helped by another that can move by a million millions: no cell
needs more room than a large multiple of its level. With no more room than that, programs hold numbers of
like size, and what fits into less room fits into all of it: an outsider who knew the tighter bounds would
know more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.model.arrays import Floats, Mask

# A relation counts as satisfied when its terms cancel to within this share of their absolute
# sum: a thousand times the rounding of doubles, far below one unit in the last printed digit.
ADDITIVITY = 1e-9

# Bounds that an attack computes in floating point are compared with a requirement up to this
# share of the larger of the two. Proofs do not use it: certificates are exact.
BOUND = 1e-7

# What is lacking of a required level by no more than this share of it is rounding, however large the value.
LEVEL = 1e-6

# A primary rule compares contributions computed from a handful of doubles: an excess below this
# share of the total is rounding, and the cell stands exactly on the rule's limit, which is safe.
LIMIT = 1e-14

# Doubles are off by about this share of them after a few operations.
ROUNDING = 1e-13

# Sums of many doubles agree to about this share of the largest number in them; more is no rounding.
SUM_ROUNDING = 1e-12

# What a solver in doubles leaves of a number that is zero, as a share of those beside it.
SOLVED = 1e-9

# A solver's number this close to a whole number stands for it; fractions of a vertex are farther off.
WHOLE = 1e-6

# Whole numbers up to here are kept in doubles: sums of some of them are exact, too.
EXACT_SUMS = 2.0**50

# Numbers with at most this many decimals are worked on as whole numbers; with more there is no exact proof.
MAX_DECIMALS = 6


def slack(value: Floats, tolerance: float = BOUND) -> Floats:
    """Return what counts as rounding beside each value: a share of it, of one where it is smaller.

    Examples
    --------
    >>> slack(np.array([0.0, -2e9])).tolist()
    [1e-07, 200.0]
    """
    return np.asarray(tolerance * np.maximum(1.0, np.abs(value)))


def level_slack(value: Floats, level: Floats) -> Floats:
    """Return what counts as rounding of a required level: beside a large value a small level is not rounding.

    Examples
    --------
    >>> level_slack(np.array([2e9, 2e9, 5.0]), np.array([0.0, 7.0, 7.0])).round(8).tolist()
    [200.0, 7e-06, 5e-07]
    """
    usual = slack(value)
    return np.asarray(np.where(level > 0, np.minimum(usual, LEVEL * level), usual))


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
