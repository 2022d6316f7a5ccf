"""Castro (2012): how well attackers undo controlled tabular adjustment; Tables 1 to 9, computed again."""

from __future__ import annotations

from hitoku_papers.castro_2012.comparison import comparisons
from hitoku_papers.castro_2012.instances import TableInstance, made_up
from hitoku_papers.castro_2012.report import report
from hitoku_papers.castro_2012.run import ExperimentPlan, ExperimentResult, run

__all__ = ["ExperimentPlan", "ExperimentResult", "TableInstance", "comparisons", "made_up", "report", "run"]
