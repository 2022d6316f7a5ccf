"""Assess, protect, attack, audit, in order: from a table to a release with its evidence."""

from __future__ import annotations

from hitoku.evidence.comparison import Compared, Comparison
from hitoku.evidence.outcome import Outcome
from hitoku.insiders.contributions import contributions_in
from hitoku.pipeline.compare import compare, recomputable
from hitoku.pipeline.magnitude import MagnitudeOutcome, suppress_magnitude
from hitoku.pipeline.protect import STAGES, protect

__all__ = [
    "STAGES",
    "Compared",
    "Comparison",
    "MagnitudeOutcome",
    "Outcome",
    "compare",
    "contributions_in",
    "protect",
    "recomputable",
    "suppress_magnitude",
]
