"""A method that draws lots, so that knowing it helps an attacker little."""

from __future__ import annotations

from hitoku.methods.randomised.randomised import Randomised

__all__ = ["Randomised"]
