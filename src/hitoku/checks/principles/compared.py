"""The groups that enter a test: its statistic and p value are equations about the moments of these groups.

With the mean and the deviation of all, Welch's t and its degrees of freedom give mean and deviation of both
groups; so each group needs as many units as if these were published. A chi square of two variables with two
categories each gives their four counts to whoever knows the totals. Of larger tables the counts do not follow
from one equation, but they are whole numbers: with all digits of the statistic they can be found by trying.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hitoku.checks.evidence import GroupEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.groups import judge_mask
from hitoku.checks.principles.values import MOST_SAFE_DECIMALS
from hitoku.checks.principles.verdict import Clearance, Principle, PrincipleVerdict
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


def entering_masks(n: int, tested: ComparedGroups | None, policy: Policy) -> tuple[Mask, ...]:
    """Return where a group of a test is too small, and where what is told within one is."""
    if tested is None:
        return (np.zeros(n, dtype=np.bool_),)
    small = ((tested.entering > 0) & (tested.entering < policy.least_tested)).any(axis=1)
    told = _disclosed(tested, policy)
    return np.asarray(small), np.asarray(told & _follows(tested))


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


def entering_verdicts(
    evidence: GroupEvidence, tested: ComparedGroups | None, policy: Policy
) -> tuple[PrincipleVerdict, ...]:
    """Check that every group that enters a test has enough units, and that no count follows that may not."""
    if tested is None:
        text = "not testable: how many units are in the groups of the test is not known"
        return (_look("not_testable", text, "have it made again, or the checker decides"),)
    small, told = entering_masks(evidence.n_parts, tested, policy)
    everybody = int(evidence.n_units.max())
    found = [
        judge_mask(
            Principle.UNITS,
            "group_of_few",
            small,
            evidence.withheld,
            evidence.labels.__getitem__,
            f"at least {policy.least_tested} units in every group that is compared",
            {
                "minimum": policy.least_tested,
                "smallest": int(tested.entering[tested.entering > 0].min(initial=everybody)),
            },
            "merge the small groups with others, or leave them out with where=",
        )
    ]
    parts = tested.parts[tested.parts > 0]
    if _follows(tested).any() and parts.size:
        found.append(
            judge_mask(
                Principle.GROUP,
                "two_values",
                told,
                evidence.withheld,
                evidence.labels.__getitem__,
                f"two values in a group, so counts: each of at least {policy.least_units} units, "
                f"and of at most {policy.group.share:.0%}",
                {"minimum": policy.least_units, "share": policy.group.share, "smallest": int(parts.min())},
                "take larger groups, or ask for a frequency table, which withholds less",
            )
        )
    open_ = _disclosed(tested, policy) & ~_follows(tested) & ~evidence.withheld
    if tested.exact and open_.any():
        text = (
            f"counts of few units, or of nearly all of a category, in {int(open_.sum())} of {len(open_)}: "
            "with all digits of the statistic and the totals they can be found by trying"
        )
        found.append(_look("small_cells", text, f"decimals={MOST_SAFE_DECIMALS}, or merge categories"))
    return tuple(found)


def _look(reason: str, text: str, remedy: str) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=Principle.UNITS, status=Clearance.LOOK, reason=reason, text=text, remedy=remedy
    )
