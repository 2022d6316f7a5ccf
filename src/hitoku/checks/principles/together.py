"""Joint disclosure by several statistics of one group, viewed as equations about its units' values.

As many equations as unknowns determine every value, and integers need fewer. Statistics of one variable in
one group are therefore judged together, whether they are in one output or in several:

* percentiles are values of ordered units: between two of them there must be enough units;
* d - 1 statistics determine how many units have each of d distinct values, and are judged as a table;
* every statistic uses one degree of freedom of the others, and enough must remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np

from hitoku.checks.evidence import COUNTED
from hitoku.checks.policies import Policy
from hitoku.checks.principles.principle_verdict import Clearance, Principle, PrincipleTest, PrincipleVerdict
from hitoku.checks.principles.value_principles import reveals_counts
from hitoku.errors import some
from hitoku.messages import Text
from hitoku.model import Mask

MEAN, SPREAD = "mean", "spread"


class Determined(StrEnum):
    """Joint disclosure by several statistics of a group."""

    NEAR = "percentiles_too_near"
    COUNTS = "counts_follow"
    FREEDOM = "too_few_degrees_of_freedom"


PRINCIPLES: Mapping[Determined, Principle] = {
    Determined.NEAR: Principle.INDIVIDUAL_VALUE,
    Determined.COUNTS: Principle.GROUP,
    Determined.FREEDOM: Principle.FREEDOM,
}
REMEDIES: Mapping[Determined, str] = {
    Determined.NEAR: "take percentiles further apart, or larger groups",
    Determined.COUNTS: "omit some of the statistics, use larger groups, or request a frequency table",
    Determined.FREEDOM: "use larger groups, or leave some of the statistics out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Published statistic of one variable in one group."""

    codes: Mapping[str, str]  # Codes of the group.
    # variable, statistic: variable and statistic; statistics that determine each other given the number of
    # units, such as sum and mean, share a name.
    variable: str
    statistic: str
    n_units: int  # Units of the group.
    # n_values, holders: number of distinct values, 0 if unknown, and units with each of the most frequent
    # ones.
    n_values: int = 0
    holders: tuple[int, ...] = ()
    # percent, low, high: for a percentile: its percentage, and the units with values of at most, and of at
    # least, it.
    percent: float | None = None
    low: int = 0
    high: int = 0
    # Whether it also involves values of other, unpublished variables: it then uses a degree of freedom, but
    # gives no counts.
    joint: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {**asdict(self), "codes": dict(self.codes), "holders": list(self.holders)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Said:
        """Read what :meth:`to_dict` wrote."""
        return cls(**{**plain, "holders": tuple(plain["holders"])})


def rules(policy: Policy) -> dict[Determined, str]:
    """Describe the requirements for statistics that are judged together."""
    return {
        Determined.NEAR: Text(
            "at least {least_between} units from one percentile to the next",
            least_between=policy.least_between,
        ),
        Determined.COUNTS: Text(
            "as many statistics as few values have, so counts: each of at least {least_units} units, and "
            "of at most {share:.0%}",
            least_units=policy.least_units,
            share=policy.group.share,
        ),
        Determined.FREEDOM: Text(
            "degrees of freedom {freedom}, with all other statistics of the group", freedom=policy.freedom
        ),
    }


def problems(said: Iterable[Said], policy: Policy) -> set[Determined]:
    """Find the joint disclosures by statistics of one variable in one group.

    Examples
    --------
    >>> from hitoku.checks.policies import policy
    >>> def percentile(percent, low, high):
    ...     named = {"codes": {}, "variable": "x", "statistic": f"p{percent}", "percent": percent}
    ...     return Said(**named, n_units=101, low=low, high=high)
    >>> problems([percentile(50, 51, 51), percentile(51, 52, 50)], policy("japan-2017"))
    {<Determined.NEAR: 'percentiles_too_near'>}
    >>> problems([percentile(50, 51, 51), percentile(60, 61, 41)], policy("japan-2017"))
    set()
    """
    every = list({each.statistic: each for each in said}.values())
    found: set[Determined] = set()
    if nearest(every) < policy.least_between:
        found.add(Determined.NEAR)
    n_equations = sum(each.percent is None and not each.joint for each in every)
    counted = max(every, key=lambda each: each.n_values, default=None)
    if n_equations > 1 and counted is not None and counted.n_values:
        units, values = np.array([counted.n_units]), np.array([counted.n_values])
        holders = np.array([counted.holders]).reshape(1, COUNTED)
        if reveals_counts(units, values, holders, policy, n_equations).any():
            found.add(Determined.COUNTS)
    if len(every) > 1 and not policy.freedom.met(min(each.n_units for each in every) - (len(every) - 1)):
        found.add(Determined.FREEDOM)
    return found


def determined_tests(found: Mapping[Determined, Mask], policy: Policy) -> Iterator[PrincipleTest]:
    """Test groups whose own statistics disclose something together."""
    for problem, unsafe in found.items():
        if unsafe.any():
            yield PrincipleTest(
                principle=PRINCIPLES[problem],
                reason=str(problem),
                unsafe=unsafe,
                rule=rules(policy)[problem],
                remedy=REMEDIES[problem],
            )


def own_verdicts(said: Iterable[Said], policy: Policy) -> tuple[PrincipleVerdict, ...]:
    """Return the verdicts on joint disclosures within one undivided output.

    Parameters
    ----------
    said
        All its statistics, of any variables and groups.
    policy
        Policy with the requirements.
    """
    places: dict[tuple[frozenset[tuple[str, str]], str], list[Said]] = {}
    for each in said:
        places.setdefault((frozenset(each.codes.items()), each.variable), []).append(each)
    found: dict[Determined, list[str]] = {}
    for (group, variable), own in places.items():
        for problem in problems(own, policy):
            found.setdefault(problem, []).append(variable_label(group, variable))
    asked = rules(policy)
    return tuple(
        PrincipleVerdict(
            principle=PRINCIPLES[problem],
            status=Clearance.FAIL,
            reason=str(problem),
            text=Text(
                "{rule}: not met by {names}", rule=asked[problem], names=some(sorted(found[problem]), 3)
            ),
            numbers={"unsafe": len(found[problem])},
            remedy=REMEDIES[problem],
        )
        for problem in Determined
        if problem in found
    )


def variable_label(group: Iterable[tuple[str, str]], variable: str) -> str:
    """Return the displayed name of a variable in a group.

    Examples
    --------
    >>> variable_label([("region", "N")], "income"), variable_label([], "income")
    ('income in region=N', 'income in all')
    """
    cell = ", ".join(f"{key}={code}" for key, code in sorted(group)) or Text("all")
    return Text("{variable} in {group}", variable=variable, group=cell)


def nearest(said: Sequence[Said]) -> float:
    """Return the minimum number of units between two percentiles, including both ends.

    Infinity if there are fewer than two percentiles.
    """
    every = [each for each in said if each.percent is not None]
    widest = {(each.low, -each.high): each for each in every}
    ordered = [widest[place] for place in sorted(widest)]
    # Every unit is at most the upper or at least the lower percentile; units that are both lie between them.
    between = [upper.low + lower.high - upper.n_units for lower, upper in pairwise(ordered)]
    # Two percentiles between the same two units are two equations for the values of these.
    percents = {(each.percent, each.low) for each in every if each.low + each.high == each.n_units}
    between += [0 for count in Counter(low for _, low in percents).values() if count > 1]
    return min(between, default=float("inf"))
