"""Secondary suppression at the least cost, proven: a branch and cut over attackers' problems."""

from __future__ import annotations

from hitoku.methods.optimal.optimal import Optimal

__all__ = ["Optimal"]
