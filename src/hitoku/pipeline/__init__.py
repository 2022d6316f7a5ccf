"""Assess, protect, attack, audit, in order: from a table to a release with its evidence."""

from __future__ import annotations

from hitoku.pipeline.compare import Compared, compare, recomputable
from hitoku.pipeline.insiders import contributions_in
from hitoku.pipeline.magnitude import MagnitudeOutcome, suppress_magnitude
from hitoku.pipeline.protect import STAGES, Outcome, protect

__all__ = [
    "STAGES",
    "Compared",
    "MagnitudeOutcome",
    "Outcome",
    "compare",
    "contributions_in",
    "protect",
    "recomputable",
    "suppress_magnitude",
]
