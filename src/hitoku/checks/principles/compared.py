"""The groups that enter a test: its statistic and p value are equations about the moments of these groups.

With the mean and the deviation of all, Welch's t and its degrees of freedom give mean and deviation of both
groups; so each group needs as many units as if these were published. A chi square of two variables with two
categories each gives their four counts to whoever knows the totals. Of larger tables the counts do not follow
from one equation, but they are whole numbers: with all digits of the statistic they can be found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hitoku.checks.evidence import GroupEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.values import MOST_SAFE_DECIMALS
from hitoku.checks.principles.verdict import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
)
from hitoku.model import LIMIT, Integers, Mask


class ComparedGroups(NamedTuple):
    """What enters a test, for each group of records that it is computed for.

    Parameters
    ----------
    entering
        Units of every group of the test, 0 for one that does not occur.
    parts
        Units of what is told within them: two values of each group, or the cells of chi square.
    wholes
        For each part the units of the group that it is in; of a cell those of the smaller of its categories.
    cells
        The parts are the cells of two variables, whose categories are the groups.
    exact
        Its numbers are published with nearly all digits.
    """

    entering: Integers
    parts: Integers
    wholes: Integers
    cells: bool
    exact: bool


def _follows(tested: ComparedGroups) -> Mask:
    """Return where the parts follow from the statistic: of chi square with two categories each."""
    if not tested.cells:
        return np.ones(len(tested.entering), dtype=np.bool_)
    return np.asarray((tested.entering > 0).sum(axis=1) == 4)


def _disclosed(tested: ComparedGroups, policy: Policy) -> Mask:
    """Return where the parts say too much as the table of counts that they are."""
    parts, wholes = tested.parts, tested.wholes
    few = ((parts > 0) & (parts < policy.least_units)).any(axis=1)
    most = ((parts > 0) & (parts - policy.group.share * wholes > LIMIT * wholes)).any(axis=1)
    return np.asarray(few | most)


def entering_tests(
    evidence: GroupEvidence, tested: ComparedGroups | None, policy: Policy
) -> Iterator[Applied]:
    """Test that every group that enters a test has enough units, and that no count follows that may not."""
    if tested is None:
        text = "not testable: how many units are in the groups of the test is not known"
        yield _look("not_testable", text, "have it made again, or the checker decides")
        return
    small = ((tested.entering > 0) & (tested.entering < policy.least_tested)).any(axis=1)
    everybody = int(evidence.n_units.max())
    yield PrincipleTest(
        principle=Principle.UNITS,
        reason="group_of_few",
        unsafe=np.asarray(small),
        rule=f"at least {policy.least_tested} units in every group that is compared",
        numbers={
            "minimum": policy.least_tested,
            "smallest": int(tested.entering[tested.entering > 0].min(initial=everybody)),
        },
        remedy="merge the small groups with others, or leave them out with where=",
    )
    parts, told, follows = tested.parts[tested.parts > 0], _disclosed(tested, policy), _follows(tested)
    if follows.any() and parts.size:
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="two_values",
            unsafe=told & follows,
            rule=f"two values in a group, so counts: each of at least {policy.least_units} units, "
            f"and of at most {policy.group.share:.0%}",
            numbers={
                "minimum": policy.least_units,
                "share": policy.group.share,
                "smallest": int(parts.min()),
            },
            remedy="take larger groups, or ask for a frequency table, which withholds less",
        )
    open_ = told & ~follows & ~evidence.withheld
    if tested.exact and open_.any():
        text = (
            f"counts of few units, or of nearly all of a category, in {int(open_.sum())} of {len(open_)}: "
            "with all digits of the statistic and the totals they can be found by trying"
        )
        yield _look("small_cells", text, f"decimals={MOST_SAFE_DECIMALS}, or merge categories")


def _look(reason: str, text: str, remedy: str) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=Principle.UNITS, status=Clearance.LOOK, reason=reason, text=text, remedy=remedy
    )
