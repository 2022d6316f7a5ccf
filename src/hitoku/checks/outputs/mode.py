"""Modes: enough units, not nearly all alike, and never one value drawn from several that tie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import dataclasses as validated

from hitoku.checks.evidence import STRICT, Counts, Evidence, GroupEvidence, Texts, slices
from hitoku.checks.outputs.group_statistic import GroupStatistic, publish_groups
from hitoku.checks.outputs.output_type import needed
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Applied, Principle, PrincipleTest
from hitoku.checks.principles import groups as principles
from hitoku.checks.records import COMPLETE, Records
from hitoku.model import LIMIT

# So many modes are listed at most where they tie.
LISTED = 9


@validated.dataclass(frozen=True, eq=False, repr=False, kw_only=True, config=STRICT)
class ModeEvidence(GroupEvidence):
    """The modes of each group.

    Parameters
    ----------
    value
        The modes, as they are published.
    fewest_holders, most_holders
        Of the values that tie, how many units have the rarest and the most frequent.
    n_tied
        How many values tie.
    """

    at_most_units: ClassVar[tuple[str, ...]] = ("fewest_holders", "most_holders")

    value: Texts
    fewest_holders: Counts
    most_holders: Counts
    n_tied: Counts


@dataclass(frozen=True)
class Mode(GroupStatistic[ModeEvidence]):
    """The most frequent value, overall or by group.

    Values that tie are listed together, "3 | 7"; each of them must be that of enough units.

    Parameters
    ----------
    value
        Column of codes or numbers.
    by
        Variables that make the groups.
    weight
        Column with weights.
    missing
        "complete": records with a missing value are left out, and counted. "error", or "code", for the value
        as well.
    """

    kind: ClassVar[str] = "mode"
    evidence: ClassVar[type[Evidence]] = ModeEvidence

    value: str
    by: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = COMPLETE

    @property
    def tells(self) -> frozenset[str]:
        """Nothing that adds up: it is held against modes of other groups only."""
        return frozenset({f"mode of {self.value}"})

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns without which a record is left out; the value has codes, too."""
        return needed((*self.by, self.value), (self.weight,), self.missing)

    def collect(self, records: Records) -> ModeEvidence:
        """Count every value once."""
        groups = records.groups(self.by, self.missing)
        values, weights = records.groups([self.value], self.missing), records.weights(self.weight)
        modes, holders, n_tied = [], [], []
        for own in slices(groups):
            weight = np.bincount(values.codes[own], weights=weights[own], minlength=len(values))
            tied = np.flatnonzero(weight >= weight.max() * (1 - LIMIT))
            who = [len(np.unique(records.unit[own][values.codes[own] == place])) for place in tied]
            rest = [f"and {len(tied) - LISTED} more"] if len(tied) > LISTED else []
            modes.append(" | ".join([*(values.labels[place][0] for place in tied[:LISTED]), *rest]))
            holders.append([min(who), max(who)])
            n_tied.append(len(tied))
        return ModeEvidence.of(
            records,
            groups,
            value=modes,
            fewest_holders=[low for low, _ in holders],
            most_holders=[high for _, high in holders],
            n_tied=n_tied,
        )

    def tests(self, evidence: ModeEvidence, policy: Policy) -> Iterator[Applied]:
        """Apply the principles."""
        yield principles.units(evidence, policy)
        yield PrincipleTest(
            principle=Principle.INDIVIDUAL_VALUE,
            reason="mode_of_few",
            unsafe=evidence.fewest_holders < policy.units.minimum,
            rule=f"each mode the value of at least {policy.units.minimum} units",
            numbers={
                "minimum": policy.units.minimum,
                "smallest": int(evidence.fewest_holders.min()),
                "most_tied": int(evidence.n_tied.max()),
            },
            remedy="group the values, so that a mode is that of many",
        )
        most, n_units = evidence.most_holders, evidence.n_units
        yield PrincipleTest(
            principle=Principle.GROUP,
            reason="nearly_all_equal",
            unsafe=most - policy.mode.share * n_units > LIMIT * n_units,
            rule=f"the mode that of at most {policy.mode.share:.0%} of the units",
            numbers={"share": policy.mode.share},
            remedy="take larger groups, or group the values differently",
        )

    def publish(self, evidence: ModeEvidence) -> dict[str, list[Any]]:
        """Return what leaves."""
        return publish_groups(evidence, evidence.value, f"mode_{self.value}")

    def contradictions(self, evidence: ModeEvidence) -> Iterator[str]:
        """Name what cannot be true together in the evidence."""
        yield from super().contradictions(evidence)
        fewest, most, n_tied = evidence.fewest_holders, evidence.most_holders, evidence.n_tied
        if np.any(fewest > most) or np.any(fewest < 1) or np.any(n_tied < 1):
            yield "modes that nobody has, or fewest above most"
        if np.any((n_tied == 1) & (fewest != most)):
            yield "one mode, and two numbers of units that have it"
        listed = np.array([value.count(" | ") + 1 for value in evidence.value])
        if np.any(listed < np.minimum(n_tied, LISTED)):
            yield "fewer modes listed than tie"
        if self.weight is None and np.array_equal(evidence.n_units, evidence.n_records):
            if np.any(fewest != most):
                yield "modes that tie have unequal numbers of units"
            if np.any(n_tied * most > evidence.n_units):
                yield "modes of more units than the group has"
