"""Dominance by the square: one unit that makes up most of a sum of powers is told by it.

A standard deviation times the root of n is the deviation of a unit that has nearly all of the sum of squares;
so is a residual, and a coefficient that one outcome decides. So the dominance rule is applied to the powers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hitoku.checks.policies import Policy
from hitoku.checks.principles.verdict import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
)
from hitoku.model import LIMIT, Floats, Integers

REASON = "dominated_squares"


def largest_share(parts: Floats, who: Integers, *, repeated: bool) -> float:
    """Return the largest share that one unit has of a sum of parts that are not negative.

    Examples
    --------
    >>> largest_share(np.array([1.0, 3.0, 4.0]), np.array([7, 8, 7]), repeated=True)
    0.625
    """
    total = float(parts.sum())
    if not total > 0:
        return 0.0
    if repeated:
        _, place = np.unique(who, return_inverse=True)
        return min(float(np.bincount(place, weights=parts).max()) / total, 1.0)
    return min(float(parts.max()) / total, 1.0)


def severity(policy: Policy) -> Clearance:
    """Return the status of a dominated sum of powers."""
    return Clearance.LOOK if policy.squares is None else Clearance(policy.squares.verdict)


def square_tests(shares: Floats | None, policy: Policy, what: str) -> Iterator[Applied]:
    """Test that no unit makes up a sum of powers; nothing where the policy has no such rule.

    Parameters
    ----------
    shares
        The largest share of one unit in each group; None in evidence of before this was asked for.
    policy
        Says how much is too much, and whether that fails or needs a look.
    what
        What is added up, in words.
    """
    rule = policy.squares
    if rule is None:
        return
    if shares is None:
        yield unknown()
        return
    yield PrincipleTest(
        principle=Principle.DOMINANCE,
        reason=REASON,
        unsafe=np.asarray(shares - rule.k / 100 > LIMIT),
        rule=f"no unit with more than {rule.k:g} % of {what}",
        numbers={"k": rule.k, "largest_share": float(shares.max())},
        remedy="take larger groups, a percentile instead, or the logarithm",
        severity=severity(policy),
    )


def unknown() -> PrincipleVerdict:
    """Say that the evidence does not tell: it is of an earlier version, or of a model without residuals."""
    return PrincipleVerdict(
        principle=Principle.DOMINANCE,
        status=Clearance.LOOK,
        reason="not_testable",
        text="not testable: how much one unit makes up of it is not known",
        remedy="the checker decides",
    )
