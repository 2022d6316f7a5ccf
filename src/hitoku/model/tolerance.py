"""Tolerances, each defined once, and bounds for levels that are small next to large values.

No cell needs more slack than a large multiple of its level. With slacks limited to that, programs contain
numbers of similar size, and a pattern that is safe under the limits is safe without them: an outsider who
knew the tighter bounds would know more.
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

# Missing a required level by at most this share of it is rounding, independently of the value.
LEVEL = 1e-6

# A primary rule compares contributions computed from a handful of doubles: an excess below this
# share of the total is rounding, and the cell stands exactly on the rule's limit, which is safe.
LIMIT = 1e-14

# Doubles are off by about this share of them after a few operations.
ROUNDING = 1e-13

# Sums of many doubles agree to about this share of their largest number; more is not rounding.
SUM_ROUNDING = 1e-12

# Error of a zero computed by a solver in doubles, as a share of the other numbers.
SOLVED = 1e-9

# A solver's number this close to an integer represents it; fractions of a vertex are further away.
WHOLE = 1e-6

# Integers up to this are stored in doubles: sums of some of them are exact, too.
EXACT_SUMS = 2.0**50

# Doubles represent all integers up to this one exactly.
LARGEST_WHOLE = 2**53

# Numbers with at most this many decimals are computed as integers; with more an exact proof is impossible.
MAX_DECIMALS = 6


def slack(value: Floats, tolerance: float = BOUND) -> Floats:
    """Return the rounding tolerance of each value: a share of it, or of one if that is larger.

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


# Slack granted to cells, as a multiple of the largest level of a group; also the maximum ratio of levels in a
# group.
MAX_SLACK = 1e6
# Above this multiple of that slack, solvers lose the levels in rounding.
OUT_OF_SCALE = 1e3


def groups_by_size(level: Floats, available: float) -> Iterator[tuple[Mask, float]]:
    """Divide levels into groups of similar size, and limit the slack of cells for each.

    Parameters
    ----------
    level
        Required levels, above zero.
    available
        Maximum distance that a cell may move.

    Yields
    ------
    Mask of a group, and the slack to which its programs limit cells; infinite if no limit is needed.

    Examples
    --------
    >>> [(mask.tolist(), far) for mask, far in groups_by_size(np.array([2.0, 1e14, 3.0]), 1e15)]
    [([True, False, True], 3000000.0), ([False, True, False], inf)]
    """
    left = np.ones(len(level), dtype=np.bool_)
    while left.any():
        smallest = float(level[left].min())
        group = left & (level <= MAX_SLACK * smallest)
        far = MAX_SLACK * float(level[group].max())
        yield group, far if available > OUT_OF_SCALE * far else np.inf
        left &= ~group
