"""Modes: enough units, not nearly all alike, and never one value drawn from several that tie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence import groups as grouped
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import groups as principles
from hitoku.checks.principles.verdict import Principle, Verdict
from hitoku.checks.records import Records
from hitoku.model.arrays import Mask
from hitoku.model.tolerance import LIMIT

# So many modes are listed at most where they tie.
LISTED = 9


@dataclass(frozen=True)
class Mode:
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
        "error", or "code", for the value as well.
    """

    kind: ClassVar[str] = "mode"

    value: str
    by: tuple[str, ...] = ()
    weight: str | None = None
    missing: str = "error"

    def collect(self, records: Records) -> Evidence:
        """Count every value once."""
        groups = records.groups(self.by, self.missing)
        values, weights = records.groups([self.value], self.missing), records.weights(self.weight)
        modes, holders, n_tied = [], [], []
        for own in grouped.slices(groups):
            weight = np.bincount(values.codes[own], weights=weights[own], minlength=len(values))
            tied = np.flatnonzero(weight >= weight.max() * (1 - LIMIT))
            who = [len(np.unique(records.unit[own][values.codes[own] == place])) for place in tied]
            rest = [f"and {len(tied) - LISTED} more"] if len(tied) > LISTED else []
            modes.append(" | ".join([*(values.labels[place][0] for place in tied[:LISTED]), *rest]))
            holders.append([min(who), max(who)])
            n_tied.append(len(tied))
        return {
            **grouped.group_evidence(records, groups),
            "value": modes,
            "fewest_holders": [low for low, _ in holders],
            "most_holders": [high for _, high in holders],
            "n_tied": n_tied,
        }

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold the groups that do not meet a rule."""
        few, alike = _few_holders(evidence, policy), _alike(evidence, policy)
        return grouped.with_withheld(evidence, principles.few_units(evidence, policy), few, alike)

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        withheld, labels = principles.withheld_of(evidence), evidence["labels"].__getitem__
        return (
            principles.units(evidence, policy),
            principles.judged(
                Principle.INDIVIDUAL_VALUE,
                "mode_of_few",
                _few_holders(evidence, policy),
                withheld,
                labels,
                f"each mode the value of at least {policy.units.minimum} units",
                {
                    "minimum": policy.units.minimum,
                    "smallest": int(np.min(evidence["fewest_holders"])),
                    "most_tied": int(np.max(evidence["n_tied"])),
                },
                "group the values, so that a mode is that of many",
            ),
            principles.judged(
                Principle.GROUP,
                "nearly_all_equal",
                _alike(evidence, policy),
                withheld,
                labels,
                f"the mode that of at most {policy.mode.share:.0%} of the units",
                {"share": policy.mode.share},
                "take larger groups, or group the values differently",
            ),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return grouped.published_groups(evidence, f"mode_{self.value}")


def _few_holders(evidence: Mapping[str, Any], policy: Policy) -> Mask:
    return np.asarray(evidence["fewest_holders"]) < policy.units.minimum


def _alike(evidence: Mapping[str, Any], policy: Policy) -> Mask:
    most, n_units = np.asarray(evidence["most_holders"]), np.asarray(evidence["n_units"])
    return most - policy.mode.share * n_units > LIMIT * n_units
