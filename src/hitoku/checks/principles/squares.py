"""Dominance by the square: one unit that makes up most of a sum of powers is told by it.

A standard deviation times the root of n is the deviation of a unit that has nearly all of the sum of squares;
so is a residual, and a coefficient that one outcome decides. So the dominance rule is applied to the powers.
"""

from __future__ import annotations

import numpy as np

from hitoku.checks.evidence import GroupEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.groups import judge_mask
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
from hitoku.model import LIMIT, Floats, Integers, Mask

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


def dominated(shares: Floats | None, policy: Policy) -> Mask | None:
    """Tell which sums one unit makes up; None where the policy does not ask, or nobody knows."""
    if policy.squares is None or shares is None:
        return None
    return np.asarray(shares - policy.squares.k / 100 > LIMIT)


def withheld_for_squares(n: int, shares: Floats | None, policy: Policy) -> Mask:
    """Return the groups that are withheld for it: those dominated, where the policy lets them fail."""
    found = dominated(shares, policy)
    if found is None or policy.squares is None or policy.squares.verdict != "fail":
        return np.zeros(n, dtype=np.bool_)
    return found


def square_verdicts(
    evidence: GroupEvidence, shares: Floats | None, policy: Policy, what: str
) -> tuple[PrincipleVerdict, ...]:
    """Say whether one unit makes up a sum of powers; nothing where the policy does not ask.

    Parameters
    ----------
    evidence
        With its groups.
    shares
        The largest share of one unit in each; None in evidence of before this was asked for.
    policy
        Says how much is too much, and whether that fails or needs a look.
    what
        What is added up, in words.
    """
    rule = policy.squares
    if rule is None:
        return ()
    if shares is None:
        return (unknown(),)
    unsafe = np.asarray(shares - rule.k / 100 > LIMIT)
    found = judge_mask(
        Principle.DOMINANCE,
        REASON,
        unsafe,
        evidence.withheld,
        evidence.labels.__getitem__,
        f"no unit with more than {rule.k:g} % of {what}",
        {"k": rule.k, "largest_share": float(shares.max())},
        "take larger groups, a percentile instead, or the logarithm",
    )
    return (softened(found, policy),)


def softened(found: PrincipleVerdict, policy: Policy) -> PrincipleVerdict:
    """Have a person look instead, where the policy says so."""
    if found.status is not Clearance.FAIL or policy.squares is None or policy.squares.verdict == "fail":
        return found
    return PrincipleVerdict(
        principle=found.principle,
        status=Clearance.LOOK,
        reason=found.reason,
        text=found.text,
        numbers=found.numbers,
        remedy=found.remedy,
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
