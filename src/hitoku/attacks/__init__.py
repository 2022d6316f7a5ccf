"""What a hostile reader can infer from a release."""

from __future__ import annotations

from collections.abc import Mapping

from hitoku.attacks.adjustment import Adjustment
from hitoku.attacks.attack import Attack
from hitoku.attacks.group import Group
from hitoku.attacks.insider import Insider
from hitoku.attacks.interval import Interval
from hitoku.attacks.matching import Matching
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

ATTACKS: Mapping[str, type[Attack]] = {
    "interval": Interval,
    "insider": Insider,
    "group": Group,
    "matching": Matching,
    "adjustment": Adjustment,
}
