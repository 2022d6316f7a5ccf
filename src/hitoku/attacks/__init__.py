"""What a hostile reader can infer from a release."""

from __future__ import annotations

from typing import Any

from hitoku.attacks.exposure import exposed, null_dimension
from hitoku.attacks.group import Group, Pinned
from hitoku.attacks.insider import Contribution, Insider
from hitoku.attacks.interval import Interval

ATTACKS: dict[str, type[Any]] = {"interval": Interval, "insider": Insider, "group": Group}

__all__ = ["ATTACKS", "Contribution", "Group", "Insider", "Interval", "Pinned", "exposed", "null_dimension"]
