"""Castro (2012): how well attackers undo controlled tabular adjustment; Tables 1 to 9, computed again."""

from __future__ import annotations

from hitoku.experiments.castro_2012.instances import Instance, made_up
from hitoku.experiments.castro_2012.report import report
from hitoku.experiments.castro_2012.run import Outcome, Plan, run

__all__ = ["Instance", "Outcome", "Plan", "made_up", "report", "run"]
