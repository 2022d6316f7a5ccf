"""Undoing controlled tabular adjustment: what an outsider estimates who knows how it was done."""

from __future__ import annotations

from hitoku.attacks.adjustment.adjustment import Adjustment
from hitoku.attacks.adjustment.scenario import SCENARIOS, Known, Scenario
from hitoku.model import Estimates

__all__ = ["SCENARIOS", "Adjustment", "Estimates", "Known", "Scenario"]
