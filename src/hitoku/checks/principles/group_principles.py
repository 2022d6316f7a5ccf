"""Principles for groups: units, dominance, degrees of freedom, squares and perfect fit.

If one unit has almost all of the sum of squares, the standard deviation times the root of n is its deviation;
the same holds for a residual, and for a coefficient that one outcome decides. The dominance rule is therefore
applied to powers as well. A correlation of one is a line through all units, and the published means and
deviations determine it. A maximal chi square means that each category of one variable belongs to one category
of the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hitoku.checks.evidence import FIT_ROUNDING, AmountEvidence, Evidence, GroupEvidence
from hitoku.checks.policies import Policy
from hitoku.checks.principles.principle_verdict import (
    Applied,
    Clearance,
    Principle,
    PrincipleTest,
    PrincipleVerdict,
)
from hitoku.errors import some
from hitoku.messages import Text
from hitoku.model import LIMIT, Floats, Integers, Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitsTest(PrincipleTest):
    """Test of the number of units, which a policy may relax for samples."""

    n_units: Integers  # Units of each part.
    policy: Policy  # Policy with the sampling fraction.

    def verdict(self, evidence: Evidence) -> PrincipleVerdict:
        """Return the verdict; parts accepted only because of sampling need review."""
        return require_sample_review(super().verdict(evidence), self.n_units, evidence.withheld, self.policy)


def few_units(evidence: GroupEvidence, policy: Policy) -> Mask:
    """Return the mask of groups with too few units."""
    return evidence.n_units < policy.least_units


def units(evidence: GroupEvidence, policy: Policy) -> PrincipleTest:
    """Test that every published part has enough units."""
    minimum = policy.least_units
    unsafe = few_units(evidence, policy)
    return UnitsTest(
        principle=Principle.UNITS,
        reason="too_few_units",
        unsafe=unsafe,
        rule=Text("at least {minimum} units", minimum=minimum),
        numbers={"minimum": minimum, "smallest": int(evidence.n_units.min())},
        remedy=merging(evidence.labels, evidence.n_units, minimum) if unsafe.any() else "",
        n_units=evidence.n_units,
        policy=policy,
    )


def require_sample_review(
    found: PrincipleVerdict, n_units: Integers, withheld: Mask, policy: Policy
) -> PrincipleVerdict:
    """Require review, with the estimate, for parts accepted only because the data are a sample."""
    sample = policy.sampling
    relaxed = (n_units > 0) & (n_units < policy.units.minimum) & ~withheld
    if sample is None or found.status is not Clearance.PASS or not relaxed.any():
        return found
    fewest = int(n_units[relaxed].min())
    risk = policy.population_risk(fewest)
    asked, n_relaxed = policy.units.minimum, int(relaxed.sum())
    return PrincipleVerdict(
        principle=Principle.UNITS,
        status=Clearance.REVIEW,
        reason="relaxed_by_sampling",
        text=Text(
            "{met}; {n} of {total} leave with fewer than {asked}: a sample of {fraction:g} shows {fewest} or "
            "more of fewer than {asked} in the population with a probability of at most {risk:.2g}",
            met=found.text,
            n=n_relaxed,
            total=len(n_units),
            asked=asked,
            fraction=sample.fraction,
            fewest=fewest,
            risk=risk,
        ),
        numbers={
            **found.numbers,
            "relaxed": n_relaxed,
            "fewest": fewest,
            "fraction": sample.fraction,
            "population_minimum": asked,
            "population_risk": risk,
        },
        remedy="the checker decides, with sampling_fraction among the facts of the decision",
    )


def dominated_groups(evidence: AmountEvidence, policy: Policy) -> Mask:
    """Return the mask of groups dominated by their largest contributors."""
    total, largest = evidence.size, evidence.largest
    rule = policy.dominance
    unsafe = largest[:, : rule.n].sum(axis=1) - rule.k / 100 * total > LIMIT * total
    if rule.p is not None:
        rest = total - largest[:, 0] - largest[:, 1]
        unsafe |= rule.p / 100 * largest[:, 0] - rest > LIMIT * total
    return np.asarray(unsafe)


def dominance_rule(policy: Policy) -> Text:
    """Describe the dominance rule of a policy."""
    rule = policy.dominance
    template = "({n}, {k:g}) dominance" if rule.p is None else "({n}, {k:g}) dominance and the {p:g} % rule"
    return Text(template, n=rule.n, k=rule.k, p=rule.p)


def dominance(evidence: AmountEvidence, policy: Policy) -> PrincipleTest:
    """Test that the largest contributors do not exceed their limit."""
    rule, total = policy.dominance, evidence.size
    share: Floats = evidence.largest[:, : rule.n].sum(axis=1) / np.where(total > 0, total, 1.0)
    return PrincipleTest(
        principle=Principle.DOMINANCE,
        reason="dominated",
        unsafe=dominated_groups(evidence, policy),
        rule=dominance_rule(policy),
        numbers={"n": rule.n, "k": rule.k, "largest_share": float(share.max())},
        remedy="merge these groups with others, or leave the dominant contributor's group out",
    )


def degrees_of_freedom(freedom: Integers | Floats, policy: Policy, *, stated: bool = False) -> PrincipleTest:
    """Test that every published part has enough degrees of freedom."""
    return PrincipleTest(
        principle=Principle.FREEDOM,
        reason="too_few_degrees_of_freedom",
        unsafe=np.array([not policy.freedom.met(float(each)) for each in freedom], dtype=np.bool_),
        rule=Text(
            "degrees of freedom {freedom}, as stated" if stated else "degrees of freedom {freedom}",
            freedom=policy.freedom,
        ),
        numbers={"limit": policy.freedom.limit, "smallest": float(freedom.min())},
        remedy="use more units or fewer parameters",
    )


def individual(text: str, remedy: str) -> PrincipleVerdict:
    """Return the failing verdict for a value of one unit."""
    return PrincipleVerdict(
        principle=Principle.INDIVIDUAL_VALUE,
        status=Clearance.FAIL,
        reason="individual_value",
        text=text,
        remedy=remedy,
    )


def in_order(code: str) -> list[str | int]:
    """Return a natural sort key: 5-9 before 10-14, and that before 100+."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", code))]


def merging(labels: Sequence[Sequence[str]], n_units: Any, minimum: int) -> str:
    """Return the advice to merge small groups with a neighbour in the last variable.

    Examples
    --------
    >>> merging([("0-18",), ("19-20",), ("21-25",)], [18, 1, 18], 10)
    'merge 19-20 with 21-25'
    >>> merging([("10-14",), ("100+",), ("15-19",)], [4, 18, 18], 10)
    'merge 10-14 with 15-19'
    """
    order = sorted(range(len(labels)), key=lambda place: [in_order(code) for code in labels[place]])
    labels, counts = [labels[place] for place in order], np.asarray(n_units)[order]
    proposed = []
    small = np.flatnonzero((counts < minimum) & (counts > 0)).tolist() if labels[0] else []
    for place in small:
        *above, own = labels[place]
        beside = [
            other
            for other in (place + 1, place - 1)
            if 0 <= other < len(labels) and list(labels[other][:-1]) == above
        ]
        enough = [other for other in beside if counts[other] + counts[place] >= minimum]
        if enough:
            # Prefer the smaller sufficient neighbour, to lose as little detail as possible.
            other = min(enough, key=lambda each: (counts[each], each < place))
            template = "merge {one} with {other} in {group}" if above else "merge {one} with {other}"
            proposed.append(Text(template, one=own, other=labels[other][-1], group=", ".join(above)))
        elif beside:
            proposed.append(Text("merge {one} with both neighbours", one=own))
    return some(proposed, 3) if proposed else "take more units together"


DOMINATED_SQUARES = "dominated_squares"


def largest_share(parts: Floats, who: Integers, *, repeated: bool) -> float:
    """Return the largest share of one unit in a sum of non-negative parts.

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


def square_severity(policy: Policy) -> Clearance:
    """Return the status of a dominated sum of powers."""
    return Clearance.REVIEW if policy.squares is None else Clearance(policy.squares.verdict)


def square_tests(shares: Floats | None, policy: Policy, what: str) -> Iterator[Applied]:
    """Test that no unit dominates a sum of powers; nothing if the policy has no such rule.

    Parameters
    ----------
    shares
        Largest share of one unit in each group; None in evidence of earlier versions.
    policy
        Policy with the limit, and the status if it is exceeded.
    what
        Description of the sum.
    """
    rule = policy.squares
    if rule is None:
        return
    if shares is None:
        yield squares_unknown()
        return
    yield PrincipleTest(
        principle=Principle.DOMINANCE,
        reason=DOMINATED_SQUARES,
        unsafe=np.asarray(shares - rule.k / 100 > LIMIT),
        rule=Text("no unit with more than {k:g} % of {what}", k=rule.k, what=what),
        numbers={"k": rule.k, "largest_share": float(shares.max())},
        remedy="take larger groups, a percentile instead, or the logarithm",
        severity=square_severity(policy),
    )


def squares_unknown() -> PrincipleVerdict:
    """Return the verdict for evidence without shares (an earlier version, or no residuals)."""
    return PrincipleVerdict(
        principle=Principle.DOMINANCE,
        status=Clearance.REVIEW,
        reason="not_testable",
        text=Text("not testable: {text}", text=Text("how much one unit makes up of it is not known")),
        remedy="the checker decides",
    )


def perfect_fit(fit: Floats | None) -> PrincipleTest | PrincipleVerdict:
    """Test that no variable determines the other; require review if the fit is unknown.

    Parameters
    ----------
    fit
        Share of explained squares: the square of a correlation, R², or the square of Cramér's V.
    """
    if fit is None:
        return PrincipleVerdict(
            principle=Principle.INDIVIDUAL_VALUE,
            status=Clearance.REVIEW,
            reason="not_testable",
            text=Text(
                "not testable: {text}", text=Text("how well one variable gives the other is not known")
            ),
            remedy="create it again, or let the checker decide",
        )
    return PrincipleTest(
        principle=Principle.INDIVIDUAL_VALUE,
        reason="perfect_fit",
        unsafe=np.asarray(fit >= 1 - FIT_ROUNDING),
        rule="no variable determines the other for every unit",
        numbers={"largest_fit": float(fit.max())},
        remedy="leave out one of the two variables: it says the same as the other",
    )
