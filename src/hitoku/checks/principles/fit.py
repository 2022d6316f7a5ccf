"""Perfect fit: a statistic that says that one variable gives the other gives it for everybody.

A correlation of one is a line on which everybody lies, and means and deviations say which. Chi square of its
largest value says that each category of one variable belongs to one category of the other.
"""

from __future__ import annotations

import numpy as np

from hitoku.checks.evidence import GroupEvidence
from hitoku.checks.principles.groups import judge_mask
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
from hitoku.model import Floats, Mask

# What may be left unexplained, as a share of the squares: less is rounding, or as good as nothing.
UNEXPLAINED = 1e-6


def perfect(n: int, fit: Floats | None) -> Mask:
    """Return the groups in which one variable gives the other.

    Parameters
    ----------
    n
        How many groups there are.
    fit
        The share of squares that is explained: the square of a correlation, R², the square of Cramér's V.
        None where a statistic shows none.
    """
    return np.zeros(n, dtype=np.bool_) if fit is None else np.asarray(fit >= 1 - UNEXPLAINED)


def fit_verdicts(evidence: GroupEvidence, fit: Floats | None) -> tuple[PrincipleVerdict, ...]:
    """Refuse a perfect fit; where the evidence does not say, a person looks."""
    if fit is None:
        return (
            PrincipleVerdict(
                principle=Principle.INDIVIDUAL_VALUE,
                status=Clearance.LOOK,
                reason="not_testable",
                text="not testable: how well one variable gives the other is not known",
                remedy="have it made again, or the checker decides",
            ),
        )
    return (
        judge_mask(
            Principle.INDIVIDUAL_VALUE,
            "perfect_fit",
            perfect(evidence.n_parts, fit),
            evidence.withheld,
            evidence.labels.__getitem__,
            "no variable that gives the other for everybody",
            {"largest_fit": float(fit.max())},
            "leave out one of the two variables: it says the same as the other",
        ),
    )
