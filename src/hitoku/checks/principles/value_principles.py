"""Statistics that reveal how many units have which value: few distinct values, and groups of a test.

A mean of zeros and ones is a count, whatever the two codes are. In general, the units that have each of d
values are d - 1 unknowns given the number of all units, so d - 1 statistics determine them. The statistics
must then meet the rules for the corresponding table of counts. If almost all units have the same value,
statistics that show it are suppressed, as a table cell with almost all of its row is. Values are counted in
every group separately: a code that occurs elsewhere in the file makes no difference.

The statistic and p value of a test are equations about the moments of the groups that enter it. With the
overall mean and deviation, Welch's t and its degrees of freedom give mean and deviation of both groups, so
each group needs as many units as if these were published. A chi square of two binary variables gives their
four counts to an attacker who knows the totals. For larger tables one equation does not determine the counts,
but they are integers: with all digits of the statistic they can be found by enumeration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hitoku.checks.evidence import COUNTED, FEW_VALUES, GroupEvidence, ValuesEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.principle_verdict import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
)
from hitoku.messages import Text
from hitoku.model import LIMIT, Integers, Mask

# A statistic with at most this many decimals fits many tables of counts.
MAX_SAFE_DECIMALS = 3


def many_digits(decimals: int | None) -> bool:
    """Return whether a statistic has so many digits that counts can be found by enumeration."""
    return decimals is None or decimals > MAX_SAFE_DECIMALS


def nearly_alike(n_units: Integers, holders: Integers, policy: Policy) -> Mask:
    """Return the groups in which a value is more frequent than a cell may be in its row.

    Groups with too few units are excluded: they are rejected for that reason.
    """
    above = holders[:, 0] - policy.group.share * n_units > LIMIT * n_units
    return np.asarray(above & (n_units >= policy.least_units))


def reveals_counts(
    n_units: Integers, n_values: Integers | None, holders: Integers | None, policy: Policy, equations: int = 1
) -> Mask:
    """Return the groups whose statistics reveal unsafe counts.

    Parameters
    ----------
    n_units, n_values, holders
        Counts of each group, as in :class:`ValuesEvidence`; None if values were not counted.
    policy
        Policy with the minimum units and the maximum share of a value.
    equations
        Number of published statistics of the variable.
    """
    if n_values is None or holders is None:
        return np.zeros(len(n_units), dtype=np.bool_)
    alike, few = nearly_alike(n_units, holders, policy), held_by_few(n_units, holders, policy)
    return np.asarray(
        groups_with_determined_counts(n_values, equations) & (few | alike) | (n_values <= FEW_VALUES) & alike
    )


def held_by_few(n_units: Integers, holders: Integers, policy: Policy) -> Mask:
    """Return the groups with enough units in which a frequent value has too few units."""
    few = ((holders > 0) & (holders < policy.least_units)).any(axis=1)
    return np.asarray(few & (n_units >= policy.least_units))


def groups_with_determined_counts(n_values: Integers, equations: int) -> Mask:
    """Return the groups whose counts by value are determined by this many statistics."""
    return np.asarray(n_values <= min(equations + 1, COUNTED))


def few_values(
    evidence: GroupEvidence,
    n_values: Integers | None,
    holders: Integers | None,
    policy: Policy,
    word: str = "a variable",
    *,
    exact: bool = False,
) -> Iterator[Applied]:
    """Judge a variable with few values as the table of counts that its average reveals.

    Parameters
    ----------
    evidence
        Evidence with the groups.
    n_values, holders, policy
        As in :func:`reveals_counts`.
    word
        Displayed name of the variable, if the statistic involves several.
    exact
        Whether it is not a sum of values and has almost all digits: then few integers fit.
    """
    if n_values is None or holders is None:
        yield unknown()
        return
    unsafe = reveals_counts(evidence.n_units, n_values, holders, policy)
    two = groups_with_determined_counts(n_values, 1)
    if (two | unsafe).any():
        counted = holders[two] if two.any() else holders
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="two_values",
            unsafe=unsafe,
            rule=Text(
                "{variable} with few values, so a count: each of two that of at least {least_units} units, "
                "and none that of more than {share:.0%}",
                variable=Text(word),
                least_units=policy.least_units,
                share=policy.group.share,
            ),
            numbers={
                "minimum": policy.least_units,
                "share": policy.group.share,
                "smallest": int(counted[counted > 0].min()),
            },
            remedy="use larger groups, or request a frequency table, which suppresses less",
        )
    if exact:
        yield from _by_trying(evidence, n_values, holders, policy)


def _by_trying(
    evidence: GroupEvidence, n_values: Integers, holders: Integers, policy: Policy
) -> Iterator[PrincipleVerdict]:
    """Require review if counts of few values are the only integers that fit a statistic."""
    n_units = evidence.n_units
    disclosed = (n_values > 2) & (n_values <= COUNTED) & held_by_few(n_units, holders, policy)
    open_ = int((disclosed & ~evidence.withheld).sum())
    if open_:
        yield PrincipleVerdict(
            principle=Principle.GROUP,
            status=Clearance.REVIEW,
            reason="few_values",
            text=Text(
                "up to {most} different values, one that of fewer than {least_units} units, in {n} of "
                "{total}: with all digits of the statistic the counts can be found by trying",
                most=COUNTED,
                least_units=policy.least_units,
                n=open_,
                total=len(disclosed),
            ),
            numbers={"minimum": policy.least_units, "most": COUNTED, "groups": open_},
            remedy=Text("decimals={decimals}, or take larger groups", decimals=MAX_SAFE_DECIMALS),
        )


def nearly_all_equal(evidence: ValuesEvidence, policy: Policy) -> Applied:
    """Test that no value is shared by almost all units, for a statistic that would reveal it."""
    if evidence.holders is None or evidence.n_values is None:
        return unknown()
    most = evidence.holders[:, 0] / np.maximum(evidence.n_units, 1)
    return PrincipleTest(
        principle=Principle.GROUP,
        reason="nearly_all_equal",
        unsafe=nearly_alike(evidence.n_units, evidence.holders, policy),
        rule=Text("no value that of more than {share:.0%} of the units", share=policy.group.share),
        numbers={"share": policy.group.share, "largest_share": float(most.max())},
        remedy="take larger groups, or leave these groups out",
    )


def unknown() -> PrincipleVerdict:
    """Return the verdict for evidence of earlier versions without the number of distinct values."""
    return PrincipleVerdict(
        principle=Principle.GROUP,
        status=Clearance.REVIEW,
        reason="not_testable",
        text=Text("not testable: {text}", text=Text("how many units have the same value is not known")),
        remedy="create it again, or let the checker decide",
    )


class ComparedGroups(NamedTuple):
    """Groups that enter a test, for each group of records for which it is computed."""

    entering: Integers  # Units of every group of the test, 0 for a group that does not occur.
    parts: Integers  # Units of the parts it reveals: two values of each group, or the cells of chi square.
    wholes: Integers  # Units of the group of each part; for a cell, of the smaller of its categories.
    cells: bool  # Whether the parts are the cells of two variables whose categories are the groups.
    exact: bool  # Whether its numbers are published with almost all digits.


def _follows(tested: ComparedGroups) -> Mask:
    """Return where the statistic determines the parts: for chi square of two binary variables."""
    if not tested.cells:
        return np.ones(len(tested.entering), dtype=np.bool_)
    return np.asarray((tested.entering > 0).sum(axis=1) == 4)


def _unsafe_parts(tested: ComparedGroups, policy: Policy) -> Mask:
    """Return where the parts are unsafe counts."""
    parts, wholes = tested.parts, tested.wholes
    few = ((parts > 0) & (parts < policy.least_units)).any(axis=1)
    most = ((parts > 0) & (parts - policy.group.share * wholes > LIMIT * wholes)).any(axis=1)
    return np.asarray(few | most)


def entering_tests(
    evidence: GroupEvidence, tested: ComparedGroups | None, policy: Policy
) -> Iterator[Applied]:
    """Test that every group of a test has enough units, and that no unsafe count is determined."""
    if tested is None:
        why = Text("how many units are in the groups of the test is not known")
        text = Text("not testable: {text}", text=why)
        yield _review("not_testable", text, "create it again, or let the checker decide")
        return
    small = ((tested.entering > 0) & (tested.entering < policy.least_tested)).any(axis=1)
    everybody = int(evidence.n_units.max())
    yield PrincipleTest(
        principle=Principle.UNITS,
        reason="group_of_few",
        unsafe=np.asarray(small),
        rule=Text(
            "at least {least_tested} units in every group that is compared", least_tested=policy.least_tested
        ),
        numbers={
            "minimum": policy.least_tested,
            "smallest": int(tested.entering[tested.entering > 0].min(initial=everybody)),
        },
        remedy="merge the small groups with others, or leave them out with where=",
    )
    parts, disclosed, follows = (
        tested.parts[tested.parts > 0],
        _unsafe_parts(tested, policy),
        _follows(tested),
    )
    if follows.any() and parts.size:
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="two_values",
            unsafe=disclosed & follows,
            rule=Text(
                "two values in a group, so counts: each of at least {least_units} units, and of at most "
                "{share:.0%}",
                least_units=policy.least_units,
                share=policy.group.share,
            ),
            numbers={
                "minimum": policy.least_units,
                "share": policy.group.share,
                "smallest": int(parts.min()),
            },
            remedy="use larger groups, or request a frequency table, which suppresses less",
        )
    open_ = disclosed & ~follows & ~evidence.withheld
    if tested.exact and open_.any():
        text = Text(
            "counts of few units, or of nearly all of a category, in {n} of {total}: with all digits of the "
            "statistic and the totals they can be found by trying",
            n=int(open_.sum()),
            total=len(open_),
        )
        yield _review(
            "small_cells",
            text,
            Text("decimals={decimals}, or merge categories", decimals=MAX_SAFE_DECIMALS),
        )


def _review(reason: str, text: str, remedy: str) -> PrincipleVerdict:
    return PrincipleVerdict(
        principle=Principle.UNITS, status=Clearance.REVIEW, reason=reason, text=text, remedy=remedy
    )
