"""What a hostile reader can infer from a release."""

from __future__ import annotations

from collections.abc import Mapping

from hitoku.attacks.adjustment import Adjustment, Known, Scenario
from hitoku.attacks.attack import Attack, Inference
from hitoku.attacks.group import Group, Pinned
from hitoku.attacks.insider import Contribution, Insider
from hitoku.attacks.interval import Interval, exposed, null_dimension
from hitoku.attacks.matching import Bayes, Likelihood, Matched, Matching, Support

ATTACKS: Mapping[str, type[Attack]] = {
    "interval": Interval,
    "insider": Insider,
    "group": Group,
    "matching": Matching,
    "adjustment": Adjustment,
}

__all__ = [
    "ATTACKS",
    "Adjustment",
    "Attack",
    "Bayes",
    "Contribution",
    "Group",
    "Inference",
    "Insider",
    "Interval",
    "Known",
    "Likelihood",
    "Matched",
    "Matching",
    "Pinned",
    "Scenario",
    "Support",
    "exposed",
    "null_dimension",
]
