"""Assess, protect, attack, audit, in order: from a table to a release with its evidence."""

from __future__ import annotations

from hitoku.coalitions.contributions import contributions_in
from hitoku.evidence.outcome import Outcome
from hitoku.metrics.comparison import Compared, Comparison
from hitoku.pipeline.compare import compare, recomputable
from hitoku.pipeline.magnitude import MagnitudeOutcome, suppress_magnitude
from hitoku.pipeline.outcome import WritableOutcome
from hitoku.pipeline.protect import STAGES, protect_table
from hitoku.pipeline.whole_way import protect

__all__ = [
    "STAGES",
    "Compared",
    "Comparison",
    "MagnitudeOutcome",
    "Outcome",
    "WritableOutcome",
    "compare",
    "contributions_in",
    "protect",
    "protect_table",
    "recomputable",
    "suppress_magnitude",
]
