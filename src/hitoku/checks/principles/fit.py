"""Perfect fit: a statistic that says that one variable gives the other gives it for everybody.

A correlation of one is a line on which everybody lies, and means and deviations say which. Chi square of its
largest value says that each category of one variable belongs to one category of the other.
"""

from __future__ import annotations

import numpy as np

from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleTest, PrincipleVerdict
from hitoku.model import Floats

# What may be left unexplained, as a share of the squares: less is rounding, or as good as nothing.
UNEXPLAINED = 1e-6


def perfect_fit(fit: Floats | None) -> PrincipleTest | PrincipleVerdict:
    """Test that no variable gives the other; where the evidence does not say, a person looks.

    Parameters
    ----------
    fit
        The share of squares that is explained: the square of a correlation, R², the square of Cramér's V.
    """
    if fit is None:
        return PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.LOOK,
            reason="not_testable",
            text="not testable: how well one variable gives the other is not known",
            remedy="have it made again, or the checker decides",
        )
    return PrincipleTest(
        principle=Principle.INDIVIDUAL_VALUE,
        reason="perfect_fit",
        unsafe=np.asarray(fit >= 1 - UNEXPLAINED),
        rule="no variable that gives the other for everybody",
        numbers={"largest_fit": float(fit.max())},
        remedy="leave out one of the two variables: it says the same as the other",
    )
